"""The steps of run_glue.py by the libraries' public names, for machines without its checkout.

    python glue_program.py --output_dir FOLDER [training arguments]

Runs in a folder that glue.prepare() filled, and prints a line of JSON.
"""

from __future__ import annotations

import json

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


def main() -> None:
    (options,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
    set_seed(options.seed)
    data = load_dataset("nyu-mll/glue", "mrpc")
    model = AutoModelForSequenceClassification.from_pretrained("bert-base-cased")
    tokenizer = AutoTokenizer.from_pretrained("bert-base-cased")
    metric = evaluate.load("glue", "mrpc")

    def tokens(rows: dict[str, list[str]]) -> dict[str, list[list[int]]]:
        return tokenizer(
            rows["sentence1"],
            rows["sentence2"],
            padding="max_length",
            max_length=64,
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
    loss = trainer.train().training_loss
    told = {"device": str(options.device), "train_loss": loss, **trainer.evaluate()}
    print("RESULT", json.dumps(told))


if __name__ == "__main__":
    main()
