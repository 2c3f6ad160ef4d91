"""Random programs, each from its seed. A program is run on the CPU while it is made: what is known
of its tensors decides what may come next."""

from __future__ import annotations

import itertools
import random
import warnings
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import torch

from .observe import call
from .program import Input, OnCpu, OnesLike, Program, Step, Var, database, resolve, tensors_of

# Other numbers on each device, or none at all.
RANDOM = {
    "bernoulli", "cauchy", "empty", "empty_like", "empty_permuted", "empty_strided", "exponential",
    "geometric", "log_normal", "multinomial", "new_empty", "new_empty_strided",
    "nn.functional.alpha_dropout", "nn.functional.dropout", "nn.functional.dropout2d",
    "nn.functional.dropout3d", "nn.functional.feature_alpha_dropout",
    "nn.functional.fractional_max_pool2d", "nn.functional.fractional_max_pool3d",
    "nn.functional.rrelu", "normal", "pca_lowrank", "rand_like", "randint", "randint_like", "randn",
    "randn_like", "svd_lowrank", "uniform",
}  # fmt: skip
# For other devices, or for layouts that a Mac has not.
ELSEWHERE = {
    "jiterator_unary", "jiterator_binary", "jiterator_4inputs_with_extra_args",
    "jiterator_binary_return_by_ref", "jiterator_2inputs_2outputs", "sparse.mm.reduce",
    "sparse.sampled_addmm", "to_sparse", "tensor_split",
    "nn.functional.multi_head_attention_forward",  # whose samples drop out
}  # fmt: skip

# Whose CPU kernels write beyond the end of an `out` whose batches are not contiguous.
NEEDS_DENSE_OUT = {"tril", "triu"}

FLOATS = [torch.float32, torch.float16, torch.bfloat16]
DTYPES = {
    torch.float32: 10, torch.float16: 3, torch.bfloat16: 3, torch.complex64: 3, torch.int64: 3,
    torch.int32: 2, torch.uint8: 1, torch.int8: 1, torch.int16: 1, torch.bool: 2,
}  # fmt: skip
SAMPLES = 24
ELEMENTS = 4096
UNARY = (
    "torch.sin", "torch.exp", "torch.neg", "torch.abs", "torch.sqrt", "torch.sign", "torch.square",
    "torch.tanh", "torch.sigmoid", "torch.nn.functional.relu", "torch.nn.functional.gelu",
    "torch.nn.functional.silu", "torch.floor", "torch.reciprocal", "torch.log1p", "torch.erf",
)  # fmt: skip
BINARY = (
    "torch.add", "torch.sub", "torch.mul", "torch.div", "torch.maximum", "torch.minimum",
    "torch.eq", "torch.lt", "torch.pow", "torch.remainder", "torch.fmod", "torch.atan2",
    "torch.floor_divide", "torch.hypot", "torch.logaddexp", "torch.copysign",
)  # fmt: skip
REDUCTIONS = (
    "torch.sum", "torch.mean", "torch.amax", "torch.amin", "torch.prod", "torch.std", "torch.var",
    "torch.logsumexp", "torch.all", "torch.any", "torch.argmax", "torch.cumsum", "torch.sort",
    "torch.softmax", "torch.nansum", "torch.median", "torch.norm", "torch.count_nonzero",
)  # fmt: skip
IN_PLACE_UNARY = ("sin_", "neg_", "abs_", "tanh_", "relu_", "zero_", "sigmoid_", "square_", "exp_")
IN_PLACE_BINARY = ("add_", "sub_", "mul_", "div_", "copy_", "pow_", "remainder_", "eq_", "lt_")

_samples: dict[tuple[str, torch.dtype], list[Any]] = {}


class Refused(Exception):
    """What was chosen does not go here: something else is chosen."""


def names() -> list[str]:
    return [
        name
        for name, op in database().items()
        if name not in RANDOM and op.name not in RANDOM and name not in ELSEWHERE
    ]


