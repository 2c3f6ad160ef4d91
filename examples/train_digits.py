"""Trains a small convolutional network on scikit-learn's digits, on mps, as one would on a Mac."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

import torch
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from sklearn.datasets import load_digits
from torch import Tensor, nn

EPOCHS = 8
BATCH = 64


class Data(NamedTuple):
    images: Tensor
    labels: Tensor


def digits(device: str) -> tuple[Data, Data]:
    """1797 images of 8 x 8 pixels: the first 1500 to train on, the rest to test with."""
    bundle = load_digits()
    images = torch.tensor(bundle.images, dtype=torch.float32).unsqueeze(1).div(16).to(device)
    labels = torch.tensor(bundle.target).to(device)
    return Data(images[:1500], labels[:1500]), Data(images[1500:], labels[1500:])


def network() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.BatchNorm2d(64),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Dropout(0.2),
        nn.Flatten(),
        nn.Linear(64 * 4 * 4, 10),
    )


def step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: Data) -> Tensor:
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(batch.images), batch.labels)
    loss.backward()
    optimizer.step()
    return loss


@torch.no_grad()
def accuracy(model: nn.Module, data: Data) -> float:
    model.eval()
    right = (model(data.images).argmax(1) == data.labels).float().mean().item()
    model.train()
    return right


def train(model: nn.Module, train_set: Data, test_set: Data, console: Console) -> float:
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    batches = range(0, len(train_set.labels), BATCH)
    columns = (
        TextColumn("epoch {task.fields[epoch]}/" + str(EPOCHS)),
        BarColumn(),
        TextColumn("loss {task.fields[loss]:.3f}  test accuracy {task.fields[right]:.1%}"),
        TimeElapsedColumn(),
    )
    right = 0.0
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=EPOCHS * len(batches), epoch=1, loss=0.0, right=0.0)
        for epoch in range(1, EPOCHS + 1):
            order = torch.randperm(len(train_set.labels), device=train_set.labels.device)
            for start in batches:
                chosen = order[start : start + BATCH]
                batch = Data(train_set.images[chosen], train_set.labels[chosen])
                loss = step(model, optimizer, batch)
                progress.update(task, advance=1, epoch=epoch, loss=loss.item())
            right = accuracy(model, test_set)
            progress.update(task, right=right)
    return right


def step_milliseconds(steps: int = 60) -> dict[str, float]:
    """Median time of a training step on mps and on the CPU, taken in turns."""
    takers = {device: _stepper(device) for device in ("mps", "cpu")}
    times: dict[str, list[float]] = {device: [] for device in takers}
    for _ in range(steps):
        for device, take_step in takers.items():
            begin = time.perf_counter()
            take_step()
            torch.accelerator.synchronize()
            times[device].append(time.perf_counter() - begin)
    return {device: statistics.median(taken) * 1e3 for device, taken in times.items()}


def _stepper(device: str) -> Callable[[], object]:
    torch.manual_seed(0)
    model = network().to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    train_set, _ = digits(device)
    batch = Data(train_set.images[:BATCH], train_set.labels[:BATCH])
    return lambda: step(model, optimizer, batch)


def main() -> None:
    console = Console()
    torch.manual_seed(0)
    model = network().to("mps")
    train_set, test_set = digits("mps")
    right = train(model, train_set, test_set, console)

    table = Table(show_header=False, box=None, pad_edge=False)
    in_use = torch.mps.current_allocated_memory() / 2**20
    limit = torch.mps.recommended_max_memory() / 2**30
    cores = torch.backends.mps.get_core_count()
    taken = step_milliseconds()
    table.add_row("device", f"mps, as on an {torch.backends.mps.get_name()} with {cores} GPU cores")
    table.add_row("memory", f"{in_use:.1f} MiB in use, {limit:.2f} GiB recommended at most")
    table.add_row("accuracy", f"{right:.1%} on {len(test_set.labels)} unseen digits")
    table.add_row("one step", "{mps:.2f} ms on mps, {cpu:.2f} ms on the CPU".format(**taken))
    console.print(table)


if __name__ == "__main__":
    main()
