"""Training of networks that nobody tuned the device for, and `generate()` of a language model: mps
against the device beneath, on a GPU in the sizes of such a card, on the CPU in small.

    scripts/bench usual_models               the CPU engine against the CPU
    scripts/gpu bench usual_models           the CUDA engine against cuda

Goal: 0.97 of the speed beneath, and on a GPU at most 1.02 of its peak memory. Optimizers are as
they come. Each side is a process of its own; both take turns. A step takes its batch from the host,
as a training loop does.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager

from gpu_report import Row, keep, show
from sides import CaseFailed, Side, close_on, compare_in_turn, serve

GOAL = 0.97
MEMORY_GOAL = 1.02
TITLE = "Usual models: items per second beneath and on mps; peak MiB beneath and on mps"
JOBS = (
    "vision transformer",
    "depthwise convolutions",
    "GPT",
    "LSTM",
    "diffusion U-Net",
    "graph network",
    "recommender",
)
GENERATE = "generate(), 1B"
PRECISIONS = ("fp32", "bf16 autocast")
TOKENS = 32
# Why a row may miss its goal on the CPU engine, by words of its name.
REASONS = {
    "bf16 autocast": "the CPU's autocast casts other operators than a Mac's",
    "transformer": "attention with gradients is a Mac's formula; the CPU's is a fused kernel",
    "GPT": "attention with gradients is a Mac's formula; the CPU's is a fused kernel",
    "diffusion": "attention with gradients is a Mac's formula; the CPU's is a fused kernel",
}


class Training:
    def __init__(self, name: str, device: str, precision: str, *, small: bool) -> None:
        import torch
        from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

        from usual_networks import JOBS as JOBS_BY_NAME

        torch.manual_seed(0)
        self._torch, self._device = torch, device
        self._job = JOBS_BY_NAME[name](small)
        self._model = self._job.model.to(device)
        self._optimizer = self._job.optimizer(self._model.parameters())
        self._average = (
            AveragedModel(self._model, multi_avg_fn=get_ema_multi_avg_fn(0.999))
            if self._job.average
            else None
        )
        self._bf16 = precision != "fp32"
        self._count = 0

    def _autocast(self) -> AbstractContextManager[object]:
        if not self._bf16:
            return contextlib.nullcontext()
        return self._torch.autocast(self._device, dtype=self._torch.bfloat16)

    def step(self):  # type: ignore[no-untyped-def]
        job = self._job
        batch = [part.to(self._device) for part in job.batches[self._count % len(job.batches)]]
        self._count += 1
        self._optimizer.zero_grad()
        with self._autocast():
            loss = job.loss(self._model, *batch)
        loss.backward()
        if job.clip is not None:
            self._torch.nn.utils.clip_grad_norm_(self._model.parameters(), job.clip)
        self._optimizer.step()
        if self._average is not None:
            self._average.update_parameters(self._model)
        return loss


class Generating:
    """Token by token, as transformers does it, with random weights."""

    def __init__(self, device: str, precision: str, *, small: bool) -> None:
        import torch
        from transformers import LlamaConfig, LlamaForCausalLM

        torch.manual_seed(0)
        sizes = (
            {"hidden_size": 512, "intermediate_size": 1408, "num_hidden_layers": 6}
            if small
            else {"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16}
        )
        config = LlamaConfig(
            vocab_size=1000 if small else 128_256,
            num_attention_heads=8 if small else 32,
            num_key_value_heads=2 if small else 8,
            max_position_embeddings=2048,
            tie_word_embeddings=True,
            eos_token_id=None,
            pad_token_id=0,
            **sizes,
        )
        dtype = torch.float32 if precision == "fp32" else torch.bfloat16
        torch.set_default_dtype(dtype)
        self._model = LlamaForCausalLM(config).eval().to(device)
        torch.set_default_dtype(torch.float32)
        self._prompt = torch.randint(1, config.vocab_size, (1, 16)).to(device)
        self._torch = torch

    def step(self):  # type: ignore[no-untyped-def]
        with self._torch.no_grad():
            made = self._model.generate(
                self._prompt, max_new_tokens=TOKENS, min_new_tokens=TOKENS, do_sample=False
            )
        return made.float().mean()


class ModelCase:
    def __init__(self, case: str, device: str, *, small: bool) -> None:
        import torch

        name, precision = case.split(" / ")
        self._work: Training | Generating
        if name == GENERATE:
            self._work = Generating(device, precision, small=small)
            self.items = TOKENS
        else:
            self._work = Training(name, device, precision, small=small)
            self.items = self._work._job.items
        self._wait = torch.get_device_module(device).synchronize

    def warm_up(self) -> float:
        first = float(self._work.step().detach())
        for _ in range(4):
            self._work.step()
        self._wait()
        return first

    def seconds(self, calls: int) -> float:
        self._work.step()  # the other process has used the card meanwhile
        self._wait()
        begin = time.perf_counter()
        for _ in range(calls):
            self._work.step()
        self._wait()
        return (time.perf_counter() - begin) / calls

    def items_per_step(self) -> int:
        return self.items

    def peak_bytes(self) -> int:
        """Of a step, on the card: what PyTorch's allocator for CUDA says, which both sides use."""
        import torch

        torch._C._cuda_resetPeakMemoryStats(0)
        self._work.step()
        self._wait()
        return int(torch._C._cuda_memoryStats(0)["allocated_bytes"]["all"]["peak"])


