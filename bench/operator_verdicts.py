"""Which operators are too slow, and the lines that say so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from operator_cases import VARIANTS

MOST_RATIO = 1.1  # on large arguments
NOISE = 0.03  # of a call on small ones that takes long by itself


@dataclass(frozen=True)
class Limits:
    """Microseconds over the device beneath, for each operator that a call is made of."""

    typed_us: float
    boxed_us: float


LIMITS = {"cpu": Limits(0.6, 1.0), "cuda": Limits(1.0, 1.0)}

_ROWS = "a Mac's result lies by rows; LAPACK's, by columns, is copied"
_NORM = "torch.norm takes a longer way in Python for mps, on a Mac too"
_STABLE = "a Mac's sort keeps equal elements in order; the CPU's, if that is faster, does not"
_LOGIT = "a Mac's formula, which differs at the ends of the interval, in seven steps"
_COUNTS = "made of four operators: a Mac's counts have the dtype of the weights"
_PLACES = "where tensors lie: the same bytes, seen as CPU tensors, take as long"
_VIEWS = "of an empty matrix: two of the three results are views, whose headers are made anew"
_FORMULA = "with gradients a Mac's attention is the plain formula; the CPU's kernel is fused"

# What is slower for a reason, by engine; not counted.
EXCEPTIONS: Mapping[str, Mapping[str, str]] = {
    "cpu": {
        "argsort": _STABLE,
        "bincount": _COUNTS,
        "dot large": _PLACES,
        "linalg.lu_factor_ex": _ROWS,
        "linalg.solve_ex small": _ROWS,
        "linalg.svd": _VIEWS,
        "logit large+grad": _LOGIT,
        "logit small+grad": _LOGIT,
        "lu small": _ROWS,
        "masked.median small": "a Mac's median of nothing is 0: such rows are looked for",
        "msort": _STABLE,
        "multinomial small": "the random numbers are a Mac's, drawn by its algorithm",
        "narrow_copy": "no operator of its own on a Mac: a view and a copy",
        "nn.functional.scaled_dot_product_attention large+grad": _FORMULA,
        "nn.functional.scaled_dot_product_attention small+grad": _FORMULA,
        "norm": _NORM,
        "norm.fro": _NORM,
        "norm.inf": _NORM,
        "sort": _STABLE,
        "svd": _VIEWS,
        "vdot large": _PLACES,
    },
    "cuda": dict.fromkeys(
        ("cauchy_", "exponential_", "geometric_", "log_normal_", "multinomial", "uniform_"),
        "the random numbers are a Mac's, with the same bits: drawn by a Metal kernel of ours",
    ),
}


@dataclass(frozen=True)
class Figure:
    """Of one operator in one variant: microseconds per call."""

    operator: str
    variant: str
    base_us: float
    mps_us: float
    over_us: float  # the least that the rounds and their fastest ones say
    calls: int  # kernels of mps in one call, or operators beneath where those are fewer
    boxed: tuple[str, ...]  # those kernels that take their arguments on a stack

    @property
    def is_large(self) -> bool:
        return self.variant.startswith("large")

    @property
    def ratio(self) -> float:
        return 1 + self.over_us / self.base_us

    def allowed_us(self, limits: Limits) -> float:
        """A call may be made of many; each may cost its share."""
        calls = max(1, self.calls)
        boxed = min(len(self.boxed), calls)
        least = boxed * limits.boxed_us + (calls - boxed) * limits.typed_us
        return max(least, (MOST_RATIO - 1 if self.is_large else NOISE) * self.base_us)

    def severity(self, limits: Limits) -> float:
        """Above 1: too slow."""
        return self.over_us / self.allowed_us(limits)

    def line(self, limits: Limits) -> str:
        kind = ", ".join(sorted(set(self.boxed)))
        return (
            f"{self.operator:44} {self.variant:10} {self.base_us:10.2f} {self.mps_us:10.2f} "
            f"{self.over_us:9.2f} {self.ratio:7.2f} {self.calls:5} {self.severity(limits):8.1f}  "
            f"{'boxed: ' + kind if kind else ''}"
        ).rstrip()


HEADER = (
    f"{'operator':44} {'variant':10} {'base us':>10} {'mps us':>10} {'over us':>9} {'ratio':>7} "
    f"{'calls':>5} {'severity':>8}"
)


def reason_for(figure: Figure, exceptions: Mapping[str, str]) -> str | None:
    """Of `operator variant`, or of the operator in every variant."""
    return exceptions.get(f"{figure.operator} {figure.variant}") or exceptions.get(figure.operator)


@dataclass
class Report:
    figures: list[Figure]
    limits: Limits
    exceptions: Mapping[str, str]

    def too_slow(self) -> list[Figure]:
        slow = [figure for figure in self.figures if figure.severity(self.limits) > 1]
        return sorted(slow, key=lambda figure: -figure.severity(self.limits))

    def outliers(self) -> list[Figure]:
        return [f for f in self.too_slow() if reason_for(f, self.exceptions) is None]

    def excepted(self) -> list[Figure]:
        return [f for f in self.too_slow() if reason_for(f, self.exceptions) is not None]

    def by_variant(self) -> list[tuple[str, int, int, int]]:
        """Variant, how many, within, excepted."""
        outliers = Counter(figure.variant for figure in self.outliers())
        excepted = Counter(figure.variant for figure in self.excepted())
        rows = []
        for variant in VARIANTS:
            count = sum(figure.variant == variant for figure in self.figures)
            within = count - outliers[variant] - excepted[variant]
            rows.append((variant, count, within, excepted[variant]))
        return rows

    def lines(self) -> Iterable[str]:
        for variant, count, within, excepted in self.by_variant():
            more = f", {excepted} excepted" if excepted else ""
            yield f"{variant:12} {count:4} operators, {within:4} within the limit{more}"
        outliers = self.outliers()
        if outliers:
            yield ""
            yield HEADER
            yield from (figure.line(self.limits) for figure in outliers)
        for figure in self.excepted():
            yield f"excepted: {figure.line(self.limits)}"
            yield f"    {reason_for(figure, self.exceptions)}"
