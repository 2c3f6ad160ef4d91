"""The life of a built file: look, lock, look again, compile, publish."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from openmps.build.compiler import Compiler, Job, build_library, find_compiler
from openmps.build.elapsing import elapsing
from openmps.build.store import Store

# What a wheel for this platform brings: a store, laid out as the cache is. Not in a checkout.
_PREBUILT = Path(__file__).parents[1] / "prebuilt"


def say(text: str) -> None:
    print(f"openmps: {text}", file=sys.stderr, flush=True)


def find_or_build(
    store: Store,
    key: str,
    name: str,
    what: str,
    job: Callable[[], Job],
    *,
    prebuilt: bool = True,
) -> Path:
    """The library `name` under `key`; `what` names it in the one line that says it is being built.

    `job` is called only if there is something to build: a warm cache needs no compiler, nor does
    what came with openmps, which `prebuilt` allows.
    """
    found = store.find(key, name)
    if found is None and prebuilt:
        found = Store(_PREBUILT, store.kind).find(key, name)
    if found:
        return found
    with store.lock(key, lambda: say(f"waiting: another process is building {what}")):
        found = store.find(key, name)
        if found:
            return found
        compiler: Compiler = find_compiler()
        plan = job()
        begin = time.monotonic()
        with elapsing(f"openmps: building {what} (once) ... "), store.workspace(key) as workspace:
            built = build_library(compiler, plan, workspace, name)
            seconds = round(time.monotonic() - begin, 1)
            facts = {"what": what, "compiler": compiler.version(), "seconds": seconds}
            return store.publish(key, name, built, facts)


def is_prebuilt(library: Path) -> bool:
    return library.is_relative_to(_PREBUILT)
