"""The hooks before a commit run what scripts/check runs."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_hooks_run_what_scripts_check_runs() -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed: scripts/setup docs")
    (hooks,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    run = {hook["entry"].removeprefix(".venv/bin/") for hook in hooks["hooks"]}
    lines = (ROOT / "scripts" / "check").read_text().split("\nfi\n")[1].splitlines()
    checked = [line.removeprefix("$bin/").removesuffix(" $sources") for line in lines]
    assert run == {check.removesuffix(" .") for check in checked}
