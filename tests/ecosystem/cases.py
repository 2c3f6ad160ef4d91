"""The programs of scripts/ecosystem: where each comes from, what it needs, what it must print."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from . import glue

HERE = Path(__file__).parent


def _nothing(work: Path) -> None:
    pass


@dataclass(frozen=True)
class Case:
    """One program, and the folder of its own that it runs in: the case's work folder."""

    name: str
    # The arguments of Python. {copy} is the copied part of the checkout.
    command: str
    # What it prints: regular expressions, all of which are found.
    prints: tuple[str, ...] = (r"^PASS$",)
    # The checkout it is from, its part that is copied into the work folder, and a file there.
    checkout: str = ""
    part: str = "."
    file: str = ""
    # Whether the command runs in the copy, or in the work folder itself.
    in_copy: bool = True
    # Writes data into the work folder, once the copy is there.
    prepare: Callable[[Path], None] = _nothing
    # A command to run before.
    first: str = ""
    # Sizes in the program's text that no argument changes: before, after.
    sizes: tuple[tuple[str, str], ...] = ()
    # More arguments that make it run on the CPU, and the number that must be the same there.
    on_cpu: str = ""
    same: str = ""


def _library(name: str, program: str) -> Case:
    return Case(name, str(HERE / "programs" / f"{program}.py"))


def _tests(name: str, file: str) -> Case:
    return Case(name, f"-m pytest -q -p no:cacheprovider {HERE / file}", (r"^\d+ passed in",))


def _mnist(work: Path) -> None:
    """Ten patterns with some noise, as the files that torchvision would have downloaded."""
    raw = work / "data" / "MNIST" / "raw"
    raw.mkdir(parents=True)
    dice = random.Random(0)
    patterns = [bytes(dice.choice((0, 255)) for _ in range(784)) for _ in range(10)]
    for split, count in (("train", 1280), ("t10k", 256)):
        labels = bytes(dice.randrange(10) for _ in range(count))
        images = b"".join(patterns[label] for label in labels)
        (raw / f"{split}-images-idx3-ubyte").write_bytes(
            struct.pack(">IIII", 0x803, count, 28, 28) + images
        )
        (raw / f"{split}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 0x801, count) + labels)


def _text(rows: int) -> str:
    dice = random.Random(0)
    words = ["the", "cat", "sat", "on", "a", "mat", "and", "saw", "another", "cat", "that", "ran"]
    return "".join(" ".join(dice.choices(words, k=8)) + "\n" for _ in range(rows))


def _word_data(work: Path) -> None:
    folder = work / "word_language_model" / "data" / "tiny"
    folder.mkdir(parents=True)
    for split, rows in (("train", 200), ("valid", 60), ("test", 60)):
        (folder / f"{split}.txt").write_text(_text(rows))


def _shakespeare(work: Path) -> None:
    (work / "nanoGPT" / "data" / "shakespeare_char" / "input.txt").write_text(_text(400))


_NANOGPT = (
    "--device=mps --compile=False --block_size=32 --batch_size=4 --n_layer=2 --n_head=2 "
    "--n_embd=32 --max_iters=20 --lr_decay_iters=20 --eval_iters=2 --eval_interval=10"
)


def _glue(more: str = "", *, on_cpu: str = "") -> Case:
    return Case(
        f"run_glue.py {more}".strip(),
        " ".join(["{copy}/run_glue.py", *glue.ARGUMENTS, "out", more]).strip(),
        (r"eval_accuracy\s*=\s*(0\.9|1\.)", r"device: mps"),
        checkout="transformers",
        part="examples/pytorch/text-classification",
        file="run_glue.py",
        in_copy=False,
        prepare=glue.prepare,
        on_cpu=on_cpu,
        same=r"train_loss\s*=\s*([\d.]+)",
    )


def _example(
    part: str,
    arguments: str,
    prints: str,
    *,
    prepare: Callable[[Path], None] = _nothing,
    sizes: tuple[tuple[str, str], ...] = (),
) -> Case:
    return Case(
        f"examples/{part}",
        f"main.py {arguments}",
        (prints,),
        checkout="examples",
        part=part,
        file="main.py",
        prepare=prepare,
        sizes=sizes,
    )


def _words(model: str) -> Case:
    case = _example(
        "word_language_model",
        f"--accel --data data/tiny --model {model} --emsize 32 --nhid 32 --nhead 2 --epochs 1",
        r"test ppl\s+\d",
        prepare=_word_data,
    )
    return replace(case, name=f"{case.name} {model}")


CASES = (
    _tests("transformers", "test_transformers.py"),
    _tests("transformers Trainer", "test_glue.py"),
    _tests("accelerate", "test_accelerate.py"),
    _tests("lightning", "test_lightning.py"),
    _tests("safetensors", "test_safetensors.py"),
    _library("timm", "timm_models"),
    _library("diffusers", "diffusers_ddpm"),
    _library("keras", "keras_cnn"),
    _library("sentence-transformers", "sentence_transformers_encode"),
    _library("torch-geometric", "pyg_gcn"),
    _library("stable-baselines3", "sb3_ppo"),
    _library("ultralytics", "ultralytics_yolo"),
    _glue(on_cpu="--use_cpu --output_dir out-cpu"),
    _glue("--fp16"),
    _glue("--bf16"),
    _glue("--gradient_checkpointing"),
    _glue("--dataloader_num_workers 2"),
    _example(
        "mnist",
        "--epochs 2 --batch-size 64 --test-batch-size 64",
        r"Accuracy: \d+/256 \((9\d|100)%\)",
        prepare=_mnist,
    ),
    _words("LSTM"),
    _words("Transformer"),
    _example(
        "imagenet",
        "--dummy -a resnet18 -b 4 --epochs 1 -j 0 -p 1",
        r"\* +Acc@1",
        sizes=(("1281167", "16"), ("50000", "8")),
    ),
    _example(
        "dcgan",
        "--dataset fake --dry-run --accel --workers 0 --ngf 8 --ndf 8 --batchSize 4",
        r"Loss_D: \d",
    ),
    Case(
        "nanoGPT",
        "train.py config/train_shakespeare_char.py " + _NANOGPT,
        (r"step 20: train loss \d",),
        checkout="nanoGPT",
        file="train.py",
        prepare=_shakespeare,
        first="data/shakespeare_char/prepare.py",
    ),
    Case(
        "minGPT",
        "projects/adder/adder.py --trainer.device=mps --trainer.max_iters=30 "
        "--trainer.num_workers=0",
        (r"running on device\s+mps", r"iter 20: train loss \d"),
        checkout="minGPT",
        file="projects/adder/adder.py",
    ),
)
