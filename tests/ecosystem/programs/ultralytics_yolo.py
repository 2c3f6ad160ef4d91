"""Ultralytics: a small YOLO trains, is validated and predicts."""

import tempfile
from pathlib import Path

import numpy as np
from PIL import Image
from ultralytics import YOLO

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    dice = np.random.default_rng(0)
    for split, count in (("train", 8), ("val", 4)):
        (folder / "images" / split).mkdir(parents=True)
        (folder / "labels" / split).mkdir(parents=True)
        for n in range(count):
            pixels = dice.integers(0, 255, (64, 64, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / "images" / split / f"{n}.jpg")
            (folder / "labels" / split / f"{n}.txt").write_text("0 0.5 0.5 0.4 0.4\n")
    data = folder / "data.yaml"
    data.write_text(f"path: {folder}\ntrain: images/train\nval: images/val\nnames:\n  0: thing\n")
    model = YOLO("yolo11n.yaml")
    model.train(
        data=str(data),
        device="mps",
        epochs=1,
        imgsz=64,
        batch=4,
        workers=0,
        plots=False,
        amp=False,
        project=str(folder / "runs"),
    )
    assert model.trainer.device.type == "mps"
    weights = model.trainer.model.parameters()
    assert all(weight.device.type == "mps" and weight.isfinite().all() for weight in weights)
    found = model.predict(str(folder / "images" / "val" / "0.jpg"), device="mps", imgsz=64)
    assert len(found) == 1
print("PASS")