def samples_of(name: str, dtype: torch.dtype) -> list[Any]:
    """The same ones in each process: their values come from the name."""
    key = (name, dtype)
    if key not in _samples:
        state = torch.get_rng_state()
        seeds = random.getstate()
        torch.manual_seed(zlib.crc32(f"{name} {dtype}".encode()))
        random.seed(0)
        try:
            made = database()[name].sample_inputs("cpu", dtype)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                _samples[key] = [s for s in itertools.islice(made, SAMPLES) if _is_plain(s)]
        except Exception:
            _samples[key] = []
        finally:
            torch.set_rng_state(state)
            random.setstate(seeds)
    return _samples[key]


def _is_plain(sample: Any) -> bool:
    tensors = tensors_of([sample.input, sample.args, sample.kwargs])
    given = dict(sample.kwargs or {})
    if given.get("device") is not None or given.get("dropout_p") or "generator" in given:
        return False  # elsewhere, or at random
    return all(
        t.layout == torch.strided and not t.is_quantized and t.numel() <= ELEMENTS for t in tensors
    )


def generate(seed: int, operators: Sequence[str] | None = None) -> Program:
    """operators: those of the database to draw from, or all."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _Maker(seed, operators or names()).program()


class _Maker:
    def __init__(self, seed: int, operators: Sequence[str]) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        self.operators = operators
        self.inputs: list[Input] = []
        self.steps: list[Step] = []
        self.variables: dict[Var, torch.Tensor] = {}
        self.differentiates = self.random.random() < 0.4
        torch.manual_seed(seed)

    def program(self) -> Program:
        wanted = self.random.randint(1, 4)
        for _ in range(wanted * 4):
            action = self.random.choices(
                (self.operator, self.pointwise, self.reduce, self.view, self.write, self.index,
                 self.transform),
                (10, 3, 2, 4, 3, 2, 1),
            )[0]  # fmt: skip
            try:
                action()
                wanted -= 1
            except Refused:
                continue
            if wanted == 0:
                break
        if self.differentiates:
            self.differentiate()
        return Program(tuple(self.inputs), tuple(self.steps), f"seed {self.seed}")

    # ---- what makes variables

    def add_input(self, value: torch.Tensor) -> Var:
        var = Var(len(self.variables))
        value = value.detach().clone().contiguous()
        floating = value.is_floating_point() or value.is_complex()
        grad = self.differentiates and floating and self.random.random() < 0.8
        self.inputs.append(Input(var, value, grad))
        self.variables[var] = value.clone().requires_grad_(grad)
        return var

    def add_step(self, function: str, *args: Any, may_fail: bool = False, **kwargs: Any) -> Any:
        """Returns the variables it makes. A step that the CPU refuses is left out, mostly."""
        step = Step(function, args, kwargs)
        try:
            made = tensors_of(call(step, self.variables))
        except Exception as error:
            if not (may_fail and self.random.random() < 0.05):
                raise Refused from error
            self.steps.append(step)
            return ()
        if any(t.numel() > 1 << 20 or t.device.type != "cpu" for t in made):
            raise Refused
        first = len(self.variables)
        results = tuple(Var(first + i) for i in range(len(made)))
        self.variables.update(zip(results, made, strict=True))
        self.steps.append(Step(function, args, kwargs, results))
        return results

    def some(self, fits: Callable[[torch.Tensor], bool] = lambda t: True) -> Var:
        """A variable, or a new input of a random shape."""
        known = [v for v, t in self.variables.items() if t.layout == torch.strided and fits(t)]
        if known and self.random.random() < 0.85:
            return self.random.choice(known)
        var = self.lay_out(self.add_input(self.values(self.shape(), self.dtype())))
        if not fits(self.variables[var]):
            raise Refused
        return var

    def dtype(self) -> torch.dtype:
        dtypes = FLOATS if self.differentiates else list(DTYPES)
        return self.random.choices(dtypes, [DTYPES[d] for d in dtypes])[0]

    def shape(self) -> tuple[int, ...]:
        sizes = (0, 1, 1, 2, 3, 3, 4, 5, 7, 8, 16)
        return tuple(
            self.random.choice(sizes) for _ in range(self.random.choice((0, 1, 2, 2, 3, 4)))
        )

    def values(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        if dtype == torch.bool:
            return torch.rand(shape) < 0.5
        if not (dtype.is_floating_point or dtype.is_complex):
            return torch.randint(0 if dtype == torch.uint8 else -9, 10, shape).to(dtype)
        values = torch.randn(shape, dtype=torch.complex64 if dtype.is_complex else torch.float32)
        if not self.differentiates and values.numel() and self.random.random() < 0.1:
            flat = values.view(-1)
            flat[self.random.randrange(flat.numel())] = self.random.choice(
                (float("nan"), float("inf"), -float("inf"), 0.0, -0.0)
            )
        return values.to(dtype)

    def lay_out(self, var: Var) -> Var:
        """The same values, or some of them, elsewhere in memory."""
        tensor = self.variables[var]
        dims = tensor.dim()
        layout = self.random.choice(
            ("", "", "", "turned", "apart", "behind", "spread", "last", "flag")
        )
        if not tensor.numel():
            return var
        if layout == "turned" and dims >= 2:
            order = self.random.sample(range(dims), dims)
            back = [order.index(d) for d in range(dims)]
            (turned,) = self.add_step("torch.permute", var, tuple(order))
            (dense,) = self.add_step("torch.Tensor.contiguous", turned)
            return self.add_step("torch.permute", dense, tuple(back))[0]
        if layout == "apart" and dims:
            dim = self.random.randrange(dims)
            (wide,) = self.add_step("torch.Tensor.repeat_interleave", var, 2, dim)
            index = (slice(None),) * dim + (slice(None, None, 2),)
            return self.add_step("torch.Tensor.__getitem__", wide, index)[0]
        if layout == "behind" and dims:
            (twice,) = self.add_step("torch.cat", [var, var], 0)
            size = tensor.size(0)
            return self.add_step("torch.narrow", twice, 0, size, size)[0]
        if layout == "spread" and dims:
            dim = self.random.randrange(dims)
            (one,) = self.add_step("torch.narrow", var, dim, 0, 1)
            return self.add_step("torch.Tensor.expand", one, tuple(tensor.shape))[0]
        if layout == "last" and dims == 4:
            return self.add_step("torch.Tensor.contiguous", var, memory_format=torch.channels_last)[
                0
            ]
        if layout == "flag":
            if tensor.is_complex():
                return self.add_step("torch.conj", var)[0]
            if tensor.is_floating_point():
                return self.add_step("torch._neg_view", var)[0]
        return var

    # ---- what a program does next

    def operator(self) -> None:
        """A sample of the database: as it is, in place, or with `out`."""
        name = self.random.choice(self.operators)
        op = database()[name]
        dtypes = [d for d in DTYPES if d in op.supported_dtypes("cpu")]
        if self.differentiates:
            dtypes = [d for d in dtypes if d in FLOATS or d.is_complex]
        if not dtypes:
            raise Refused
        dtype = self.random.choices(dtypes, [DTYPES[d] for d in dtypes])[0]
        samples = samples_of(name, dtype)
        if not samples:
            raise Refused
        sample = self.random.choice(samples)
        args = self.given((sample.input, *sample.args))
        kwargs = self.given(dict(sample.kwargs))
        way = self.random.random()
        if way < 0.15 and op.inplace_variant is not None and isinstance(args[0], Var):
            function = _expression_for(op.inplace_variant, name, "inplace_variant")
            target = self.writable(args[0])
            self.add_step(function, target, *args[1:], may_fail=True, **kwargs)
            return
        function = _expression_for(op.op, name, "op")
        made = self.add_step(function, *args, may_fail=True, **kwargs)
        if way > 0.9 and op.supports_out and len(made) == 1 and not self.differentiates:
            like = self.variables[made[0]]
            place = self.place_for(like, may_be_turned=name not in NEEDS_DENSE_OUT)
            self.add_step(function, *args, **kwargs, out=place, may_fail=True)

    def given(self, value: Any) -> Any:
        """A sample's arguments with variables for its tensors."""
        if isinstance(value, torch.Tensor):
            known = [
                var
                for var, t in self.variables.items()
                if t.shape == value.shape and t.dtype == value.dtype and t.layout == torch.strided
            ]
            floating = value.is_floating_point() or value.is_complex()
            if known and floating and self.random.random() < 0.4:
                return self.random.choice(known)
            if not isinstance(value, torch.nn.Parameter) and type(value) is not torch.Tensor:
                raise Refused
            return self.lay_out(self.add_input(value))
        if isinstance(value, dict):
            return {key: self.given(part) for key, part in value.items()}
        if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
            parts = [self.given(part) for part in value]
            return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
        return value

    def place_for(self, like: torch.Tensor, *, may_be_turned: bool) -> Var:
        """Of the right shape, dense or not; or one that has to be resized; or of another dtype."""
        kind = self.random.choice(("dense", "dense", "turned", "resized", "dtype"))
        if kind == "turned" and not may_be_turned:
            kind = "dense"
        if kind == "resized":
            return self.add_input(torch.zeros(0, dtype=like.dtype))
        dtype = like.dtype
        if kind == "dtype":
            dtype = self.random.choice([torch.float32, torch.float16, torch.complex64, torch.int64])
        place = self.add_input(torch.zeros(like.shape, dtype=dtype))
        if kind == "turned" and like.dim() >= 2:
            (turned,) = self.add_step("torch.transpose", place, 0, 1)
            (dense,) = self.add_step("torch.Tensor.contiguous", turned)
            return self.add_step("torch.transpose", dense, 0, 1)[0]
        return place

    def number(self, tensor: torch.Tensor) -> Any:
        if tensor.dtype == torch.bool:
            choices: tuple[Any, ...] = (True, False, 2, 0.5)
        elif tensor.is_floating_point() or tensor.is_complex():
            choices = (2, 0.5, -1.5, 3, True, 1e-3)
        else:
            choices = (2, -3, 1, 0.5, True, 7)
        number = self.random.choice(choices)
        if self.random.random() < 0.2:
            return OnCpu(torch.tensor(number))
        return number

    def pointwise(self) -> None:
        a = self.some()
        if self.random.random() < 0.4:
            self.add_step(self.random.choice(UNARY), a, may_fail=True)
            return
        tensor = self.variables[a]
        if self.random.random() < 0.4:
            other = self.number(tensor)
        else:
            other = self.some(lambda t: _broadcasts(t.shape, tensor.shape))
        pair = (a, other)
        if self.random.random() < 0.2 and isinstance(other, Var):
            pair = (other, a)
        self.add_step(self.random.choice(BINARY), *pair, may_fail=True)

    def reduce(self) -> None:
        var = self.some()
        function = self.random.choice(REDUCTIONS)
        dims = self.variables[var].dim()
        if dims == 0 or (
            self.random.random() < 0.3 and function not in ("torch.cumsum", "torch.softmax")
        ):
            self.add_step(function, var, may_fail=True)
            return
        dim = self.random.randrange(-dims, dims)
        kwargs: dict[str, Any] = {"dim": dim}
        if (
            function in ("torch.sum", "torch.amax", "torch.mean", "torch.std")
            and self.random.random() < 0.5
        ):
            kwargs["keepdim"] = True
        self.add_step(function, var, may_fail=True, **kwargs)

    def view(self) -> None:
        var = self.some()
        tensor = self.variables[var]
        dims = tensor.dim()
        choose = self.random
        ways: list[tuple[str, tuple[Any, ...]]] = [
            ("torch.unsqueeze", (choose.randint(0, dims),)),
            ("torch.Tensor.expand", ((2, *tensor.shape),)),
            ("torch.Tensor.view", (-1,)),
            ("torch.reshape", (-1,)),
            ("torch.squeeze", ()),
            ("torch.conj", ()),
            ("torch.Tensor.view_as", (var,)),
            ("torch.detach", ()),
            ("torch.alias_copy", ()),
        ]
        if dims:
            dim = choose.randrange(dims)
            size = tensor.size(dim)
            start = choose.randint(0, max(size - 1, 0))
            ways += [
                ("torch.select", (dim, start)),
                ("torch.narrow", (dim, start, choose.randint(0, size - start))),
                ("torch.Tensor.unfold", (dim, max(1, size // 2), choose.randint(1, 2))),
                ("torch.flip", ((dim,),)),
                ("torch.chunk", (2, dim)),
                ("torch.unbind", (dim,)),
                ("torch.movedim", (dim, choose.randrange(dims))),
                ("torch.unflatten", (dim, (-1, 1))),
                ("torch.repeat_interleave", (2, dim)),
                ("torch.roll", (1, dim)),
            ]
        if dims >= 2:
            ways += [
                ("torch.transpose", (0, choose.randrange(1, dims))),
                ("torch.diagonal", (choose.choice((0, 1, -1)),)),
                ("torch.flatten", ()),
                ("torch.tril", ()),
            ]
        if tensor.is_complex():
            ways += [("torch.view_as_real", ()), ("torch.imag", ()), ("torch.real", ())] * 2
        elif tensor.dtype == torch.float32:
            ways += [("torch.Tensor.view", (torch.int32,)), ("torch.view_as_complex", ())]
        elif tensor.dtype == torch.float16:
            ways += [("torch.Tensor.view", (torch.int16,))]
        if tensor.numel() >= 4:
            ways.append(("torch.as_strided", ((2, 2), (1, 2), choose.randint(0, 1))))
        function, args = choose.choice(ways)
        self.add_step(function, var, *args, may_fail=True)

    def writable(self, var: Var) -> Var:
        """What may be written in place: not a leaf, nor a view of one."""
        tensor = self.variables[var]
        base = tensor if tensor._base is None else tensor._base
        if self.differentiates and (base.requires_grad or tensor.requires_grad):
            return self.add_step("torch.clone", var)[0]
        return var

    def write(self) -> None:
        var = self.writable(self.some())
        tensor = self.variables[var]
        way = self.random.random()
        if way < 0.3:
            function = f"torch.Tensor.{self.random.choice(IN_PLACE_UNARY)}"
            self.add_step(function, var, may_fail=True)
        elif way < 0.4:
            self.add_step("torch.Tensor.fill_", var, self.number(tensor), may_fail=True)
        elif way < 0.5 and tensor.dim():
            index = self.index_for(tensor)
            self.add_step(
                "torch.Tensor.__setitem__", var, index, self.number(tensor), may_fail=True
            )
        else:
            if self.random.random() < 0.4:
                other = self.number(tensor)
                if isinstance(other, (int, float)):
                    names = [n for n in IN_PLACE_BINARY if n != "copy_"]
                else:
                    names = list(IN_PLACE_BINARY)
            else:
                other = self.some(lambda t: _broadcasts(t.shape, tensor.shape))
                names = list(IN_PLACE_BINARY)
            self.add_step(f"torch.Tensor.{self.random.choice(names)}", var, other, may_fail=True)

    def index(self) -> None:
        var = self.some(lambda t: t.dim() > 0)
        index = self.index_for(self.variables[var])
        self.add_step("torch.Tensor.__getitem__", var, index, may_fail=True)

    def index_for(self, tensor: torch.Tensor) -> Any:
        parts: list[Any] = []
        for size in tensor.shape[: self.random.randint(1, tensor.dim())]:
            if size == 0:
                parts.append(slice(None))
                continue
            way = self.random.choice(("number", "slice", "slice", "tensor", "mask", "none"))
            if way == "number":
                parts.append(self.random.randrange(-size, size))
            elif way == "slice":
                start = self.random.randint(0, size)
                parts.append(slice(start, None, self.random.randint(1, 2)))
            elif way == "tensor":
                shape = self.random.choice(((), (2,), (2, 2)))
                parts.append(self.add_plain(torch.randint(-size, size, shape)))
            elif way == "mask":
                parts.append(self.add_plain(torch.rand(size) < 0.5))
            else:
                parts.extend((None, slice(None)))
        return tuple(parts)

    def add_plain(self, value: torch.Tensor) -> Var:
        var = Var(len(self.variables))
        self.inputs.append(Input(var, value))
        self.variables[var] = value.clone()
        return var

    def transform(self) -> None:
        """torch.func over an operator of one tensor."""
        function = self.random.choice(UNARY)
        var = self.some(lambda t: t.is_floating_point() and t.dim() > 0)
        if self.differentiates:
            raise Refused
        way = self.random.choice(
            ("vmap", "grad", "jvp", "vjp", "jacrev", "jacfwd", "hessian", "vmap grad")
        )
        if self.variables[var].numel() > 64 and way in ("jacrev", "jacfwd", "hessian"):
            raise Refused
        summed = f"lambda x: {function}(x).sum()"
        made = {
            "vmap": (f"torch.func.vmap({function})", (var,)),
            "grad": (f"torch.func.grad({summed})", (var,)),
            "jvp": (f"(lambda x, t: torch.func.jvp({function}, (x,), (t,)))", (var, OnesLike(var))),
            "vjp": (f"(lambda x, t: torch.func.vjp({function}, x)[1](t))", (var, OnesLike(var))),
            "jacrev": (f"torch.func.jacrev({function})", (var,)),
            "jacfwd": (f"torch.func.jacfwd({function})", (var,)),
            "hessian": (f"torch.func.hessian({summed})", (var,)),
            "vmap grad": (f"torch.func.vmap(torch.func.grad({summed}))", (var,)),
        }[way]
        self.add_step(made[0], *made[1], may_fail=True)

    def differentiate(self) -> None:
        """The gradients of a result, and sometimes of these."""
        leaves = [given.var for given in self.inputs if given.requires_grad]
        for first in (True, False):
            made = [v for v, t in self.variables.items() if t.grad_fn is not None and t.numel()]
            if not leaves or not made or (not first and self.random.random() < 0.6):
                return
            of = made[-1] if self.random.random() < 0.7 else self.random.choice(made)
            try:
                self.add_step(
                    "torch.autograd.grad",
                    [of],
                    leaves,
                    [OnesLike(of)],
                    allow_unused=True,
                    create_graph=first,
                    retain_graph=True,
                )
            except Refused:
                return


def _broadcasts(shape: torch.Size, to: torch.Size) -> bool:
    return len(shape) <= len(to) and all(
        a in (1, b) for a, b in zip(reversed(shape), reversed(to), strict=False)
    )


_expressions: dict[tuple[str, str], str] = {}


def _expression_for(function: Any, name: str, attribute: str) -> str:
    key = (name, attribute)
    if key not in _expressions:
        _expressions[key] = _find_expression(function, name, attribute)
    return _expressions[key]


def _find_expression(function: Any, name: str, attribute: str) -> str:
    for prefix in (
        "torch.",
        "torch.nn.functional.",
        "torch.Tensor.",
        "torch.special.",
        "torch._C._nn.",
    ):
        for word in (name, getattr(function, "__name__", "")):
            expression = prefix + word.removeprefix("nn.functional.")
            try:
                if resolve(expression) is function:
                    return expression
            except (AttributeError, SyntaxError, NameError):
                continue
    return f"op_db[{name!r}].{attribute}"
