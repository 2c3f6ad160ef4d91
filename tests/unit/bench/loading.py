"""bench/ and the helpers in tests/ are scripts, not packages: loads one by its path."""

from __future__ import annotations

import sys
from importlib import util
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[3]


def load(path: str) -> ModuleType:
    name = path.removesuffix(".py").replace("/", "_")
    spec = util.spec_from_file_location(name, ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module
