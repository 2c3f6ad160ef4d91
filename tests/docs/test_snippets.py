"""Every command and every snippet that the pages show does what they say."""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch

from openmps import settings
from openmps.cli.main import app

from .pages import PAGES, ROOT, Block, Page, commands_in_tables, read_page
from .shell import Command, agrees, commands_of, reader_environment, run_commands

pytestmark = pytest.mark.cpu_engine("pages show what the CPU engine prints")

PINNED = re.findall(r"^torch==(\S+)", (ROOT / "constraints.txt").read_text(), re.M)[0]
ALL = [read_page(path) for path in PAGES]
SHELL = ("sh", "console")
LANGUAGES = {*SHELL, "python", "metal", "yaml", "toml"}
# Why a block is not run, and how its commands begin.
NOT_RUN = {
    "needs the network": ("pip install",),
    "needs NVIDIA's compiler": ("openmps metal rows.metal --engine cuda",),
    "runs the whole project": ("scripts/",),
    "takes minutes": ("openmps bench",),
    "installs an emulator and an arm64 Python": ("scripts/arm64",),
    "downloads every release of torch": ("scripts/matrix",),
    "needs a checkout of PyTorch": ("scripts/upstream", "scripts/metal-corpus"),
}


def pages_with(*languages: str) -> Any:
    chosen = [p for p in ALL if any(b.language in languages and b.is_run for b in p.blocks)]
    return pytest.mark.parametrize("page", chosen, ids=lambda page: page.name)


def blocks_of(*languages: str) -> list[Block]:
    return [b for page in ALL for b in page.blocks if b.language in languages and b.is_run]


def write_files(blocks: list[Block], folder: Path) -> None:
    for block in blocks:
        if block.title:
            file = folder / block.title
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text)


def test_there_is_much_to_run() -> None:
    assert len(blocks_of("console")) >= 12
    assert len(blocks_of("python")) >= 12
    assert len(blocks_of("yaml")) >= 3


@pytest.mark.parametrize("block", [b for p in ALL for b in p.blocks], ids=lambda b: b.place)
def test_a_block_has_a_language_or_is_a_drawing(block: Block) -> None:
    if block.language:
        assert block.language in LANGUAGES, block.place
    else:
        assert re.search("[─│▼▶◀├└]", block.text), f"{block.place} is no drawing: name its language"


@pytest.mark.parametrize(
    "block", [b for p in ALL for b in p.blocks if not b.is_run], ids=lambda b: b.place
)
def test_only_what_cannot_run_here_is_not_run(block: Block) -> None:
    assert block.language == "sh", block.place
    begins = NOT_RUN[block.comment.removeprefix("not run: ")]
    for command in commands_of("sh", block.text):
        assert command.text.startswith(begins), f"{block.place}: {command.text}"
        script = Path(command.text.split()[0])
        assert script.parts[0] != "scripts" or (PAGES[0].parent / script).is_file(), script


def check_python(page: Page, folder: Path) -> None:
    """In one process, with the device; programs that it shows as files need only be Python."""
    for block in page.blocks:
        if block.language == "python":
            compile(block.text, block.place, "exec")
    blocks = [b for b in page.blocks if b.language == "python" and b.is_run and not b.title]
    if blocks:
        environment = reader_environment(folder / "bin")
        write_files([*page.borrowed, *page.blocks], folder)
        listed = [(block.page.name, block.line, block.text) for block in blocks]
        (folder / "blocks.json").write_text(json.dumps(listed))
        program = Path(__file__).with_name("run_blocks.py")
        command = Command(f"OPENMPS=1 python '{program}' blocks.json", None, 0)
        check_commands(page.name, [command], folder, environment)


def check_shell(page: Page, folder: Path) -> None:
    """In one folder, in the page's order: files appear where the page shows them."""
    environment = reader_environment(folder / "bin")
    project = folder / "project"
    project.mkdir()
    write_files(page.borrowed, project)
    for block in page.blocks:
        write_files([block], project)
        if block.language in SHELL and block.is_run:
            commands = commands_of(block.language, block.text)
            check_commands(block.place, commands, project, environment)
    listed = [Command(text, None, 0) for text in commands_in_tables(page)]
    check_commands(f"a table of {page.name}", listed, project, environment)


