"""Keras on torch: picks mps by itself, learns, is saved and loaded."""

import os
import tempfile
from pathlib import Path

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np

keras.utils.set_random_seed(0)
y = np.arange(128) % 4
x = np.random.default_rng(0).normal(size=(128, 8, 8, 1)).astype("float32") * 0.1
x[np.arange(128), y * 2, :, 0] += 1.0
model = keras.Sequential(
    [
        keras.layers.Input((8, 8, 1)),
        keras.layers.Conv2D(8, 3, activation="relu"),
        keras.layers.Flatten(),
        keras.layers.Dense(4, activation="softmax"),
    ]
)
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
history = model.fit(x, y, epochs=10, batch_size=16, verbose=0)
assert history.history["accuracy"][-1] > 0.9, history.history
assert model.weights[0].value.device.type == "mps", model.weights[0].value.device
with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "model.keras"
    model.save(file)
    loaded = keras.models.load_model(file)
assert np.allclose(loaded.predict(x, verbose=0), model.predict(x, verbose=0), atol=1e-6)
print("PASS")
