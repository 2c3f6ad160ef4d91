"""Whether an outcome is what the suite expects on a Mac."""

from __future__ import annotations

import fnmatch
import re
from enum import Enum

from .results import Outcome, Result
from .suites import SAME_ON_A_MAC


class Verdict(str, Enum):
    AGREES = "agree"
    DIFFERS = "differ"
    LISTED = "listed"  # told, but counted for nothing


# What the suite skips by a decorator it skips on a Mac too, since it was told that it is on one,
# unless the reason is one of these: then it may be this machine that lacks something.
_MACHINE = re.compile(
    r"\b(RAM|memory|buffer|slow|linux|MTL_|not (installed|available|found)|no module|compiled "
    r"(with|without))",
    re.IGNORECASE,
)

# What a test may find while it runs and a Mac would find as well: parameters that do not go
# together, other devices. Every other reason found then may be a defect of ours.
_SAME_ON_A_MAC = re.compile(
    r"only applies to|has no \w+ parameter|disallows .* together with|not supported for bool"
    r"|only runs on \W*(cpu|cuda|xpu|meta)",
    re.IGNORECASE,
)


# What a Mac says as well to a test that was never meant for it: in the words of PyTorch's sources
# for Macs, or of what is the same for every device and knows nothing of mps.
_REFUSALS_OF_MACS = re.compile(
    r"MPS framework doesn't support|to the MPS backend but it does not have support for that dtype"
    r"|not currently implemented for the MPS device|not supported (on|for) MPS|MPS device does not"
    r"|Failed to create function state object for|Undefined type |MPSGraph does not support"
    r"|_mps not implemented for|\w+_mps does not have a deterministic implementation"
    r"|Could not run 'new_compressed_tensor' from|'(Quantized|SparseCsr)MPS' backend"
    r"|is only implemented on CPU tensors|UntypedStorage\.resize_: got unexpected device type mps"
    r"|None is not <class 'torch\.\w+Storage'>"
    r"|Adaptive pool MPS: |MPS doesn't support complex types|MPS only supports floats"
    r"|linalg_inv: not supported for complex types yet"
    r"|linalg\.solve\.triangular\(\); Only float is supported|for MPS does not support dropout"
)


# Of a checkout that is some days older or younger than the installed release.
_ANOTHER_TORCH = re.compile(r"(AttributeError|Exception): module 'torch[.\w]*' has no attribute")

# The chosen Mac's own words when it is too small for a case.
_TOO_SMALL_A_MAC = re.compile(r"Invalid buffer size: |MPS backend out of memory")


def verdict(result: Result) -> Verdict:
    if result.outcome in (Outcome.PASSED, Outcome.EXPECTED_FAILURE):
        return Verdict.AGREES
    if result.outcome is Outcome.MEMORY:
        return Verdict.LISTED
    failed = result.outcome is Outcome.FAILED
    if failed and (result.younger or _ANOTHER_TORCH.match(result.error)):
        return Verdict.LISTED
    if failed and _TOO_SMALL_A_MAC.search(result.error):
        return Verdict.LISTED
    if failed and result.unsaid and _is_the_same_on_a_mac(result):
        return Verdict.LISTED
    if result.outcome is Outcome.SKIPPED:
        return Verdict.AGREES if _is_skipped_on_a_mac(result) else Verdict.LISTED
    return Verdict.DIFFERS


def _is_the_same_on_a_mac(result: Result) -> bool:
    if result.late or is_a_refusal_of_macs(result.error):
        return True
    return any(fnmatch.fnmatchcase(result.name, pattern) for pattern in SAME_ON_A_MAC)


def is_a_refusal_of_macs(error: str) -> bool:
    return _REFUSALS_OF_MACS.search(error) is not None


def _is_skipped_on_a_mac(result: Result) -> bool:
    if result.marked:
        return _MACHINE.search(result.error) is None
    return _SAME_ON_A_MAC.search(result.error) is not None


def cause(result: Result) -> str:
    """One line."""
    for pattern, why in SAME_ON_A_MAC.items():
        if result.unsaid and fnmatch.fnmatchcase(result.name, pattern):
            return why
    if result.outcome is Outcome.UNEXPECTED_SUCCESS:
        return "succeeds, where the suite expects a Mac to fail"
    line = " ".join(result.error.split()) or "no message"
    return line if result.outcome is Outcome.FAILED else f"{result.outcome.value}: {line}"
