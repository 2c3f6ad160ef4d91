"""What `run_glue.py --task_name mrpc` downloads, made here: a model, a metric, a data set.

Each library looks for a local folder of the asked name first, so that the published command line
works without a network, word for word. The data can be learnt: one word of the second sentence
decides the label. As the published model, this one has seen such text before and knows nothing of
the task: half of its first answers are right. It has no dropout, whose numbers differ between a Mac
and a CPU.
"""

from __future__ import annotations

import csv
import random
import string
from pathlib import Path
from typing import Any

# As the folder of run_glue.py tells it; the folder for results, which is its reader's, comes next.
PUBLISHED = (
    "--model_name_or_path google-bert/bert-base-cased --task_name mrpc --do_train --do_eval "
    "--max_seq_length 128 --per_device_train_batch_size 32 --learning_rate 2e-5 "
    "--num_train_epochs 3 --output_dir"
)
# The same for run_glue_no_trainer.py.
PUBLISHED_LOOP = (
    "--model_name_or_path google-bert/bert-base-cased --task_name mrpc --max_length 128 "
    "--per_device_train_batch_size 32 --learning_rate 2e-5 --num_train_epochs 3 --output_dir"
)
_MODEL = "google-bert/bert-base-cased"

_SENTENCE = "the a team game player coach crowd city said on in at of after before again"
_WORDS = _SENTENCE.split()
_LABELS = {1: "win", 0: "loss"}

_METRIC = """
import datasets
import evaluate
from sklearn.metrics import accuracy_score
from sklearn.metrics import f1_score


class Glue(evaluate.Metric):
    def _info(self):
        features = datasets.Features(
            {"predictions": datasets.Value("int64"), "references": datasets.Value("int64")}
        )
        return evaluate.MetricInfo(
            description="", citation="", inputs_description="", features=features
        )

    def _compute(self, predictions, references):
        return {
            "accuracy": float(accuracy_score(references, predictions)),
            "f1": float(f1_score(references, predictions)),
        }
"""

_CARD = """---
configs:
- config_name: mrpc
  data_files:
  - split: train
    path: mrpc/train.csv
  - split: validation
    path: mrpc/validation.csv
  - split: test
    path: mrpc/test.csv
dataset_info:
- config_name: mrpc
  features:
  - name: sentence1
    dtype: string
  - name: sentence2
    dtype: string
  - name: label
    dtype:
      class_label:
        names:
          '0': not_equivalent
          '1': equivalent
  - name: idx
    dtype: int32
---
"""


def environment(folder: Path) -> dict[str, str]:
    """Nothing is looked for elsewhere; caches are new, as data sets are cached by name."""
    return {
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_OFFLINE": "1",
        "HF_EVALUATE_OFFLINE": "1",
        "HF_HOME": str(folder / "hf"),
        "TOKENIZERS_PARALLELISM": "false",
    }


def prepare(folder: Path) -> None:
    """Writes google-bert/bert-base-cased/, glue/ and nyu-mll/glue/ into `folder`."""
    write_trained_body(folder / _MODEL)
    (folder / "glue").mkdir()
    (folder / "glue" / "glue.py").write_text(_METRIC)
    data = folder / "nyu-mll" / "glue"
    (data / "mrpc").mkdir(parents=True)
    (data / "README.md").write_text(_CARD)
    dice = random.Random(0)
    for split, rows in (("train", 256), ("validation", 64), ("test", 16)):
        _write_rows(data / "mrpc" / f"{split}.csv", rows, dice)


def _write_rows(file: Path, rows: int, dice: random.Random) -> None:
    with file.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(("sentence1", "sentence2", "label", "idx"))
        for row in range(rows):
            writer.writerow((*_sentences(row % 2, dice), row % 2, row))


def _sentences(label: int, dice: random.Random) -> tuple[str, str]:
    first, second = dice.choices(_WORDS, k=6), dice.choices(_WORDS, k=6)
    second.insert(dice.randrange(7), _LABELS[label])
    return " ".join(first), " ".join(second)


def write_tokenizer(folder: Path) -> int:
    """A tokenizer of the fixture's words and of letters; the size of its vocabulary."""
    from transformers import BertTokenizerFast

    folder.mkdir(parents=True, exist_ok=True)
    letters = [letter for letter in string.ascii_letters if letter not in _WORDS]
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *_LABELS.values(), *_WORDS]
    tokens += [*letters, *(f"##{letter}" for letter in letters)]
    (folder / "vocab.txt").write_text("\n".join(tokens) + "\n")
    tokenizer = BertTokenizerFast(
        vocab=str(folder / "vocab.txt"), do_lower_case=False, model_max_length=512
    )
    tokenizer.save_pretrained(folder)
    return len(tokens)


def write_model(folder: Path) -> None:
    """A small BERT with random weights and its tokenizer."""
    _model(write_tokenizer(folder)).save_pretrained(folder)


def write_trained_body(folder: Path) -> None:
    """The same after some training, with a head that knows nothing again."""
    import torch
    from transformers import AutoTokenizer

    model = _model(write_tokenizer(folder))
    tokenizer = AutoTokenizer.from_pretrained(folder)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    dice = random.Random(1)
    labels = [0, 1] * 16
    for _ in range(40):
        pairs = [_sentences(label, dice) for label in labels]
        tokens = tokenizer(pairs, padding=True, return_tensors="pt")
        loss = model(**tokens, labels=torch.tensor(labels)).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.nn.init.zeros_(model.classifier.weight)
    torch.nn.init.zeros_(model.classifier.bias)
    model.save_pretrained(folder)


def _model(vocabulary: int) -> Any:
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    return BertForSequenceClassification(
        BertConfig(
            vocab_size=vocabulary,
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=128,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
    )
