"""Lets the room be imported however pytest was started: it shares words with tests/upstream."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))
