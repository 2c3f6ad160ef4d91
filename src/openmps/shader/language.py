"""Which Metal a shader is compiled as. No torch here: the command line asks, too."""

from __future__ import annotations

import os

from openmps.msl.library import LanguageOptions


def language_options(macos: tuple[int, int]) -> LanguageOptions:
    """What PyTorch compiles shaders as on that release."""
    version = 400 if macos >= (26, 0) else 320 if macos >= (15, 0) else 310
    fast = os.environ.get("PYTORCH_MPS_FAST_MATH", "0") != "0"
    return LanguageOptions(version=version, fast_math=fast)
