"""The command behind scripts/metal-corpus: compiles, runs, prints tables."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import Executor, ProcessPoolExecutor
from pathlib import Path

from corpus.compiling import FileResult, compile_corpus
from corpus.numerics import RecipeResult, run_recipes
from corpus.recipes import WITHOUT_COUNTERPART
from corpus.sources import Corpus, library, llama, mlx, pytorch


def main() -> int:
    options = _options()
    corpora = [pytorch(options.pytorch)]
    if options.mlx:
        corpora.append(mlx(options.mlx))
    if options.llama:
        corpora.append(llama(options.llama))
    for corpus in corpora:
        if not corpus.files():
            print(f"no .metal file under {corpus.root / corpus.kernels}", file=sys.stderr)
            return 2
    with tempfile.TemporaryDirectory() as empty:
        os.environ["OPENMPS_CACHE_DIR"] = options.cache or empty
        # Kernels of a machine under load must not run into the limit of a dispatch.
        os.environ.setdefault("OPENMPS_SHADER_TIME_LIMIT", "60")
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(options.jobs, mp_context=context) as pool:
            failed = 0
            if not options.only_run:
                for corpus in corpora:
                    cap = options.most if corpus is corpora[0] else options.most_others
                    failed += _compile(corpus, pool, options.file, cap)
            if not options.only_compile:
                failed += _run(corpora[0], pool, options.file, thorough=options.thorough)
    return 1 if failed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="metal-corpus", description=__doc__)
    parser.add_argument("pytorch", type=Path, help="a checkout of PyTorch")
    parser.add_argument("--mlx", type=Path)
    parser.add_argument("--llama", type=Path)
    parser.add_argument("--file", default="", help="only files whose names begin so; * is anything")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--most", type=int, default=12, help="instances of a kernel function")
    parser.add_argument("--most-others", type=int, default=4, help="the same for MLX and llama.cpp")
    parser.add_argument("--thorough", action="store_true", help="run kernels with more types")
    parser.add_argument("--cache", help="a cache folder to keep; else an empty one is made")
    parser.add_argument("--only-compile", action="store_true")
    parser.add_argument("--only-run", action="store_true")
    return parser.parse_args()


def _compile(corpus: Corpus, pool: Executor, pattern: str, most: int) -> int:
    began = time.monotonic()
    print(f"\n{corpus.name}: compiling")
    print(f"{'file':<46}{'kernels':>8}{'names':>7}{'built':>7}{'failed':>7}{'cpu s':>8}  how")
    total = FileResult("all")
    for result in compile_corpus(corpus, pool, pattern=pattern, most_per_function=most):
        _print_file(result)
        total.functions += result.functions
        total.names += result.names
        total.compiled += result.compiled
        total.seconds += result.seconds
        total.styles.update(result.styles)
        total.fallbacks.update(result.fallbacks)
        total.failures.update({f"{result.file} {k}": v for k, v in result.failures.items()})
    _print_file(total, details=False)
    print(
        f"{corpus.name}: {total.compiled} of {total.names} host names compiled, "
        f"{len(total.failures)} failed, in {time.monotonic() - began:.0f} s"
    )
    reasons = Counter(total.fallbacks.values())
    if reasons:
        print("not in lanes, because of:")
        for reason, count in reasons.most_common():
            print(f"  {count:5} {reason}")
    return len(total.failures)


def _print_file(result: FileResult, *, details: bool = True) -> None:
    how = ", ".join(f"{count} {style}" for style, count in result.styles.most_common())
    print(
        f"{result.file:<46}{result.functions:>8}{result.names:>7}{result.compiled:>7}"
        f"{len(result.failures):>7}{result.seconds:>8.1f}  {how}",
        flush=True,
    )
    if details:
        shown: Counter[str] = Counter()
        for kernel, error in result.failures.items():
            shown[error] += 1
            if shown[error] == 1 and len(shown) <= 8:
                print(f"    FAILED {kernel}: {error}")


def _run(corpus: Corpus, pool: Executor, pattern: str, *, thorough: bool) -> int:
    print(f"\n{corpus.name}: running against torch on the CPU")
    print(f"{'file':<18} {'kernel':<38} {'instance':<50} {'grid/group':<24} {'error':>8}  ok")
    wanted = {}
    for file in corpus.files(pattern):
        for kernel in library(corpus, file).kernels.values():
            wanted[f"{kernel.place} {kernel.function}"] = file.name
    right: set[str] = set()
    wrong: set[str] = set()
    failed = 0
    for result in run_recipes(corpus, pool, pattern, thorough=thorough):
        _print_recipe(result)
        failed += not result.ok
        (right if result.ok else wrong).update(result.functions)
    excused = {key for key in wanted if key.split()[-1] in WITHOUT_COUNTERPART} - right - wrong
    missing = wanted.keys() - right - wrong - excused
    right &= wanted.keys()
    print(
        f"\n{len(wanted)} kernel definitions: {len(right - wrong)} right, {len(wrong)} wrong, "
        f"{len(excused)} without a counterpart, {len(missing)} without a recipe"
    )
    for key in sorted(excused):
        name = key.split()[-1]
        print(f"  {name}: {WITHOUT_COUNTERPART[name]}")
    if missing:
        print("  no recipe: " + ", ".join(sorted({key.split()[-1] for key in missing})))
    return failed + len(missing)


def _print_recipe(result: RecipeResult) -> None:
    worst = max(result.errors.values(), default=float("nan"))
    mark = "ok" if result.ok else "WRONG"
    if len(result.errors) == 2:
        mark += " (both paths)"
    rows = zip(result.functions, result.instances, result.grids, strict=True)
    for function, instance, grid in rows if result.instances else [(result.title, "-", "-")]:
        kernel = function.split()[-1] if result.instances else result.title
        print(
            f"{result.file:<18} {kernel:<38} {instance:<50} {grid:<24} {worst:>8.2g}  {mark}",
        )
    for problem in result.problems:
        print(f"    {result.title}: {problem}")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