def check_commands(
    place: str, commands: list[Command], folder: Path, environment: dict[str, str]
) -> None:
    for command, result in zip(commands, run_commands(commands, folder, environment), strict=True):
        told = f"{place}: {command.text}\n{result.output}"
        assert result.status == command.status, f"exit status {result.status} of {told}"
        if command.shown is not None:
            assert agrees(command.shown, result.output), f"the page shows otherwise. {told}"


def check_workflows(page: Page, folder: Path) -> None:
    """Each step runs for each Mac of the matrix; what installs is left out, it is there."""
    environment = reader_environment(folder / "bin")
    project = folder / "project"
    project.mkdir()
    shown_before: list[Block] = list(page.borrowed)
    ran = 0
    for block in page.blocks:
        shown_before += [block] if block.language == "python" else []
        if block.language == "yaml" and block.is_run:
            write_files(shown_before, project)
            commands = [Command(line, None, 0) for line in steps_of(block.text)]
            check_commands(block.place, commands, project, environment)
            ran += len(commands)
    assert ran


def steps_of(text: str) -> list[str]:
    """The commands of a workflow, or of a part of one, for each combination of its matrix."""
    import yaml

    read = yaml.safe_load(text)
    jobs = read["jobs"].values() if "jobs" in read else [read]
    commands = []
    for job in jobs:
        for values in combinations(job.get("strategy", {}).get("matrix", {})):
            for step in job["steps"]:
                command = step.get("run", "pip install")
                for name, value in values.items():
                    command = command.replace(f"${{{{ matrix.{name} }}}}", value)
                assert "${{" not in command, command
                if not command.startswith("pip install"):
                    commands.append(command)
    return commands


def combinations(matrix: dict[str, Any]) -> list[dict[str, str]]:
    if "include" in matrix:
        included: list[dict[str, str]] = matrix["include"]
        return included
    return [
        dict(zip(matrix, chosen, strict=True)) for chosen in itertools.product(*matrix.values())
    ]


CHECKS = {
    "test_python": check_python,
    "test_commands": check_shell,
    "test_workflows": check_workflows,
}


@pytest.fixture(scope="module")
def outcome(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], None]]:
    """What a test's check says, by the test's name: all of them run at once, on all cores."""
    chosen = [
        item
        for item in request.session.items
        if isinstance(item, pytest.Function)
        and item.module is request.module
        and item.originalname in CHECKS
    ]
    pool = ThreadPoolExecutor(os.cpu_count())
    started = {
        item.name: pool.submit(
            CHECKS[item.originalname], item.callspec.params["page"], tmp_path_factory.mktemp("page")
        )
        for item in chosen
    }
    yield lambda name: started[name].result()
    pool.shutdown(cancel_futures=True)


@pages_with("python")
def test_python(page: Page, outcome: Any, request: pytest.FixtureRequest) -> None:
    outcome(request.node.name)


@pytest.mark.skipif(
    not torch.__version__.startswith(PINNED), reason=f"the pages show what torch {PINNED} prints"
)
@pages_with(*SHELL)
def test_commands(page: Page, outcome: Any, request: pytest.FixtureRequest) -> None:
    outcome(request.node.name)


@pages_with("yaml")
def test_workflows(page: Page, outcome: Any, request: pytest.FixtureRequest) -> None:
    pytest.importorskip("yaml", reason="PyYAML is not installed: scripts/setup docs")
    outcome(request.node.name)


@pytest.mark.parametrize("block", blocks_of("metal"), ids=lambda b: b.place)
def test_metal(block: Block) -> None:
    if block.comment == "does not compile":
        with pytest.raises(SyntaxError):
            torch.mps.compile_shader(block.text)
    else:
        assert "kernel void" in block.text
        torch.mps.compile_shader(block.text)


@pytest.mark.parametrize("page", ALL, ids=lambda page: page.name)
def test_commands_and_variables_in_the_text_exist(page: Page) -> None:
    import typer

    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    text = page.path.read_text("utf-8")
    for mention in re.findall(r"`openmps ([^`\n]+)`", text):
        name, *words = mention.split()
        if name.startswith("-"):
            continue
        assert name in commands, f"{page.name}: openmps {mention}"
        options = {option for parameter in commands[name].params for option in parameter.opts}
        options |= {"--help"}
        for word in words:
            if not word.startswith("-"):
                if name in ("run", "check"):
                    break  # from here on it is the program's
                continue
            assert word.strip("[]").split("=")[0] in options, f"{page.name}: openmps {mention}"
    known = {each.variable for each in settings.ALL}
    assert set(re.findall(r"\bOPENMPS(?:_[A-Z]+)*\b", text)) <= known
