"""Every tests/kernels/<area>/<name>.metal with its <name>.toml, on every path.

threads = [64]                    the grid; group defaults to min(threads, 1024) in x
group = [32]
kernel = "name"                   if the file has several
dynamic = {0 = 128}               bytes of [[threadgroup(n)]] memory
tolerance = 1e-6                  relative and absolute; 0 (exact) if absent
includes = true                   the source may include torch's headers
max_threads = 64                  what max_total_threads_per_threadgroup must come out as
inlined = true                    one of its functions coordinates, from several places
fused_tolerance = 1e-3            the tolerance where products are fused with sums

[[buffer]]                        one per index, in order
dtype = "float32"
value = [1, 2]                    a list, or "= expression"
expect = "= np.cumsum(b0)"        what is there afterwards. Absent: it must not change
pointers = [1, 2]                 before the values, the addresses of these buffers (dtype uint64)

[[run]]                           the same file several times: each may replace any key above

[error]                           instead of buffers: the source must be refused
at = "3:9"
message = "undeclared identifier"
when = "kernel"                   if it is found only when the kernel is asked for
[error.gcc]                       where g++ puts it elsewhere, or says something else

Expressions see np (numpy), rng (seeded), threads and group, n (threads in all), bf16 (the bits of
floats as bfloats) and, in `expect`, the buffers before the run as b0, b1, ...
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomllib

from openmps.build.shader_compiler import find_shader_compiler
from openmps.device.core import find_torch
from openmps.errors import ShaderSyntaxError
from openmps.msl.library import LanguageOptions, Library, parse_library
from openmps.msl.source import SourceFile

from .conftest import PATHS, Launcher, target_of

FOLDER = Path(__file__).parent
CASES = sorted(FOLDER.glob("*/*.metal"))
REFUSED = [case for case in CASES if case.parent.name == "errors"]
ACCEPTED = [case for case in CASES if case.parent.name != "errors"]


def bf16(values: Any) -> np.ndarray:
    """Rounds to nearest, ties to even."""
    bits = np.asarray(values, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


@functools.cache
def torch_headers() -> LanguageOptions:
    root = find_torch().folder / "include"

    def find(name: str, _asking: SourceFile) -> SourceFile | None:
        path = root / name
        return SourceFile(name, path.read_text()) if path.is_file() else None

    return LanguageOptions(find_header=find)


def evaluated(value: Any, dtype: str, names: dict[str, Any]) -> np.ndarray:
    if isinstance(value, str):
        assert value.startswith("="), "an expression starts with ="
        with np.errstate(all="ignore"):
            value = eval(value[1:].strip(), {"np": np, "bf16": bf16, **names})
    with np.errstate(all="ignore"):
        return np.ascontiguousarray(np.asarray(value).astype(dtype).reshape(-1))


def build_ahead(case: Path, launcher: str) -> None:
    """conftest.py calls this in threads."""
    wanted = tomllib.loads(case.with_suffix(".toml").read_text())
    target = target_of(launcher)
    options = torch_headers() if wanted.get("includes") else None
    library = parse_library(case.read_text(), options=options)
    target.open(library)
    for run in wanted.get("run", [{}]):
        target.kernel(library, kernel_name({**wanted, **run}, library))


def kernel_name(wanted: dict[str, Any], library: Library) -> str:
    return wanted.get("kernel") or next(iter(library.kernels))


def group_of(wanted: dict[str, Any]) -> list[int]:
    threads = wanted["threads"]
    return wanted.get("group") or [min(threads[0], 1024), 1, 1][: len(threads)]


def label(case: Path) -> str:
    return f"{case.parent.name}/{case.stem}"


@pytest.mark.parametrize("case", ACCEPTED, ids=label)
def test_kernel(case: Path, launcher: Launcher) -> None:
    wanted = tomllib.loads(case.with_suffix(".toml").read_text())
    kind = find_shader_compiler().kind
    if kind == "gcc" and launcher.path.endswith("-O0") and wanted.get("inlined"):
        pytest.skip("without optimisation, g++ does not inline functions that are not told to be")
    options = torch_headers() if wanted.get("includes") else None
    library = launcher.compile(case.read_text(), options)
    for number, run in enumerate(wanted.get("run", [{}])):
        check_run(launcher, library, {**wanted, **run}, f"run {number}, ")


def check_run(launcher: Launcher, library: Library, wanted: dict[str, Any], which: str) -> None:
    name = kernel_name(wanted, library)
    threads, group = wanted["threads"], group_of(wanted)
    names: dict[str, Any] = {"threads": threads, "group": group, "n": math.prod(threads)}
    names["rng"] = np.random.default_rng(0)
    after: list[np.ndarray] = []
    for buffer in wanted["buffer"]:
        array = evaluated(buffer.get("value", []), buffer["dtype"], names)
        places = len(buffer.get("pointers", ()))
        after.append(np.append(np.zeros(places, array.dtype), array))
    memory = launcher.memory(after)
    for array, buffer in zip(after, wanted["buffer"], strict=True):
        for place, index in enumerate(buffer.get("pointers", ())):
            array[place] = memory.addresses[index]
    before = [array.copy() for array in after]
    dynamic = {int(index): size for index, size in wanted.get("dynamic", {}).items()}
    launcher.run(library, name, memory, threads, group, dynamic)
    if "max_threads" in wanted:
        assert launcher.target.kernel(library, name).max_threads == wanted["max_threads"]
    names |= {f"b{index}": array for index, array in enumerate(before)}
    tolerance = wanted.get("tolerance", 0)
    if launcher.path == "cuda":
        tolerance = wanted.get("fused_tolerance", tolerance)
    compared = 0
    for index, (buffer, array) in enumerate(zip(wanted["buffer"], after, strict=True)):
        expected = before[index]
        if "expect" in buffer:
            expected = evaluated(buffer["expect"], buffer["dtype"], names)
            compared += 1
        where = f"{which}buffer {index}"
        if tolerance and array.dtype.kind == "f":
            np.testing.assert_allclose(
                array.astype(np.float64), expected.astype(np.float64),
                rtol=tolerance, atol=tolerance, err_msg=where,
            )  # fmt: skip
        else:
            np.testing.assert_array_equal(array, expected, err_msg=where)
    assert compared, "the case expects nothing"


@pytest.mark.parametrize("case", REFUSED, ids=label)
def test_refused(case: Path) -> None:
    error = tomllib.loads(case.with_suffix(".toml").read_text())["error"]
    error |= error.get(find_shader_compiler().kind, {})
    target, source = target_of(PATHS[0]), case.read_text()
    compile_wrong: Callable[[], Any] = lambda: target.open(parse_library(source))  # noqa: E731
    if error.get("when") == "kernel":
        library = parse_library(source)
        target.open(library)
        compile_wrong = functools.partial(target.kernel, library, next(iter(library.kernels)))
    with pytest.raises(ShaderSyntaxError) as caught:
        compile_wrong()
    text = str(caught.value)
    first = text.splitlines()[0]
    assert first.startswith(f"program_source:{error['at']}: error: "), text
    assert error["message"] in first, text
    assert "  next: " in text
    assert "msl::" not in text
    assert "openmps_" not in text


def test_every_case_is_complete() -> None:
    assert CASES
    assert {c.stem for c in CASES} >= {t.stem for t in FOLDER.glob("*/*.toml")}