def check(losses: list[float]) -> None:
    """Speed is worth nothing where the results differ."""
    if not all(map(math.isfinite, losses)) or not math.isclose(*losses, rel_tol=0.05):
        raise CaseFailed(f"the results differ: {losses[0]} beneath, {losses[1]} on mps")


def rows(
    engine: str, names: list[str], precisions: list[str], options: argparse.Namespace
) -> Iterator[Row]:
    beneath = "cuda" if engine == "cuda" else "cpu"
    passed_on = ["--small"] if options.small else []
    # One thread for the CPU: both sides share a core.
    settings = {} if engine == "cuda" else {"OMP_NUM_THREADS": "1"}
    sides = (
        Side(__file__, beneath, engine, passed_on, settings),
        Side(__file__, "mps", engine, passed_on, settings),
    )
    try:
        for name in names:
            for precision in precisions:
                what = f"{name}, {precision}"
                try:
                    yield from compared(*sides, f"{name} / {precision}", what, options)
                except CaseFailed as failure:
                    print(f"{what}: {failure}", flush=True)
                    yield Row.without_figures(what, GOAL)
                    close_on(sides)
    finally:
        for side in sides:
            side.close()


def compared(
    base: Side, mps: Side, case: str, what: str, options: argparse.Namespace
) -> Iterator[Row]:
    facts: dict[str, float] = {}

    def before_closing() -> None:
        facts["items"] = mps.ask("items_per_step")
        if base.device == "cuda":
            facts["base"], facts["mps"] = base.ask("peak_bytes"), mps.ask("peak_bytes")

    pair, losses = compare_in_turn(
        base,
        mps,
        case,
        round_s=options.round_seconds,
        rounds=options.rounds,
        before_closing=before_closing,
    )
    check(losses)
    items = facts["items"]
    yield Row(what, items / pair.base_s, items / pair.other_s, "items/s", pair.speed, GOAL)
    if "base" in facts:
        base_mib, mps_mib = facts["base"] / 2**20, facts["mps"] / 2**20
        part = mps_mib / base_mib
        yield Row(f"{what}: memory", base_mib, mps_mib, "MiB", part, MEMORY_GOAL, at_most=True)


def main() -> None:
    import torch

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    found = "cuda" if torch.cuda.is_available() else "cpu"
    parser.add_argument("--engine", choices=("cpu", "cuda"), default=found)
    parser.add_argument("--models", nargs="+", choices=(*JOBS, GENERATE), default=[*JOBS, GENERATE])
    parser.add_argument("--precisions", nargs="+", choices=PRECISIONS, default=list(PRECISIONS))
    parser.add_argument("--small", action="store_true", help="the CPU's sizes, on a GPU, too")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--round-seconds", type=float, default=0.15)
    parser.add_argument("--serve", metavar="DEVICE", help="for the worker processes")
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, lambda case, device: ModelCase(case, device, small=options.small))
        return
    options.small |= options.engine == "cpu"
    measured = []
    for row in rows(options.engine, options.models, options.precisions, options):
        print(row.line(), flush=True)
        measured.append(row)
        if options.engine == "cuda":
            keep("gpu_usual_models", TITLE, measured)  # what is there counts, should time run out
    show(TITLE, measured)
    if options.engine == "cpu":
        for row in measured:
            if row.met is False:
                print(f"{row.what}: {reason_of(row.what)}")


def reason_of(what: str) -> str:
    found = [reason for words, reason in REASONS.items() if words in what]
    return found[0] if found else "no reason is known"


if __name__ == "__main__":
    main()
