"""Whether what mps showed is what the CPU showed. What may differ stands in `EXPLAINED`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import torch

from .observe import Outcome, Seen
from .program import Program, Step

_INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


@dataclass(frozen=True)
class Difference:
    """step: the number of the step that shows it; -1: only the end of the program did."""

    step: int
    what: str  # in a word: "bits", "stride", "error", ...
    text: str


# A Mac refuses where the CPU computes; what it says then. Everything else is a difference.
REFUSALS = re.compile(
    r"\bMPS\b|_mps\b|MPSGraph|Metal|"
    r"not implemented for|not supported|unsupported|"
    r"(does not|doesn't|[oO]nly) (support|float)|supported only|only supported|"
    r"Failed to create function state object|currently requires contiguous|"
    r"cannot be converted to type double|"
    r"Expected all tensors to be on the same device"
)


def compare(
    program: Program, on_cpu: Outcome, on_mps: Outcome, *, strict: bool
) -> Difference | None:
    """strict: whether refusals of a Mac's hold."""
    for number in range(len(program.steps)):
        failed = [f for f in (on_cpu.failure, on_mps.failure) if f and f.step == number]
        if failed:
            return _compare_failures(number, on_cpu, on_mps, strict=strict)
        wanted, got = on_cpu.after[number], on_mps.after[number]
        if len(wanted[0]) != len(got[0]):
            return Difference(
                number, "results", f"{len(got[0])} tensors, the CPU gives {len(wanted[0])}"
            )
        for a, b in zip(wanted[0], got[0], strict=True):
            found = difference(a, b, close=_tolerance(program, number, on_cpu))
            if found:
                return Difference(number, *found)
        if repr(wanted[1]) != repr(got[1]):
            plain = (repr(got[1]).replace("mps:0", "cpu"), repr(wanted[1]))
            if plain[0] != plain[1]:
                return Difference(number, "value", f"{got[1]}, the CPU gives {wanted[1]}")
    for var, seen in on_cpu.end.items():
        found = difference(
            seen, on_mps.end[var], close=_tolerance(program, len(program.steps), on_cpu)
        )
        if found:
            return Difference(-1, found[0], f"{var} in the end: {found[1]}")
    return None


def _compare_failures(
    number: int, on_cpu: Outcome, on_mps: Outcome, *, strict: bool
) -> Difference | None:
    cpu, mps = on_cpu.failure, on_mps.failure
    if mps is None or (cpu is not None and cpu.step < mps.step):
        assert cpu is not None
        return Difference(number, "accepted", f"the CPU raises {cpu.kind}: {_line(cpu.text)}")
    if cpu is None or mps.step < cpu.step:
        if strict and REFUSALS.search(mps.text):
            return None
        return Difference(number, "raises", f"{mps.kind}: {_line(mps.text)}")
    if cpu.kind != mps.kind and not (strict and REFUSALS.search(mps.text)):
        return Difference(
            number,
            "error",
            f"{mps.kind}: {_line(mps.text)}; the CPU raises {cpu.kind}: {_line(cpu.text)}",
        )
    return None


def difference(
    cpu: Seen, mps: Seen, close: tuple[float, float] | None = None
) -> tuple[str, str] | None:
    """close: rtol and atol, where the bits may differ."""
    for what in ("dtype", "size", "stride", "offset", "flags", "version", "alias"):
        wanted, got = getattr(cpu, what), getattr(mps, what)
        if wanted != got:
            return what, f"{what} {got}, the CPU gives {wanted}"
    if cpu.bits is None or mps.bits is None or same_bits(cpu.bits, mps.bits):
        return None
    if close is not None and near(cpu.bits, mps.bits, *close):
        return None
    return "bits", _first_difference(cpu.bits, mps.bits, close or (0.0, 0.0))


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Not-a-numbers are one: which one comes out is nobody's promise."""
    if a.is_complex():
        a, b = torch.view_as_real(a), torch.view_as_real(b)
    if a.is_quantized or a.element_size() not in _INTEGERS or a.dtype == torch.bool:
        return torch.equal(a, b)
    as_integers = _INTEGERS[a.element_size()]
    same = a.view(as_integers) == b.view(as_integers)
    if a.is_floating_point():
        same |= a.isnan() & b.isnan()
    return bool(same.all())


