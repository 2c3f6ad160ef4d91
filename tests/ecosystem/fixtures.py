"""Data for programs that would download theirs: patterns instead of digits, made-up sentences."""

from __future__ import annotations

import random
import struct
from pathlib import Path


def mnist(work: Path) -> None:
    """Ten patterns, as the files that torchvision would have downloaded."""
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


def words(work: Path) -> None:
    folder = work / "word_language_model" / "data" / "tiny"
    folder.mkdir(parents=True)
    for split, rows in (("train", 200), ("valid", 60), ("test", 60)):
        (folder / f"{split}.txt").write_text(_text(rows))


def shakespeare(work: Path) -> None:
    (work / "nanoGPT" / "data" / "shakespeare_char" / "input.txt").write_text(_text(400))


def two_classes_of_images(work: Path) -> None:
    """Dark and bright ones, in a folder for each split and class."""
    from PIL import Image

    dice = random.Random(0)
    for split, count in (("train", 8), ("val", 4)):
        for name, least in (("dark", 0), ("bright", 128)):
            folder = work / "images" / split / name
            folder.mkdir(parents=True)
            for number in range(count):
                pixels = bytes(least + dice.randrange(128) for _ in range(64 * 64 * 3))
                Image.frombytes("RGB", (64, 64), pixels).save(folder / f"{number}.png")
