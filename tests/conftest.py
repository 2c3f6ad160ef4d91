"""The suite runs on the device: it is activated before any test module is imported."""

from __future__ import annotations

import openmps

openmps.activate()
