"""The steps of run_glue.py by the libraries' public names, for machines without its checkout.

    python glue_program.py [run_glue.py's arguments]

Runs in a folder that glue.prepare() filled, and prints a line of JSON.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import evaluate
import numpy as np
from datasets import load_dataset
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    HfArgumentParser,
    Trainer,
    TrainingArguments,
    set_seed,
)


@dataclass
class Task:
    model_name_or_path: str
    task_name: str
    max_seq_length: int


def main() -> None:
    task, options = HfArgumentParser((Task, TrainingArguments)).parse_args_into_dataclasses()
    set_seed(options.seed)
    data = load_dataset("nyu-mll/glue", task.task_name)
    model = AutoModelForSequenceClassification.from_pretrained(task.model_name_or_path)
    tokenizer = AutoTokenizer.from_pretrained(task.model_name_or_path)
    metric = evaluate.load("glue", task.task_name)

    def tokens(rows: dict[str, list[str]]) -> dict[str, list[list[int]]]:
        return tokenizer(
            rows["sentence1"],
            rows["sentence2"],
            padding="max_length",
            max_length=task.max_seq_length,
            truncation=True,
        )

    data = data.map(tokens, batched=True)
    trainer = Trainer(
        model=model,
        args=options,
        train_dataset=data["train"],
        eval_dataset=data["validation"],
        compute_metrics=lambda found: metric.compute(
            predictions=np.argmax(found.predictions, axis=1), references=found.label_ids
        ),
        processing_class=tokenizer,
    )
    before = trainer.evaluate()["eval_accuracy"]
    loss = trainer.train().training_loss
    told = {"device": str(options.device), "before": before, "train_loss": loss}
    told |= trainer.evaluate()
    print("RESULT", json.dumps(told))


if __name__ == "__main__":
    main()
