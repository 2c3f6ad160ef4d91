"""Optimizers as they come: a Mac takes one weight after the other, here a step takes all at once.

For engines whose device has kernels for lists (csrc/operators/foreach.cpp). What can be seen stays
a Mac's: the largest weights go through PyTorch's loop, so that memory in use reaches what a Mac's
would, and the results that only the lists need are not counted. Whoever looks at operators
(dispatch modes, profilers, the ledger, compilers) sees the loop.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openmps.device.core_interface import Core
    from openmps.device.patches import Patch

_LOOP, _LISTS = "_single_tensor_", "_multi_tensor_"
# Fewer are not worth it.
_FEWEST = 3
# What such weights need for a moment is lost in a Mac's heaps.
_SMALL_BYTES = 1 << 18


def patches(core: Core) -> list[Patch]:
    """Of every optimizer of torch that has both forms."""
    from openmps.device.patches import Patch

    why = "a loop over the weights, where the engine's device has kernels for all of them"
    table = []
    for module in optimizer_modules():
        for name, loop in list(vars(module).items()):
            lists = getattr(module, name.replace(_LOOP, _LISTS), None)
            if name.startswith(_LOOP) and lists is not None:
                table.append(Patch(module, name, grouped(core, loop, lists), why))
    return [*table, *_averaging_patches()]


def clipping_patches(core: Core) -> list[Patch]:
    """Norms of all gradients at once, where nobody says how: PyTorch does so on the CPU, too."""
    from torch.nn.utils import clip_grad

    from openmps.device.patches import Patch

    why = "its loop over the gradients is a Mac's; the same norms come from one operator"
    has_support = getattr(clip_grad, "_has_foreach_support", None)
    if has_support is None:
        return []

    def has_foreach_support(tensors: Sequence[Any], device: Any) -> bool:
        if has_support(tensors, device):
            return True
        return device.type == "mps" and not _is_watched() and core.may_group([list(tensors)])

    return [Patch(clip_grad, "_has_foreach_support", has_foreach_support, why)]


def _averaging_patches() -> list[Patch]:
    from torch.optim import swa_utils

    from openmps.device.patches import Patch

    name = "_get_foreach_kernels_supported_devices"
    supported = getattr(swa_utils, name, None)
    if supported is None:
        return []
    why = "averages of weights, too, are a loop on a Mac"
    return [
        Patch(swa_utils, name, lambda: [*supported(), *([] if _is_watched() else ["mps"])], why)
    ]


def optimizer_modules() -> list[ModuleType]:
    import torch.optim

    prefix = torch.optim.__name__ + "."
    return [module for name, module in sorted(sys.modules.items()) if name.startswith(prefix)]


def grouped(
    core: Core, loop: Callable[..., None], lists: Callable[..., None]
) -> Callable[..., None]:
    """`loop`, or `lists` where nobody can tell the difference."""

    def step(params: list[Any], *arguments: Any, **options: Any) -> None:
        per_weight = [params, *(a for a in arguments if isinstance(a, list) and a)]
        if not _may_group(core, per_weight, options):
            loop(params, *arguments, **options)
            return
        alone = _largest_neighbours(params)
        rest = [i for i in range(len(params)) if i not in alone]
        before = core.count_results(False)
        try:
            _call(lists, rest, params, arguments, options)
        finally:
            core.count_results(before)
        if alone:
            _call(loop, alone, params, arguments, options)

    step.loop = loop  # type: ignore[attr-defined]  # for whoever wants to compare
    return step


def _largest_neighbours(params: list[Any]) -> list[int]:
    """Where the loop's memory is highest: two results as large as a weight, while Python still
    holds one as large as the weight before. Nothing, if all are small."""
    sizes = [param.numel() * param.itemsize for param in params]
    if max(sizes) <= _SMALL_BYTES:
        return []
    last = max(range(1, len(sizes)), key=lambda i: 2 * sizes[i] + sizes[i - 1])
    return [last - 1, last]


def _call(
    function: Callable[..., None],
    places: list[int],
    params: list[Any],
    arguments: Sequence[Any],
    options: dict[str, Any],
) -> None:
    """With these places of all lists. What it puts into a list goes into the caller's."""
    parts = [
        [a[i] for i in places] if isinstance(a, list) and a else a for a in (params, *arguments)
    ]
    function(*parts, **options)
    for given, part in zip((params, *arguments), parts, strict=True):
        if isinstance(given, list) and given:
            for place, value in zip(places, part, strict=True):
                given[place] = value


def _may_group(core: Core, lists: list[list[Any]], options: dict[str, Any]) -> bool:
    import torch

    if len(lists) < 2 or len(lists[0]) < _FEWEST:
        return False
    # Where the two forms differ in what they take, the loop says so.
    if options.get("capturable") or options.get("differentiable"):
        return False
    if any(isinstance(value, torch.Tensor) for value in options.values()) or _is_watched():
        return False
    # A first step makes its state (a None in a list): that is memory which stays.
    return core.may_group(lists)


def _is_watched() -> bool:
    """By somebody to whom a loop and a list are not the same."""
    import torch

    return bool(
        torch.compiler.is_compiling()
        or torch._C._len_torch_dispatch_stack()
        or torch._C._functorch.maybe_current_level() is not None
        or torch._C._autograd._profiler_enabled()
    )
