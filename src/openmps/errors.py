"""Every exception that openmps itself raises.

    OpenmpsError (RuntimeError)
    |-- AlreadyActive        activated before, with other settings
    |-- CacheError           the cache folder cannot be used
    |-- CompilerNotFound     no C++ compiler, or no Python headers
    |-- CompileError         the compiler refused the device core
    |-- EngineUnavailable    this machine lacks what the engine needs
    |-- SettingError         (also ValueError) a setting has a value that means nothing

Each text says what failed, what was found, and what to do next.
"""

from __future__ import annotations


class OpenmpsError(RuntimeError):
    def __init__(self, problem: str, *, found: str = "", next_step: str = "") -> None:
        lines = [problem]
        if found:
            lines.append(f"  found: {found}")
        if next_step:
            lines.append(f"  next: {next_step}")
        super().__init__("\n".join(lines))
        self.problem = problem
        self.found = found
        self.next_step = next_step


class AlreadyActive(OpenmpsError):
    pass


class CacheError(OpenmpsError):
    pass


class CompilerNotFound(OpenmpsError):
    pass


class CompileError(OpenmpsError):
    pass


class EngineUnavailable(OpenmpsError):
    pass


class SettingError(OpenmpsError, ValueError):
    pass
