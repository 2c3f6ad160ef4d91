"""How the suites of known projects are told which device to test."""

from __future__ import annotations

from dataclasses import dataclass

from openmps.errors import OpenmpsError


@dataclass(frozen=True)
class Project:
    """arguments: of pytest, with {device} for the device. needs: what its tests import beside torch
    and pytest."""

    name: str
    arguments: tuple[str, ...]
    tests: tuple[str, ...] = ("tests",)
    needs: tuple[str, ...] = ()


PROJECTS = {
    project.name: project
    for project in (Project("kornia", ("--device={device}",), needs=("kornia_rs", "PIL")),)
}


def project(name: str) -> Project:
    if name not in PROJECTS:
        raise OpenmpsError(
            "no such project",
            found=name,
            next_step=f"name one of {', '.join(PROJECTS)}, or add it to projects.py",
        )
    return PROJECTS[name]
