"""spaCy and thinc: prefer_gpu() finds mps; a wrapped torch layer and a text classifier learn."""

import numpy as np
import spacy
import torch
from spacy.training import Example
from thinc.api import Adam, PyTorchWrapper, get_current_ops

assert spacy.prefer_gpu()
assert get_current_ops().name == "mps"

layer = PyTorchWrapper(torch.nn.Linear(4, 1))
x = np.ones((3, 4), dtype="float32")
layer.initialize(X=x)
optimizer = Adam(0.1)
for _ in range(50):
    y, back = layer(x, is_train=True)
    back(y - 1)
    layer.finish_update(optimizer)
assert abs(layer.predict(x) - 1).max() < 0.1, layer.predict(x)
assert {parameter.device.type for parameter in layer.shims[0]._model.parameters()} == {"mps"}

nlp = spacy.blank("en")
nlp.add_pipe("textcat")
texts = {"we win": {"good": 1.0, "bad": 0.0}, "we lose": {"good": 0.0, "bad": 1.0}}
examples = [Example.from_dict(nlp.make_doc(text), {"cats": cats}) for text, cats in texts.items()]
optimizer = nlp.initialize(lambda: examples)
for _ in range(20):
    nlp.update(examples, sgd=optimizer)
assert nlp("we win").cats["good"] > 0.9
print("PASS")
