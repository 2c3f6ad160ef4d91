"""Runs recipes: kernels against torch; coordinated ones on both paths, also against each other."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path

import torch

from corpus.compiling import first_line
from corpus.launching import Runner
from corpus.recipes import Check, Recipe, all_recipes, distance
from corpus.sources import Corpus
from openmps.targets.cpu_builder import CpuOptions

_PATHS = {"lanes": CpuOptions(lanes=True), "fibres": CpuOptions(lanes=False)}


@dataclass
class RecipeResult:
    title: str
    file: str
    functions: tuple[str, ...] = ()  # "place function" of each instance
    instances: tuple[str, ...] = ()
    grids: tuple[str, ...] = ()
    errors: dict[str, float] = field(default_factory=dict)  # by path
    allowed: float = 0.0
    apart: float = 0.0  # how far the two paths' results lie from each other
    problems: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.problems


def run_recipes(
    corpus: Corpus, pool: Executor, pattern: str, *, thorough: bool
) -> Iterator[RecipeResult]:
    files = {file.stem: file for file in corpus.files(pattern)}
    jobs = [
        pool.submit(run_recipe, corpus, files[recipe.file], number)
        for number, recipe in enumerate(all_recipes())
        if recipe.file in files and (thorough or not recipe.thorough)
    ]
    for job in jobs:
        yield job.result()


def run_recipe(corpus: Corpus, file: Path, number: int) -> RecipeResult:
    """Runs in a worker process."""
    torch.set_num_threads(1)
    recipe = all_recipes()[number]
    result = RecipeResult(recipe.title, recipe.file)
    outputs: dict[str, list[Check]] = {}
    for path in _PATHS:
        runner = Runner(corpus, file, _PATHS[path])
        checks = _attempt(recipe, runner, path, result)
        kernels = runner.library.kernels
        result.functions = tuple(
            f"{kernels[name].place} {kernels[name].function}" for name in runner.launched
        )
        result.instances = tuple(runner.launched)
        result.grids = tuple(
            f"{'x'.join(map(str, grid))}/{'x'.join(map(str, group))}"
            for grid, group in runner.launched.values()
        )
        if checks is not None:
            outputs[path] = checks
        if not any(kernels[name].coordinates for name in runner.launched):
            break
    if len(outputs) == 2:
        for lanes, fibres in zip(outputs["lanes"], outputs["fibres"], strict=True):
            apart = distance(lanes.actual, fibres.actual)
            result.apart = max(result.apart, apart)
            if apart > lanes.allowed:
                result.problems.append(f"paths differ by {apart:.3g}")
    return result


def _attempt(recipe: Recipe, runner: Runner, path: str, result: RecipeResult) -> list[Check] | None:
    torch.manual_seed(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            returned = recipe.body(runner)
            checks = [returned] if isinstance(returned, Check) else list(returned)
            errors = [check.error() for check in checks]
    except Exception as error:
        result.problems.append(f"{path}: {first_line(error)}")
        return None
    result.errors[path] = max(errors)
    result.allowed = max(check.allowed for check in checks)
    for check, error in zip(checks, errors, strict=True):
        if not error <= check.allowed:
            result.problems.append(f"{path}: error {error:.3g} > {check.allowed:.3g}")
    return checks
