from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
import torch


@pytest.fixture
def settled() -> Iterator[None]:
    """Nothing of earlier tests is freed, and nothing of theirs reused, while memory is counted."""
    gc.collect()
    torch.mps.empty_cache()
    gc.disable()
    yield
    gc.enable()
