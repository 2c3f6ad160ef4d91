"""torch.mps.compile_shader: Metal kernels written in Python programs."""

from __future__ import annotations

import pytest

from .snippets import Snippet, assert_as_expected

SNIPPETS = [
    Snippet(
        "PyTorch's example",
        """
        import torch
        lib = torch.mps.compile_shader(
            "kernel void full(device float* out, constant float& val, "
            "uint idx [[thread_position_in_grid]]) { out[idx] = val; }"
        )
        x = torch.zeros(16, device="mps")
        lib.full(x, 3.14)
        print(x[:3], dir(lib))
        """,
        "tensor([3.1400, 3.1400, 3.1400], device='mps:0') ['full']\n",
        then="assert (x == 3.14).all()",
    ),
    Snippet(
        "two arrays",
        '''
        import torch
        source = """
        #include <metal_stdlib>
        using namespace metal;
        kernel void add_arrays(device const float* inA,
                               device const float* inB,
                               device float* result,
                               uint index [[thread_position_in_grid]]) {
            result[index] = inA[index] + inB[index];
        }
        """
        library = torch.mps.compile_shader(source)
        a = torch.arange(8.0, device="mps")
        b = torch.ones_like(a)
        result = torch.empty_like(a)
        library.add_arrays(a, b, result)
        torch.mps.synchronize()
        print(torch.equal(result, a + b), result.tolist())
        ''',
        "True [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]\n",
    ),
    Snippet(
        "a grid of two dimensions",
        '''
        import torch
        lib = torch.mps.compile_shader("""
        kernel void fill(device int* y, constant long& width,
                         uint2 at [[thread_position_in_grid]]) {
            y[at.y * width + at.x] = 10 * at.y + at.x;
        }
        """)
        y = torch.zeros(2, 3, dtype=torch.int32, device="mps")
        lib.fill(y, 3, threads=(3, 2), group_size=(3, 1))
        print(y.tolist())
        kernel = lib.fill
        print(kernel.max_threads_per_threadgroup, kernel.thread_execution_width)
        ''',
        "[[0, 1, 2], [10, 11, 12]]\n1024 32\n",
    ),
    Snippet(
        "a sum in threadgroup memory",
        '''
        import torch
        lib = torch.mps.compile_shader("""
        #include <metal_stdlib>
        using namespace metal;
        kernel void sum(device const float* x, device float* out,
                        uint i [[thread_position_in_grid]],
                        uint t [[thread_position_in_threadgroup]],
                        uint group [[threadgroup_position_in_grid]]) {
            threadgroup float scratch[64];
            scratch[t] = x[i];
            threadgroup_barrier(mem_flags::mem_threadgroup);
            for (uint half_size = 32; half_size > 0; half_size /= 2) {
                if (t < half_size) scratch[t] += scratch[t + half_size];
                threadgroup_barrier(mem_flags::mem_threadgroup);
            }
            if (t == 0) out[group] = scratch[0];
        }
        """)
        x = torch.arange(128.0, device="mps")
        out = torch.zeros(2, device="mps")
        lib.sum(x, out, threads=128, group_size=64)
        print(out.tolist())
        ''',
        "[2016.0, 6112.0]\n",
    ),
    Snippet(
        "arguments and their casts",
        '''
        import torch
        lib = torch.mps.compile_shader("""
        kernel void scale(device half* x, constant half& by, constant int& plus,
                          uint i [[thread_position_in_grid]]) { x[i] = x[i] * by + plus; }
        """)
        x = torch.ones(4, dtype=torch.half, device="mps")
        lib.scale(x, 2.5, 1, arg_casts={1: "fp16", 2: "int32"})
        print(x.tolist())
        try:
            lib.scale(torch.ones(4), 1.0, 1)
        except RuntimeError as error:
            print(error)
        try:
            lib.scale(x, None, 1)
        except RuntimeError as error:
            print(error)
        ''',
        "[3.5, 3.5, 3.5, 3.5]\nPassed CPU tensor to MPS op\nUnsupported argument type\n",
    ),
    Snippet(
        "PyTorch's Metal headers",
        '''
        import torch
        lib = torch.mps.compile_shader("""
        #include <c10/metal/special_math.h>
        kernel void sinc(device float* y, constant float* x, uint i [[thread_position_in_grid]]) {
            y[i] = c10::metal::sinc(x[i]);
        }
        """)
        x = torch.linspace(-2, 2, 9, device="mps")
        y = torch.empty_like(x)
        lib.sinc(y, x)
        print(torch.allclose(y, torch.sinc(x), atol=1e-6))
        ''',
        "True\n",
    ),
    Snippet(
        "as an operator with a gradient",
        '''
        import torch
        lib = torch.mps.compile_shader("""
        kernel void square(device float* y, constant float* x, uint i [[thread_position_in_grid]]) {
            y[i] = x[i] * x[i];
        }
        """)

        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                y = torch.empty_like(x)
                lib.square(y, x)
                return y

            @staticmethod
            def backward(ctx, grad):
                x, = ctx.saved_tensors
                return 2 * x * grad

        x = torch.tensor([1.0, 2.0, 3.0], device="mps", requires_grad=True)
        Square.apply(x).sum().backward()
        print(x.grad)

        @torch.library.custom_op("mine::square", mutates_args=(), device_types="mps")
        def square(x: torch.Tensor) -> torch.Tensor:
            y = torch.empty_like(x)
            lib.square(y, x)
            return y

        print(square(x.detach()))
        ''',
        "tensor([2., 4., 6.], device='mps:0')\ntensor([1., 4., 9.], device='mps:0')\n",
    ),
    Snippet(
        "mistakes",
        """
        import torch
        try:
            torch.mps.compile_shader("kernel void broken(device float* x) { x[0] = y; }")
        except SyntaxError as error:
            print("program_source:1:" in str(error), "error:" in str(error))
        lib = torch.mps.compile_shader("kernel void one(device float* x) { x[0] = 1; }")
        try:
            lib.two
        except RuntimeError as error:
            print(error)
        """,
        "True True\nFailed to create function state object for: two\n",
    ),
    Snippet(
        "a kernel that reports",
        '''
        import torch
        lib = torch.mps.compile_shader("""
        #include <c10/metal/error.h>
        kernel void check(device float* x, device c10::metal::ErrorMessages* errors,
                          uint i [[thread_position_in_grid]]) {
            if (x[i] < 0) TORCH_REPORT_ERROR(errors, "negative");
        }
        """)
        lib.check(torch.tensor([1.0, -1.0], device="mps"), error_buf_idx=1)
        try:
            torch.mps.synchronize()
        except torch.AcceleratorError as error:
            print(error)
        ''',
        "negative\n",
    ),
]


@pytest.mark.parametrize("snippet", SNIPPETS, ids=str)
def test_shaders(snippet: Snippet, run) -> None:
    assert_as_expected(snippet, run(snippet))
