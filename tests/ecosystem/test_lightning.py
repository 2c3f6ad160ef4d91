"""Lightning's Trainer and Fabric, under both names that it is published by."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

lightning = pytest.importorskip("lightning", reason="scripts/setup ecosystem")

from lightning.fabric.utilities.exceptions import MisconfigurationException  # noqa: E402

QUIET = {
    "logger": False,
    "enable_progress_bar": False,
    "enable_model_summary": False,
    "num_sanity_val_steps": 0,
}


class Regression(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
        self.losses: list[float] = []

    def training_step(self, batch, _):
        x, y = batch
        loss = nn.functional.mse_loss(self.layers(x), y)
        self.losses.append(loss.item())
        self.log("loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=3e-2)


def loader() -> DataLoader:
    x = torch.randn(64, 8, generator=torch.Generator().manual_seed(0))
    return DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=16)


def fit(folder: Path, **options: object):
    torch.manual_seed(0)
    model = Regression()
    trainer = lightning.Trainer(max_epochs=10, default_root_dir=folder, **QUIET, **options)
    trainer.fit(model, loader())
    return trainer, model


@pytest.mark.parametrize("accelerator", ["auto", "gpu", "mps"])
def test_the_trainer_finds_the_device(accelerator: str) -> None:
    trainer = lightning.Trainer(accelerator=accelerator, enable_checkpointing=False, **QUIET)
    assert type(trainer.accelerator).__name__ == "MPSAccelerator"
    assert trainer.strategy.root_device == torch.device("mps:0")


def test_training_equals_the_cpu_and_its_checkpoint_loads(tmp_path: Path) -> None:
    trainer, model = fit(tmp_path / "mps")
    _, expected = fit(tmp_path / "cpu", accelerator="cpu")
    assert model.losses == pytest.approx(expected.losses, rel=1e-4)
    assert model.losses[-1] < model.losses[0] / 2
    kept = Path(trainer.checkpoint_callback.best_model_path)
    loaded = Regression.load_from_checkpoint(kept)
    assert {parameter.device.type for parameter in loaded.parameters()} == {"mps"}
    for found, trained in zip(loaded.parameters(), model.parameters(), strict=True):
        assert torch.equal(found.cpu(), trained.cpu())


def test_half_precision_scales_its_gradients(tmp_path: Path) -> None:
    trainer, model = fit(tmp_path, precision="16-mixed", enable_checkpointing=False)
    assert isinstance(trainer.precision_plugin.scaler, torch.amp.GradScaler)
    assert model.losses[-1] < model.losses[0] / 2


@pytest.mark.parametrize("options", [{"devices": 2}, {"strategy": "ddp"}], ids=str)
def test_what_lightning_refuses_on_a_mac_it_refuses_here(options: dict[str, object]) -> None:
    with pytest.raises((ValueError, MisconfigurationException)):
        lightning.Trainer(accelerator="mps", **options, **QUIET)


def test_fabric_trains(tmp_path: Path) -> None:
    fabric = lightning.Fabric(accelerator="auto")
    assert fabric.device == torch.device("mps:0")
    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    model, optimizer = fabric.setup(model, torch.optim.SGD(model.parameters(), lr=0.1))
    losses = []
    for x, y in fabric.setup_dataloaders(loader()):
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        fabric.backward(loss)
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    fabric.save(tmp_path / "state", {"model": model})
    loaded = fabric.load(tmp_path / "state")
    assert torch.equal(loaded["model"]["weight"].cpu(), model.weight.cpu())


ANOTHER_NAME = """
import pytorch_lightning as pl, torch
from pytorch_lightning.demos.boring_classes import BoringModel
trainer = pl.Trainer(
    fast_dev_run=2, precision="bf16-mixed", enable_progress_bar=False, enable_model_summary=False
)
model = BoringModel()
trainer.fit(model)
print(trainer.strategy.root_device, trainer.callback_metrics, trainer.global_step)
assert all(p.isfinite().all() for p in model.parameters())
"""


def test_pytorch_lightning_is_a_library_of_its_own(program) -> None:
    pytest.importorskip("pytorch_lightning", reason="scripts/setup ecosystem")
    printed = program("-c", ANOTHER_NAME)
    assert printed.splitlines()[-1].startswith("mps:0 ")
    assert printed.rstrip().endswith(" 2")
