"""Metal kernels of C++ extensions: what the device core calls to compile and to launch them.

csrc/metal/shader_calls.h is the other half. An exception must not leave a callback: it becomes
a number and a text in the answer, and the core throws PyTorch's exception of that kind.
"""

from __future__ import annotations

import ctypes
import struct
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from openmps.layouts import BUFFERS, ShaderAnswer

if TYPE_CHECKING:
    from openmps.shader.library import MetalKernel, ShaderLibrary

_LAUNCH = struct.Struct(f"=6I2Q{BUFFERS}Q{BUFFERS}Q")

# The first that fits; the numbers are those of csrc/metal/encoder.cpp.
_FAILURES: tuple[tuple[type[Exception], int], ...] = (
    (SyntaxError, 2),
    (ValueError, 3),
    (TypeError, 4),
    (IndexError, 5),
    (NotImplementedError, 6),
    (Exception, 1),
)


_AnswerPointer = ctypes.POINTER(ShaderAnswer)
_Compile = ctypes.CFUNCTYPE(None, _AnswerPointer, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64)
_Names = ctypes.CFUNCTYPE(None, _AnswerPointer, ctypes.c_uint64)
_Kernel = ctypes.CFUNCTYPE(None, _AnswerPointer, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64)
_Launch = ctypes.CFUNCTYPE(None, _AnswerPointer, ctypes.c_uint64, ctypes.c_void_p)


class _Calls(ctypes.Structure):
    _fields_ = (
        ("compile", _Compile),
        ("names", _Names),
        ("kernel", _Kernel),
        ("launch", _Launch),
    )


class ExtensionShaders:
    """Libraries and kernels under numbers. They stay, as their code does once it is loaded."""

    def __init__(self, compile_shader: Callable[[str], ShaderLibrary]) -> None:
        self._compile_shader = compile_shader
        self._libraries: list[ShaderLibrary] = []
        self._kernels: list[MetalKernel] = []
        self._lock = threading.Lock()
        self._said = threading.local()  # keeps the text of a thread's last answer alive
        self._calls = _Calls(
            _Compile(self._guarded(self._compile)),
            _Names(self._guarded(self._names)),
            _Kernel(self._guarded(self._kernel)),
            _Launch(self._guarded(self._launch)),
        )

    @property
    def address(self) -> int:
        """Of the table of calls, which lives as long as this object."""
        return ctypes.addressof(self._calls)

    def _guarded(self, call: Callable[..., None]) -> Callable[..., None]:
        def answer(pointer: Any, *args: int) -> None:
            try:
                call(pointer.contents, *args)
            except KeyboardInterrupt:
                # Raised again by the interpreter, when it has control: C++ has no such exception.
                import _thread

                _thread.interrupt_main()
                self._fail(pointer.contents, 1, "interrupted")
            except Exception as error:
                number = next(number for kind, number in _FAILURES if isinstance(error, kind))
                self._fail(pointer.contents, number, str(error))

        return answer

    def _say(self, answer: ShaderAnswer, text: bytes) -> None:
        self._said.text = text
        answer.text = text
        answer.text_bytes = len(text)

    def _fail(self, answer: ShaderAnswer, number: int, text: str) -> None:
        answer.failure = number
        self._say(answer, text.encode(errors="replace"))

    def _compile(self, answer: ShaderAnswer, address: int, size: int, parameters: int) -> None:
        text = ctypes.string_at(address, size).decode()
        if parameters:
            source, *values = text.rsplit("\0", parameters)
            text = source.format(*values)
        library = self._compile_shader(text)
        with self._lock:
            answer.numbers[0] = len(self._libraries)
            self._libraries.append(library)

    def _names(self, answer: ShaderAnswer, library: int) -> None:
        self._say(answer, "\0".join(dir(self._libraries[library])).encode())

    def _kernel(self, answer: ShaderAnswer, library: int, address: int, size: int) -> None:
        kernel = getattr(self._libraries[library], ctypes.string_at(address, size).decode())
        with self._lock:
            answer.numbers[0] = len(self._kernels)
            self._kernels.append(kernel)
        answer.numbers[1] = kernel.max_threads_per_threadgroup
        answer.numbers[2] = kernel.static_thread_group_memory_length
        answer.numbers[3] = kernel.grid_axes

    def _launch(self, _: ShaderAnswer, kernel: int, address: int) -> None:
        fields = _LAUNCH.unpack(ctypes.string_at(address, _LAUNCH.size))
        bound, copied = fields[6:8]
        self._kernels[kernel].launch_bound(
            fields[8 : 8 + bound],
            fields[8 + BUFFERS : 8 + BUFFERS + bound],
            copied,
            fields[0:3],
            fields[3:6],
        )
