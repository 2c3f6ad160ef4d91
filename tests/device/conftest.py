from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
import torch

from .memory_program import Programs


@pytest.fixture
def settled() -> Iterator[None]:
    """Nothing of earlier tests is freed, and nothing of theirs reused, while memory is counted."""
    gc.collect()
    torch.mps.empty_cache()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(scope="session")
def programs() -> Iterator[Programs]:
    started = Programs()
    yield started
    started.close()
