"""torch.compile on mps: Inductor writes Metal, and that Metal computes what eager mode computes."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

# Inductor's own, about its configuration and its dependencies.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def fresh_inductor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    from torch._inductor import config

    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    torch._dynamo.reset()
    with config.patch(compile_threads=1):
        yield


def test_a_reduction_along_each_axis() -> None:
    def f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.softmax(torch.sin(x) * y + 1, -1).sum(0)

    x, y = torch.randn(2, 64, 300, device="mps")
    torch.testing.assert_close(torch.compile(f)(x, y), f(x, y))


def test_a_network_and_its_gradients() -> None:
    torch.manual_seed(0)
    layers = [torch.nn.Linear(32, 64), torch.nn.GELU(), torch.nn.LayerNorm(64)]
    model = torch.nn.Sequential(*layers).to("mps")
    twin = copy.deepcopy(model)
    x = torch.randn(16, 32, device="mps")
    torch.compile(model)(x).square().sum().backward()
    twin(x).square().sum().backward()
    for one, other in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-4, atol=1e-4)


def test_attention_without_gradients() -> None:
    """Compiled code looks at the strides that an operator's result has, and wants a Mac's."""

    def f(x: torch.Tensor) -> torch.Tensor:
        heads = x.view(2, 16, 3, 32).transpose(1, 2)
        out = torch.nn.functional.scaled_dot_product_attention(heads, heads, heads, is_causal=True)
        return out.transpose(1, 2).reshape(2, 16, 96) + 1

    x = torch.randn(2, 16, 96, device="mps")
    torch.testing.assert_close(torch.compile(f)(x), f(x))


@pytest.mark.needs_torch("2.13", "compiles batch norm to a kernel with an undeclared name")
def test_every_thread_writes_over_what_others_have_yet_to_read() -> None:
    """Inductor updates running statistics in place, from every thread of a threadgroup."""
    torch.manual_seed(0)
    model = torch.nn.BatchNorm2d(8).to("mps")
    twin = copy.deepcopy(model).cpu()
    x = torch.randn(4, 8, 32, 32)
    torch.testing.assert_close(torch.compile(model)(x.to("mps")).cpu(), twin(x))
    torch.testing.assert_close(model.running_mean.cpu(), twin.running_mean)
    torch.testing.assert_close(model.running_var.cpu(), twin.running_var)


def test_a_global_name_after_a_parenthesis() -> None:
    library = torch.mps.compile_shader("""
        namespace deep { template <typename T> T twice(T x) { return x + x; } struct S { int x; }; }
        using deep::S;
        struct Typed { using type = int; };
        kernel void f(device int* out, uint i [[thread_position_in_grid]]) {
            if (i > 0) ::deep::twice(i);
            Typed typed;
            decltype(typed)::type y = (int) ::deep::twice(i);
            out[i] = y;
        }
    """)
    out = torch.zeros(3, dtype=torch.int32, device="mps")
    library.f(out)
    assert out.tolist() == [0, 2, 4]


def test_overloads_for_constant_and_device_const() -> None:
    library = torch.mps.compile_shader("""
        template <typename T> T at(constant void* p, long n)
        { return *reinterpret_cast<constant T*>(static_cast<constant char*>(p) + n); }
        template <typename T> T at(device const void* p, long n)
        { return *reinterpret_cast<device const T*>(static_cast<device const char*>(p) + n); }
        kernel void f(device int* out, device const int* a, constant int& b,
                      uint i [[thread_position_in_grid]]) {
            out[i] = at<int>(a, 4 * i) + at<int>(&b, 0);
        }
    """)
    out = torch.zeros(3, dtype=torch.int32, device="mps")
    library.f(out, torch.arange(3, dtype=torch.int32, device="mps"), 5)
    assert out.tolist() == [5, 6, 7]
