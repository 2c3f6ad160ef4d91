"""The guides of libraries: transformers, accelerate and Lightning on mps, without a network."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from .snippets import Snippet, assert_as_expected

for library in ("transformers", "accelerate", "lightning"):
    pytest.importorskip(library, reason="scripts/setup ecosystem")

TINY = """
from transformers import BertConfig, BertForSequenceClassification
model = BertForSequenceClassification(BertConfig(
    hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
    vocab_size=50, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
))
"""
SNIPPETS = [
    Snippet(
        "transformers: the Trainer",
        TINY
        + """
import torch
from transformers import Trainer, TrainingArguments
data = [
    {"input_ids": torch.full((8,), i % 2 + 1), "labels": torch.tensor(i % 2)} for i in range(32)
]
training_args = TrainingArguments(
    output_dir="./outputs", per_device_train_batch_size=8, num_train_epochs=4,
    learning_rate=5e-2, torch_empty_cache_steps=1, report_to="none", disable_tqdm=True,
    save_strategy="no", logging_strategy="no", dataloader_pin_memory=False,
)
trainer = Trainer(model=model, args=training_args, train_dataset=data)
trainer.train()
print(training_args.device, trainer.model.device)
found = trainer.predict(data).predictions.argmax(-1).tolist()
print(found == [i % 2 for i in range(32)])
""",
        "{<any>}\nmps mps:0\nTrue\n",
    ),
    Snippet(
        "transformers: lower precision, and an option that is gone",
        """
        import torch
        from transformers import TrainingArguments
        print(TrainingArguments(output_dir="./outputs", bf16=True).device)
        print(TrainingArguments(output_dir="./outputs", fp16=True).device)
        try:
            TrainingArguments(output_dir="./outputs", use_mps_device=True)
        except TypeError as error:
            print("unexpected keyword argument 'use_mps_device'" in str(error))
        """,
        "mps\nmps\nTrue\n",
    ),
    Snippet(
        "transformers: loading onto the device",
        TINY
        + """
import torch
model.save_pretrained("tiny")
for options in ({"device_map": "mps"}, {"device_map": "auto"}, {"dtype": torch.float16}):
    loaded = BertForSequenceClassification.from_pretrained("tiny", **options)
    print(loaded.device, loaded.dtype)
print(loaded.to("mps").device)
""",
        "mps:0 torch.float32\nmps:0 torch.float32\ncpu torch.float16\nmps:0\n",
        tells=("Loading weights: 100%",),
    ),
    Snippet(
        "the announcement's BERT, on both devices",
        TINY
        + """
import time
import torch
ids = torch.randint(0, 50, (4, 8))
found = {}
for device in ("cpu", "mps"):
    model = model.to(device).eval()
    start = time.perf_counter()
    with torch.no_grad():
        found[device] = model(ids.to(device)).logits.cpu()
    print(device, f"{(time.perf_counter() - start) * 1e3:.1f} ms")
print(torch.allclose(found["cpu"], found["mps"], atol=1e-5))
""",
        "cpu <number> ms\nmps <number> ms\nTrue\n",
    ),
    Snippet(
        "accelerate: its loop",
        """
        import torch
        from accelerate import Accelerator
        accelerator = Accelerator()
        device = accelerator.device
        print(device, accelerator.num_processes, accelerator.is_main_process)
        torch.manual_seed(0)
        x = torch.randn(32, 4)
        data = torch.utils.data.DataLoader(
            torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True)), batch_size=8
        )
        model = torch.nn.Linear(4, 1)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
        model, optimizer, data = accelerator.prepare(model, optimizer, data)
        losses = []
        for epoch in range(8):
            for source, targets in data:
                optimizer.zero_grad()
                loss = torch.nn.functional.mse_loss(model(source), targets)
                accelerator.backward(loss)
                optimizer.step()
            losses.append(accelerator.gather(loss.detach()).item())
        print(source.device, losses[-1] < losses[0] / 4)
        accelerator.print("done")
        """,
        "mps 1 True\nmps:0 True\ndone\n",
    ),
    Snippet(
        "Lightning: the Trainer and Fabric",
        """
        import lightning as L
        import torch
        from lightning.pytorch.accelerators import MPSAccelerator
        from lightning.pytorch.demos.boring_classes import BoringModel
        print(MPSAccelerator.is_available())
        quiet = dict(
            logger=False, enable_checkpointing=False, enable_progress_bar=False,
            enable_model_summary=False, max_steps=2, limit_val_batches=1,
        )
        for accelerator in ("mps", "auto", "gpu"):
            trainer = L.Trainer(accelerator=accelerator, devices=1, **quiet)
            print(trainer.strategy.root_device, trainer.num_devices)
        model = BoringModel()
        trainer.fit(model)
        print(trainer.global_step)
        fabric = L.Fabric(accelerator="mps")
        print(fabric.device)
        """,
        "True\nmps:0 1\nmps:0 1\nmps:0 1\n2\nmps:0\n",
        tells=("GPU available: True (mps), used: True",),
    ),
]


@pytest.mark.parametrize("snippet", SNIPPETS, ids=str)
def test_compatibility(snippet: Snippet, run) -> None:
    assert_as_expected(snippet, run(snippet))


LAUNCHED = """
import sys
import torch
from accelerate import Accelerator
accelerator = Accelerator()
print(accelerator.device, accelerator.mixed_precision, sys.argv[1:])
"""


@pytest.mark.parametrize(
    ("options", "printed"),
    [(("--mixed_precision", "fp16"), "mps fp16"), (("--cpu",), "cpu no")],
    ids=str,
)
def test_accelerate_launch(
    python, tmp_path: Path, environment: dict[str, str], options: tuple[str, ...], printed: str
) -> None:
    """As its guide has it: the command finds the device, and the program's arguments reach it."""
    (tmp_path / "cv_example.py").write_text(LAUNCHED)
    launch = Path(sys.executable).with_name("accelerate")
    done = python(
        str(launch),
        "launch",
        *options,
        "cv_example.py",
        "--data_dir",
        "images",
        OPENMPS="1",
        HF_HOME=str(tmp_path),
        **environment,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{printed} ['--data_dir', 'images']\n"
