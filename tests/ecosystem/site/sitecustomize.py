"""Lets a torchvision made for CUDA be imported with a CPU build of torch, for scripts/ecosystem.

Its Python code needs operators that its compiled part, which cannot load, would define. Python
runs this file at its start, since the script puts this folder on PYTHONPATH.
"""

import ctypes
import sys
from pathlib import Path


def _nms(boxes, scores, iou_threshold):
    import torch

    order = scores.argsort(descending=True, stable=True).tolist()
    corners = boxes.tolist()
    kept = []
    for index in order:
        if all(_overlap(corners[index], corners[other]) <= iou_threshold for other in kept):
            kept.append(index)
    return torch.tensor(kept, dtype=torch.int64, device=boxes.device)


def _overlap(a, b):
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    common = max(width, 0) * max(height, 0)
    areas = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1])
    return common / (areas - common) if common else 0.0


def _compiled_part_loads(folder):
    import torch  # noqa: F401  # its libraries must be there first

    try:
        for file in Path(folder).glob("_C*.so"):
            ctypes.CDLL(str(file))
    except OSError:
        return False
    return True


class _Torchvision:
    """Finds nothing: looks on as torchvision's modules are imported, the first of them first."""

    library = None

    def find_spec(self, name, path=None, target=None):
        if name == "torchvision.extension" and self.library is None:
            (folder,) = path
            if not _compiled_part_loads(folder):
                self.define()
        elif name == "torchvision.ops" and self.library is not None:
            sys.modules["torchvision.extension"]._has_ops = lambda: True

    def define(self):
        import torch

        arguments = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
        self.library = torch.library.Library("torchvision", "DEF")
        self.library.define("nms" + arguments)
        self.library.define("qnms" + arguments)
        self.library.define("_cuda_version() -> int")
        self.library.impl("_cuda_version", lambda: -1, "CompositeImplicitAutograd")
        self.library.impl("nms", _nms, "CompositeExplicitAutograd")


sys.meta_path.insert(0, _Torchvision())
