"""sentence-transformers: picks mps by itself and encodes as on the CPU."""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import glue
import numpy as np
from sentence_transformers import SentenceTransformer, util

try:
    from sentence_transformers.models import Pooling, Transformer
except ImportError:
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

with tempfile.TemporaryDirectory() as folder:
    glue.write_model(Path(folder))
    words = Transformer(folder)
    size = words.auto_model.config.hidden_size
    model = SentenceTransformer(modules=[words, Pooling(size)])
    assert model.device.type == "mps", model.device
    texts = ["the team win the game", "loss in the city", "a coach said"]
    here = model.encode(texts)
    there = model.to("cpu").encode(texts, device="cpu")
assert np.allclose(here, there, atol=1e-5)
assert util.cos_sim(here, here).shape == (3, 3)
print("PASS")