def near(a: torch.Tensor, b: torch.Tensor, rtol: float, atol: float) -> bool:
    if not (a.is_floating_point() or a.is_complex()):
        return False
    wide = torch.complex128 if a.is_complex() else torch.float64
    return torch.allclose(a.to(wide), b.to(wide), rtol=rtol, atol=atol, equal_nan=True)


def _first_difference(cpu: torch.Tensor, mps: torch.Tensor, close: tuple[float, float]) -> str:
    """Of those that are not close, if there is one: the others are explained."""
    if cpu.is_quantized:
        return "other elements"
    wrong = (cpu != mps) & ~((cpu != cpu) & (mps != mps))
    far = wrong
    if cpu.is_floating_point() or cpu.is_complex():
        far = wrong & ~torch.isclose(mps, cpu, rtol=close[0], atol=close[1], equal_nan=True)
    at = (far if far.any() else wrong).nonzero()[:1].tolist()
    if not at:
        kind = "complex" if cpu.is_complex() else "real"
        return f"a zero of another sign, of {kind} numbers"
    place = tuple(at[0])
    return f"at {list(place)}: {mps[place].item()}, the CPU gives {cpu[place].item()}"


def _line(text: str) -> str:
    return text.strip().partition("\n")[0][:300]


# ---- what may differ, and why (docs/fidelity.md tells it to users)


@dataclass(frozen=True)
class Explanation:
    """functions: a pattern for the steps where it begins, or for the names of their keywords. what:
    which difference it explains; "close": other numbers, within the tolerances; "close in half":
    the same, in programs with float16 or bfloat16. text: a pattern for how it shows."""

    functions: str
    what: str
    why: str
    rtol: float = 0.0
    atol: float = 0.0
    text: str = ""


def _names(*names: str) -> str:
    return rf"(^|[.\['\"])({'|'.join(map(re.escape, names))})_?($|['\"\]()])"


