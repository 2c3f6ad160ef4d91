"""torch.mps.Stream, which newer torch has (2.15 does). The device runs in order: all are one."""

from __future__ import annotations

import itertools
import threading

_current = threading.local()
_ids = itertools.count(1)


class StreamBase:
    """Stands in for torch._C._MPSStreamBase, which is compiled into Mac builds only."""

    # torch.mps.Stream gets this base after it was made, and would keep the __new__ of its old one.
    def __new__(cls, *_: object, **__: object) -> StreamBase:
        return object.__new__(cls)

    def __init__(self, stream_id: int | None = None) -> None:
        self._stream_id = next(_ids) if stream_id is None else stream_id

    @property
    def stream_id(self) -> int:
        return self._stream_id

    def synchronize(self) -> None:
        import torch

        torch._C._mps_deviceSynchronize()

    def query(self) -> bool:
        self.synchronize()
        return True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StreamBase) and other.stream_id == self.stream_id

    def __hash__(self) -> int:
        return hash(self.stream_id)


def current_stream() -> StreamBase:
    stream: StreamBase = getattr(_current, "stream", None) or StreamBase(0)
    return stream


def set_stream(stream: StreamBase) -> None:
    _current.stream = stream
