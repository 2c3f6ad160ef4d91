"""Every exception that openmps itself raises.

    OpenmpsError (RuntimeError)
    |-- AlreadyActive        activated before, with other settings
    |-- CacheError           the cache folder cannot be used
    |-- CompilerNotFound     no C++ compiler, or no Python headers
    |-- CompileError         the compiler refused the device core
    |-- OutOfResources       a compiler does not get the memory or the processes it needs
    |-- EngineUnavailable    this machine lacks what the engine needs
    |-- SettingError         (also ValueError) a setting has a value that means nothing
    |-- ShaderError          a Metal kernel cannot be built or run here
    |   |-- DispatchError    (also ValueError) a call asks for what no Metal kernel can have
    |   |-- KernelFault      a Metal kernel touched memory it must not, or did worse
    |   `-- KernelTimeout    (also TimeoutError) a Metal kernel ran longer than allowed
    |-- ShaderSyntaxError    (also SyntaxError) a Metal shader does not compile

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


class OutOfResources(OpenmpsError):
    pass


class EngineUnavailable(OpenmpsError):
    pass


class SettingError(OpenmpsError, ValueError):
    pass


class ShaderError(OpenmpsError):
    pass


class DispatchError(ShaderError, ValueError):
    pass


class KernelFault(ShaderError):
    pass


class KernelTimeout(ShaderError, TimeoutError):
    pass


class ShaderSyntaxError(OpenmpsError, SyntaxError):
    """`msg`, as on any SyntaxError, is the whole text: Inductor prints it."""

    def __init__(self, text: str, *, place: str = "", message: str = "") -> None:
        super().__init__(text)
        self.msg = text
        self.place = place
        self.message = message
