"""Whether an outcome is what the suite expects on a Mac."""

from __future__ import annotations

import re
from enum import Enum

from .results import Outcome, Result


class Verdict(str, Enum):
    AGREES = "agree"
    DIFFERS = "differ"
    LISTED = "listed"  # told, but counted for nothing


# Reasons for which a Mac skips a case as well: the suite's tables, and parameters that do not go
# together. Every other skip is listed: it may come from what this machine lacks.
_SKIPPED_ON_A_MAC = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"^skipped!?$",
        r"^$",
        r"only applies to",
        r"has no \w+ parameter",
        r"disallows .* together with",
        r"not supported for bool",
        r"pytorch/issues/\d+",
        r"only runs on \['?(cpu|cuda|xpu|meta)",
    )
)


def verdict(result: Result) -> Verdict:
    if result.outcome in (Outcome.PASSED, Outcome.EXPECTED_FAILURE):
        return Verdict.AGREES
    if result.outcome is Outcome.MEMORY:
        return Verdict.LISTED
    if result.outcome is Outcome.SKIPPED:
        same = any(pattern.search(result.error) for pattern in _SKIPPED_ON_A_MAC)
        return Verdict.AGREES if same else Verdict.LISTED
    return Verdict.DIFFERS


def cause(result: Result) -> str:
    """One line."""
    if result.outcome is Outcome.UNEXPECTED_SUCCESS:
        return "succeeds, where the suite expects a Mac to fail"
    line = " ".join(result.error.split()) or "no message"
    return line if result.outcome is Outcome.FAILED else f"{result.outcome.value}: {line}"
