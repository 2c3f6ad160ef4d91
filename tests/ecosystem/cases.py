"""The programs of scripts/ecosystem: where each comes from, what it needs, what it must print."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from . import fixtures, glue

HERE = Path(__file__).parent


def _nothing(work: Path) -> None:
    pass


@dataclass(frozen=True)
class Case:
    """One program, and the folder of its own that it runs in: the case's work folder."""

    name: str
    # Arguments of Python, for one process after another. {copy} is the copied part of the checkout,
    # {work} the work folder.
    commands: tuple[str, ...]
    # What they print: regular expressions, all of which are found.
    prints: tuple[str, ...] = (r"^PASS$",)
    # The library that pip installed, and the checkout of it that is taken instead if there is one.
    package: str = ""
    source: str = ""
    # The checkout it is from, its part that is copied into the work folder, and a file there.
    checkout: str = ""
    part: str = "."
    file: str = ""
    # Whether the commands run in the copy, or in the work folder itself.
    in_copy: bool = True
    # Writes data into the work folder, once the copy is there.
    prepare: Callable[[Path], None] = _nothing
    # Sizes in the program's text that no argument changes: before, after.
    sizes: tuple[tuple[str, str], ...] = ()
    # Whether these processes themselves are the ones that use the device.
    uses_mps: bool = True
    # More arguments that make the last command run on the CPU, and the number that must be the
    # same there.
    on_cpu: str = ""
    same: str = ""


def _library(name: str, program: str, *, source: str = "") -> Case:
    return Case(name, (str(HERE / "programs" / f"{program}.py"),), package=name, source=source)


def _tests(name: str, package: str, file: str) -> Case:
    """Tests of the suite; they look at the device themselves, some in processes of their own."""
    command = f"-m pytest -q -p no:cacheprovider {HERE / file}"
    return Case(name, (command,), (r"^\d+ passed in",), package=package, uses_mps=False)


def _glue(more: str = "", *, script: str = "run_glue.py", on_cpu: str = "") -> Case:
    with_trainer = script == "run_glue.py"
    published = glue.PUBLISHED if with_trainer else glue.PUBLISHED_LOOP
    says = (r"eval_accuracy\s*=\s*(0\.9|1\.)", r"device: mps")
    return Case(
        f"{script} {more}".strip(),
        (f"{{copy}}/{script} {published} {{work}}/mrpc/ {more}".strip(),),
        says if with_trainer else (r"epoch 2: \{'accuracy': (0\.9|1\.)", r"Device: mps"),
        checkout="transformers",
        part="examples/pytorch/text-classification",
        file=script,
        in_copy=False,
        prepare=glue.prepare,
        on_cpu=on_cpu,
        same=r"train_loss\s*=\s*([\d.]+)",
    )


def _launched(case: Case) -> Case:
    (command,) = case.commands
    by_module = f"-m accelerate.commands.launch {command}"
    return replace(case, name=f"accelerate launch {case.name}", commands=(by_module,))


def _example(
    part: str,
    arguments: str,
    prints: str,
    *,
    then: tuple[str, ...] = (),
    prepare: Callable[[Path], None] = _nothing,
    sizes: tuple[tuple[str, str], ...] = (),
) -> Case:
    return Case(
        f"examples/{part}",
        (f"main.py {arguments}", *then),
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
        then=("generate.py --accel --data data/tiny --words 100",),
        prepare=fixtures.words,
    )
    return replace(
        case, name=f"{case.name} {model}", prints=(*case.prints, "Generated 0/100 words")
    )


def _imagenet(model: str) -> Case:
    case = _example(
        "imagenet",
        f"--dummy -a {model} -b 4 --epochs 1 -j 0 -p 1",
        r"\* +Acc@1",
        sizes=(("1281167", "8"), ("50000", "4")),
    )
    return replace(case, name=f"{case.name} {model}")


_NANOGPT = (
    "train.py config/train_shakespeare_char.py --device=mps --block_size=32 --batch_size=4 "
    "--n_layer=2 --n_head=2 --n_embd=32 --max_iters=20 --lr_decay_iters=20 "
    "--eval_iters=2 --eval_interval=10"
)
_NANOGPT_SAMPLE = (
    "sample.py --out_dir=out-shakespeare-char --device=mps --num_samples=2 --max_new_tokens=50"
)