EXPLAINED = [
    Explanation(
        _names("lu", "lu_factor", "lu_factor_ex", "solve", "solve_ex", "linalg.lu_factor"),
        "stride",
        "a Mac gives these matrices by rows, the CPU by columns",
    ),
    Explanation(
        _names(
            "logdet",
            "slogdet",
            "linalg.slogdet",
            "linalg.det",
            "linalg.eig",
            "linalg.eigvals",
            "tensordot",
            "inner",
        ),
        "stride",
        "gradients through a matrix that lies by rows, or through another product",
    ),
    Explanation(
        _names("any", "all"),
        "accepted",
        "several dimensions with out= are no kernel on a Mac: a result is copied there",
        text="only supports bool tensor for result",
    ),
    Explanation(
        _names("max_pool1d"),
        "stride",
        "on a Mac it pools planes, and keeps channels last",
    ),
    Explanation(
        _names("scaled_dot_product_attention"),
        "stride",
        "with gradients a Mac computes the plain formula",
    ),
    Explanation(
        _names("convolution", *(f"conv{kind}{n}d" for kind in ("", "_transpose") for n in "123")),
        "stride",
        "to a Mac channels last is what lies so to the stride, to the CPU what is ordered so",
    ),
    Explanation(
        _names("convolution", *(f"conv{kind}{n}d" for kind in ("", "_transpose") for n in "123")),
        "close",
        "what is ordered as channels last and does not lie so is copied first: another kernel",
        1e-4,
        1e-4,
    ),
    Explanation(_names("bincount"), "dtype", "a Mac counts in int32, weighted or not"),
    Explanation(
        _names("inner", "tensordot"),
        "close",
        "one product here, another one on the CPU",
        5e-3,
        5e-3,
    ),
    Explanation(_names("scaled_dot_product_attention"), "close", "another formula", 2e-2, 2e-2),
    Explanation(
        r"mat_?mul|(^|[._\['\"])(b?mm|mv|v?dot|(b?add)?b?mm|addmv)_?($|['\"\]()])|linear|einsum|"
        r"conv|multi_dot|matrix_power|norm|fold|col2im|pow|cdist|cosine|corrcoef|cov|pairwise",
        "close in half",
        "sums of products, norms and powers are float32 here until they are rounded",
        2e-2,
        2e-2,
    ),
    Explanation(
        _names("group_norm", "native_group_norm", "native_group_norm_backward"),
        "bits",
        "the CPU's kernel reads weights that lie apart as if they lay side by side",
    ),
    Explanation(
        _names("linalg.lstsq", "linalg.lstsq.grad_oriented", "lstsq"),
        "close",
        "the CPU's driver is chosen by name, a Mac has one",
        1e-3,
        1e-3,
    ),
    Explanation(
        _names("grid_sample", "grid_sampler_2d", "grid_sampler_3d"),
        "bits",
        "half precision is computed in float32, coordinates too: a neighbour may be chosen",
    ),
    Explanation(
        _names("sort", "argsort", "msort", "topk", "mode"),
        "bits",
        "equal elements have no order, unless a stable one is asked for",
    ),
    Explanation(
        r"softm|cross_entropy|attention|gumbel",
        "close",
        "in half precision a Mac rounds each step of a softmax, and of its gradient",
        2e-2,
        2e-2,
    ),
    Explanation(
        _names("pow", "__pow__", "__rpow__", "float_power", "ldexp"),
        "close",
        "complex powers in polar form",
        1e-4,
        1e-5,
    ),
    Explanation(
        _names(
            "rsqrt",
            "rms_norm",
            *(f"{arc}{f}" for arc in ("a", "arc") for f in ("sin", "cos", "sinh", "cosh")),
        ),
        "close",
        "gradients through a complex power",
        1e-4,
        1e-5,
    ),
    Explanation(
        _names("pow", "__pow__", "__rpow__", "float_power"),
        "bits",
        "powers of a complex zero",
        text="nan|inf",
    ),
    Explanation(
        _names("exp", "expm1"),
        "bits",
        "infinities on the real axis, whose exponential is real on a Mac",
        text="nan",
    ),
    Explanation(
        _names("logcumsumexp"),
        "bits",
        "the angle of complex sums is not rounded to (-pi, pi] on a Mac",
    ),
    Explanation(
        _names("nanmedian", "masked.median"), "bits", "a Mac's median of nothing but nans is 0"
    ),
    Explanation(
        _names("linalg.householder_product", "orgqr", "householder_product"),
        "bits",
        "in half precision a Mac rounds after each reflection",
    ),
    Explanation(_names("cdist"), "bits", "in half precision a Mac looks for the maximum unrounded"),
    Explanation(
        _names("arange", "range"),
        "raises",
        "a Mac wants a start that the dtype has",
        text="without overflow",
    ),
    Explanation(
        r"softmax_backward_data", "bits", "the same, of numbers that no softmax gives: sums cancel"
    ),
    Explanation(
        _names("addbmm"), "bits", "in half precision the CPU rounds after each matrix, a Mac once"
    ),
    Explanation(_names("histc"), "bits", "in half precision the CPU cannot count far"),
    Explanation(
        r".",
        "bits",
        "the CPU multiplies the second of two complex summands by one, a Mac does not",
        text=r"zero of another sign, of complex|\(nan[-+]|nanj\)",
    ),
    Explanation(_names("inner"), "flags", "of conjugates: the product is not conjugated lazily"),
    Explanation(
        r"(^|[.\['\"])(constant_pad_nd|pad)($|['\"\]])|nn\.functional\.padconstant|[.']fft\.",
        "stride",
        "a constant padding lies in rows on a Mac; so does the gradient of what pads",
    ),
    Explanation(
        r"(^|[.\['\"])(constant_pad_nd|pad)($|['\"\]])|nn\.functional\.padconstant|[.']fft\.",
        "fake",
        "PyTorch predicts the CPU's layout of a constant padding, also for a Mac",
        text="stride",
    ),
    Explanation(_names("ldl_solve"), "bits", "of pivots that no factorisation gives"),
    *(
        Explanation(
            _names("svd"), way, "on a Mac it is one operator of the CPU, whose gradient is another"
        )
        for way in ("fake", "symbolic", "export")
    ),
    Explanation(_names("renorm"), "bits", "another formula for its gradient"),
    *(
        Explanation(
            _names("linear_cross_entropy"),
            what,
            "written in Python, with another precision and other steps for every kind of device",
        )
        for what in ("bits", "version")
    ),
    Explanation(
        "^out=", "version", "PyTorch resizes `out` through an operator, everywhere but on the CPU"
    ),
    Explanation(
        _names("median", "nanmedian"), "bits", "the CPU's median of no integers is undefined"
    ),
    Explanation(
        _names("embedding", "embedding_bag"),
        "raises",
        "a Mac's fallback writes its results back, and cannot where they overlap",
    ),
    Explanation(
        _names("lu_solve"), "close", "such solves round as their memory is aligned", 1e-5, 1e-5
    ),
    Explanation(_names("lu_solve"), "size", "for Macs torch registers it in Python"),
    Explanation(
        _names("max_pool1d"), "bits", "the CPU's ignores that its input is a negative view"
    ),
    Explanation(
        r".",
        "accepted",
        "a Mac has kernels for dtypes that the CPU has none for",
        text="not implemented for|not supported",
    ),
    Explanation(_names("conj_physical"), "raises", "a Mac has no kernel, either"),
    Explanation(
        _names(
            "lu",
            "lu_factor",
            "linalg.lu_factor",
            "lu_factor_ex",
            "linalg.lu_factor_ex",
            "linalg.solve_ex",
            "solve_ex",
            "linalg.solve",
            "slogdet",
            "linalg.slogdet",
            "logdet",
            "linalg.det",
        ),
        "fake",
        "by rows on a Mac, by columns in what PyTorch predicts",
    ),
    Explanation(
        _names("scaled_dot_product_attention"),
        "fake",
        "for Macs PyTorch predicts the query's dimensions, also where the key has more",
        text="^size",
    ),
    Explanation(
        _names(
            "native_layer_norm",
            "native_batch_norm",
            "_native_batch_norm_legit",
            "_batch_norm_with_update",
        ),
        "fake",
        "in half precision PyTorch predicts statistics in float32, also for a Mac",
    ),
]


def _tolerance(program: Program, number: int, on_cpu: Outcome) -> tuple[float, float] | None:
    """From the steps that led there, the last included."""
    kinds = {"close"} | ({"close in half"} if _uses_half(program, number, on_cpu) else set())
    found = [
        (e.rtol, e.atol)
        for step in program.steps[: number + 1]
        for e in explanations(step)
        if e.what in kinds
    ]
    return max(found) if found else None


def _uses_half(program: Program, number: int, on_cpu: Outcome) -> bool:
    dtypes = {given.value.dtype for given in program.inputs}
    dtypes |= {
        seen.bits.dtype
        for made, _ in on_cpu.after[: number + 1]
        for seen in made
        if seen.bits is not None
    }
    return bool(dtypes & {torch.float16, torch.bfloat16})


def explanations(step: Step) -> Iterable[Explanation]:
    for each in EXPLAINED:
        words = (step.function, *(f"{key}=" for key in step.kwargs))
        if any(re.search(each.functions, word) for word in words):
            yield each


def is_explained(program: Program, found: Difference) -> bool:
    steps = program.steps if found.step < 0 else program.steps[: found.step + 1]
    return any(
        e.what == found.what and re.search(e.text, found.text)
        for step in steps
        for e in explanations(step)
    )
