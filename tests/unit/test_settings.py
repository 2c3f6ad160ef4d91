from __future__ import annotations

from pathlib import Path

import pytest

from openmps import settings
from openmps.errors import SettingError


def test_every_setting_has_a_sentence() -> None:
    for setting in settings.ALL:
        assert setting.variable.startswith("OPENMPS")
        assert setting.meaning.endswith(".")


@pytest.mark.parametrize(
    ("value", "asked"), [("1", True), ("on", True), ("TRUE", True), ("0", False), ("", False)]
)
def test_the_switch_reads_as_people_write_it(
    monkeypatch: pytest.MonkeyPatch, value: str, asked: bool
) -> None:
    monkeypatch.setenv("OPENMPS", value)
    assert settings.asked_for() is asked


def test_a_switch_that_means_nothing_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENMPS", "maybe")
    with pytest.raises(SettingError, match="OPENMPS must be 1 or 0"):
        settings.asked_for()


def test_the_cache_follows_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENMPS_CACHE_DIR", "/somewhere")
    assert settings.cache_dir() == Path("/somewhere")
    monkeypatch.delenv("OPENMPS_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert settings.cache_dir() == Path("/cache/openmps")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert settings.cache_dir() == Path("~/.cache/openmps").expanduser()


@pytest.mark.parametrize(("value", "seconds"), [("", 0.0), ("0", 0.0), ("2.5", 2.5), (" 10 ", 10)])
def test_a_time_limit_is_in_seconds(
    monkeypatch: pytest.MonkeyPatch, value: str, seconds: float
) -> None:
    monkeypatch.setenv("OPENMPS_SHADER_TIME_LIMIT", value)
    assert settings.shader_time_limit() == seconds


@pytest.mark.parametrize("value", ["soon", "-1", "nan", "inf"])
def test_a_time_limit_that_means_nothing_is_an_error(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("OPENMPS_SHADER_TIME_LIMIT", value)
    with pytest.raises(SettingError, match="must be a number of seconds"):
        settings.shader_time_limit()
