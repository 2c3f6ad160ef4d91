from __future__ import annotations

from collections.abc import Iterator

import pytest

from .program import Programs


@pytest.fixture(scope="session")
def programs() -> Iterator[Programs]:
    started = Programs()
    yield started
    started.close()