def _nanogpt(more: str) -> Case:
    return Case(
        f"nanoGPT {more}",
        ("data/shakespeare_char/prepare.py", f"{_NANOGPT} {more}", _NANOGPT_SAMPLE),
        (r"step 20: train loss \d", r"^-{15}$"),
        checkout="nanoGPT",
        file="train.py",
        prepare=fixtures.shakespeare,
    )


def _timm(script: str, arguments: str, prints: str, *, more: str = "") -> Case:
    command = f"{script} {arguments} --model resnet18 --img-size 64 --device mps {more}"
    return Case(
        f"pytorch-image-models/{script} {more}".strip(),
        (command.strip(),),
        (prints,),
        checkout="pytorch-image-models",
        file=script,
        prepare=fixtures.two_classes_of_images,
    )


_TIMM = (
    "--data-dir ../images --train-split train --val-split val --num-classes 2 -b 4 --epochs 1 -j 1"
)
_TIMM_SAYS = r"\*\*\* Best metric: \d"


CASES = (
    _tests("transformers", "transformers", "test_transformers.py"),
    _tests("transformers Trainer", "transformers", "test_glue.py"),
    _tests("accelerate", "accelerate", "test_accelerate.py"),
    _tests("lightning", "lightning", "test_lightning.py"),
    _tests("safetensors", "safetensors", "test_safetensors.py"),
    _library("peft", "peft_lora"),
    _library("timm", "timm_models"),
    _library("diffusers", "diffusers_ddpm"),
    _library("keras", "keras_cnn"),
    _library("sentence-transformers", "sentence_transformers_encode"),
    _library("torch-geometric", "pyg_gcn"),
    _library("stable-baselines3", "sb3_ppo"),
    _library("spacy", "spacy_gpu"),
    _library("ultralytics", "ultralytics_yolo", source="ultralytics"),
    _glue(on_cpu="--use_cpu --output_dir {work}/on-cpu"),
    _glue("--fp16"),
    _glue("--bf16"),
    _glue("--gradient_checkpointing"),
    _glue("--dataloader_num_workers 2"),
    _glue("--torch_compile"),
    _glue(script="run_glue_no_trainer.py"),
    _launched(_glue(script="run_glue_no_trainer.py")),
    _example(
        "mnist",
        "--epochs 2 --batch-size 64 --test-batch-size 64",
        r"Accuracy: \d+/256 \((9\d|100)%\)",
        prepare=fixtures.mnist,
    ),
    _example(
        "mnist_rnn", "--accel --epochs 1", r"Accuracy: \d+/256 \(\d+%\)", prepare=fixtures.mnist
    ),
    _example(
        "siamese_network", "--epochs 1", r"Accuracy: \d+/256 \(\d+%\)", prepare=fixtures.mnist
    ),
    _example("vae", "--epochs 1", r"Test set loss: \d", prepare=fixtures.mnist),
    _words("LSTM"),
    _words("GRU"),
    _words("RNN_TANH"),
    _words("Transformer"),
    _imagenet("resnet18"),
    _imagenet("resnet50"),
    _imagenet("vgg16"),
    _example(
        "dcgan",
        "--dataset fake --dry-run --accel --workers 0 --ngf 8 --ndf 8 --batchSize 4",
        r"Loss_D: \d",
    ),
    _nanogpt("--compile=False"),
    _nanogpt("--compile=True"),
    Case(
        "minGPT",
        (
            "projects/adder/adder.py --trainer.device=mps --trainer.max_iters=30 "
            "--trainer.num_workers=0",
        ),
        (r"running on device\s+mps", r"iter 20: train loss \d"),
        checkout="minGPT",
        file="projects/adder/adder.py",
    ),
    _timm("train.py", _TIMM, _TIMM_SAYS),
    _timm("train.py", _TIMM, _TIMM_SAYS, more="--amp --amp-dtype bfloat16"),
    _timm("benchmark.py", "--bench train -b 2 --num-bench-iter 10", r'"train_samples_per_sec": \d'),
)
