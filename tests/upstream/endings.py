"""What the output of a dead worker tells about its end."""

from __future__ import annotations

import re
from pathlib import PurePath

# As faulthandler writes them.
_FRAME = re.compile(r'^  File "(?P<file>.+)", line (?P<line>\d+) in (?P<function>.+)$', re.M)
_END = re.compile(r"^(Fatal Python error: |Timeout \()", re.M)
_TOLD = re.compile(r"^\s*(?:what\(\):\s*)?(?P<words>\S.*)$", re.M)


def frame_of(log: str) -> str:
    """The innermost frame of the test itself, or else of anything."""
    frames = list(_FRAME.finditer(log))
    tests = [frame for frame in frames if frame["function"].startswith("test")]
    for frame in (tests or frames)[:1]:
        return f"at {PurePath(frame['file']).name}:{frame['line']} {frame['function']}"
    return ""


def words_of(log: str) -> str:
    """The last line that was printed before the end."""
    end = _END.search(log)
    told = _TOLD.findall(log[: end.start()] if end else log)
    return f"({told[-1][:200]})" if told else ""
