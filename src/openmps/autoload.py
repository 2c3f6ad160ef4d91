"""The `torch.backends` entry point: runs at the end of every `import torch`.

Does nothing unless `OPENMPS=1`. Never raises: an exception here would break `import torch`.
"""

from __future__ import annotations

import os


def autoload() -> None:
    # Read here and not through `settings`: this line is all that a process that did not ask pays.
    if not os.environ.get("OPENMPS"):
        return
    try:
        from openmps import settings

        if settings.asked_for():
            from openmps.device.activation import activate

            activate()
    except Exception as error:
        import warnings

        warnings.warn(
            f"openmps could not give this process the mps device; torch works without it.\n{error}",
            RuntimeWarning,
            stacklevel=2,
        )
