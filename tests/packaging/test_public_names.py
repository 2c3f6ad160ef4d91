from __future__ import annotations

from importlib import metadata

import pytest

import openmps


def test_every_public_name_exists() -> None:
    for name in openmps.__all__:
        assert getattr(openmps, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'activat'"):
        _ = openmps.activat


def test_the_installed_version_is_the_package_version() -> None:
    assert metadata.version("openmps") == openmps.__version__


def test_the_changelog_knows_the_version() -> None:
    from pathlib import Path

    changelog = Path(__file__).parents[2] / "CHANGELOG.md"
    assert f"## {openmps.__version__}" in changelog.read_text()
