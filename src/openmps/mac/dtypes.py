"""The dtype rules of a Mac, spelled out for every operator as the core wants them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar

from openmps.mac.dtype_names import mask, number
from openmps.mac.refusals import REFUSED, Refusal
from openmps.mac.widenings import HOST, WIDENED, WIDENED_ON_CPU, WIDENED_ON_CUDA, Widened

__all__ = [
    "REFUSED",
    "WIDENED",
    "WIDENED_ON_CPU",
    "WIDENED_ON_CUDA",
    "Refusal",
    "RefusalBits",
    "Widened",
    "WidenedBits",
    "expand",
    "expand_widened",
]

_ALL_RELEASES = (1 << 30, 0)  # newer than every macos_below


class RefusalBits(NamedTuple):
    dtypes: int  # one bit per c10::ScalarType
    of: str
    error: str
    text: str


class WidenedBits(NamedTuple):
    dtypes: int
    through: int  # a c10::ScalarType, or -1: the host
    of: str


def expand(
    names: Iterable[str], macos: tuple[int, int] = _ALL_RELEASES
) -> dict[str, tuple[RefusalBits, ...]]:
    """What each of these operators refuses on that macOS. Names without a rule are left out."""
    rules = (rule for rule in REFUSED if _holds(rule.macos_below, macos))
    return _by_name(
        names,
        (
            (rule.operators, RefusalBits(mask(rule.dtypes), rule.of, rule.error, rule.text))
            for rule in rules
        ),
    )


def expand_widened(
    names: Iterable[str], rules: tuple[Widened, ...] = WIDENED
) -> dict[str, tuple[WidenedBits, ...]]:
    """What each of these operators computes in another dtype where the backing has no kernel."""
    return _by_name(
        names,
        (
            (rule.operators, WidenedBits(mask(rule.dtypes), _through(rule), rule.of))
            for rule in rules
        ),
    )


def _through(rule: Widened) -> int:
    return -1 if rule.through == HOST else number(rule.through)


def _holds(macos_below: str, macos: tuple[int, int]) -> bool:
    if not macos_below:
        return True
    major, _, minor = macos_below.partition(".")
    return macos < (int(major), int(minor or 0))


_Bits = TypeVar("_Bits", RefusalBits, WidenedBits)


def _by_name(
    names: Iterable[str], rules: Iterable[tuple[str, _Bits]]
) -> dict[str, tuple[_Bits, ...]]:
    of_token = defaultdict[str, list[tuple[int, _Bits]]](list)
    for position, (operators, bits) in enumerate(rules):
        for token in operators.split():
            of_token[token].append((position, bits))
    found = {}
    for name in names:
        # The order of the tables is the order of the checks on a Mac.
        matches = sorted(
            (match for token in _tokens(name) for match in of_token.get(token, ())),
            key=lambda match: match[0],
        )
        if matches:
            found[name] = tuple(bits for _, bits in matches)
    return found


def _tokens(name: str) -> Iterator[str]:
    """How a rule may name this operator: "aten::sin_.x" is sin, sin_ and sin_.x."""
    full = name.partition("::")[2] or name
    operator, dot, _ = full.partition(".")
    yield operator
    if dot:
        yield full
    if operator.endswith("_") and not operator.endswith("__"):
        yield operator[:-1]
