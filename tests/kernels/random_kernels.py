"""Random kernels, made from a seed: structured programs that give one result in any order.

Divisions by zero, wrapping and shifts are in; what Metal leaves open is not (a NaN's bits, floats
beyond an integer's range, values of threads that have returned, collectives in a branch that leaves
its loop). Barriers stand where all threads of a threadgroup come by.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

TYPES = ("int", "uint", "float", "half", "long", "uchar")
SLOTS = 6  # outputs of each type that a thread writes
SHAPES: tuple[tuple[Sequence[int], Sequence[int]], ...] = (
    ([64], [64]),
    ([100], [100]),
    ([96], [32]),
    ([130], [33]),
    ([1], [1]),
    ([31], [31]),
    ([256], [256]),
    ([16, 8], [8, 8]),
    ([1, 64], [1, 64]),
    ([10, 9, 2], [4, 4, 2]),
)


@dataclass(frozen=True)
class RandomKernel:
    seed: int
    source: str
    threads: Sequence[int]
    group: Sequence[int]
    buffers: tuple[np.ndarray, ...]


def make_kernel(seed: int) -> RandomKernel:
    return _Maker(seed).make()


class _Maker:
    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.depth = 1
        self.named = 0
        self.scopes: list[dict[str, str]] = [{}]  # name: type
        self.fixed: set[str] = set()  # names that nothing may assign to
        self.budget = 0
        self.functions: list[tuple[str, str, list[str]]] = []  # name, result, parameters

    def make(self) -> RandomKernel:
        threads, group = self.random.choice(SHAPES)
        self.lines = ["#include <metal_stdlib>", "using namespace metal;", ""]
        for _ in range(self.random.randint(0, 2)):
            self.function()
        self.kernel(int(np.prod(group)))
        numbers = np.random.default_rng(self.seed)
        total = int(np.prod(threads))
        return RandomKernel(
            self.seed,
            "\n".join(self.lines) + "\n",
            threads,
            group,
            (
                _interesting(numbers, 64),
                numbers.normal(size=64).astype(np.float32) * 8,
                np.zeros(total * SLOTS, np.int64),
                np.zeros(total * SLOTS, np.float32),
                np.array([0, 0, 0, -1, 2**31 - 1, -(2**31)], np.int32),
                numbers.integers(0, 6, 4).astype(np.uint32),
            ),
        )

    # ---- text

    def say(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    def block(self, head: str, inside: Callable[[], None], tail: str = "}") -> None:
        self.say(head + " {")
        self.depth += 1
        self.scopes.append({})
        inside()
        self.scopes.pop()
        self.depth -= 1
        self.say(tail)

    def new_name(self, kind: str) -> str:
        self.named += 1
        return f"{kind[0]}{self.named}"

    def declare(self, kind: str, value: str) -> str:
        name = self.new_name(kind)
        self.say(f"{kind} {name} = {value};")
        self.scopes[-1][name] = kind
        if self.random.random() < 0.7:
            whole = f"clamp({name}, {kind}(-9999), {kind}(9999)) * {kind}(4)"
            seen = whole if kind in ("float", "half") else name
            self.say(f"mixed = mixed * 31 + long({seen});")  # or nobody would see a wrong value
        return name

    # ---- functions

    def function(self) -> None:
        result = self.random.choice(TYPES[:4])
        kinds = [self.random.choice(TYPES[:4]) for _ in range(self.random.randint(1, 3))]
        name = f"helper{len(self.functions)}"
        self.scopes = [{f"p{at}": kind for at, kind in enumerate(kinds)}]
        self.depth, self.budget = 1, 5
        parameters = ", ".join(f"{kind} p{at}" for at, kind in enumerate(kinds))
        self.lines.append(f"static {result} {name}({parameters}, uint t, uint lane) {{")
        self.scopes[0] |= {"t": "uint", "lane": "uint"}
        self.fixed = {"t", "lane"}
        self.say("long mixed = 0;")
        self.statements(3, loops=0, uniform=False, result=result)
        self.say(f"return {self.value(result, 2)} + {result}(mixed & 255);")
        self.lines += ["}", ""]
        self.functions.append((name, result, kinds))

    def kernel(self, group_size: int) -> None:
        self.lines += [
            "kernel void made(device const int* numbers, device const float* reals,",
            "                 device long* out, device float* results, device atomic_int* shared,",
            "                 constant uint* counts, uint3 at [[thread_position_in_grid]],",
            "                 uint3 grid [[threads_per_grid]],",
            "                 uint t [[thread_index_in_threadgroup]],",
            "                 uint lane [[thread_index_in_simdgroup]]) {",
        ]
        self.depth, self.budget = 1, 14
        self.scopes = [{"t": "uint", "lane": "uint", "i": "uint"}]
        self.fixed = {"t", "lane", "i"}
        self.say("const uint i = (at.z * grid.y + at.y) * grid.x + at.x;")
        self.say(f"threadgroup int cells[{group_size}];")
        self.say("threadgroup atomic_uint tally[2];")
        self.say(f"for (uint k = 0; t == 0 && k < {group_size}; ++k) cells[k] = int(k) * 5;")
        self.say("for (uint k = 0; t == 0 && k < 2; ++k)")
        self.say("  atomic_store_explicit(&tally[k], 0, memory_order_relaxed);")
        self.say("threadgroup_barrier(mem_flags::mem_threadgroup);")
        self.say("long mixed = 0;")
        for kind in TYPES:
            self.declare(kind, self.value(kind, 1))
        self.say("int line[8] = {1, 2, 3, 4, 5, 6, 7, 8};")
        self.size = group_size
        self.statements(7, loops=0, uniform=True, result=None)
        self.finish(early=False)
        self.lines.append("}")

    def finish(self, *, early: bool) -> None:
        whole = [n for s in self.scopes for n, k in s.items() if k not in ("float", "half")]
        real = [n for s in self.scopes for n, k in s.items() if k in ("float", "half")]
        for slot in range(1 if early else SLOTS):
            self.say(f"out[i * {SLOTS} + {slot}] = {self.random.choice(whole)};")
            self.say(f"results[i * {SLOTS} + {slot}] = float({self.random.choice(real)});")
        if not early:
            self.say(
                f"out[i * {SLOTS}] += mixed + line[{self.random.randint(0, 7)}] + line[t & 7];"
            )

    # ---- statements

    def statements(self, most: int, *, loops: int, uniform: bool, result: str | None) -> None:
        for _ in range(self.random.randint(1, most)):
            if self.budget <= 0:
                break
            self.budget -= 1
            self.statement(loops, uniform, result)

    def statement(self, loops: int, uniform: bool, result: str | None) -> None:
        """`loops`: how many loops it is in. `result`: of the function; None in the kernel."""
        in_kernel = result is None
        choices: list[tuple[int, Callable[[], None]]] = [
            (4, self.assign),
            (3, lambda: self.collective()),
            (3, lambda: self.branch(loops, result)),
            (3, lambda: self.loop(loops, result)),
            (1, lambda: self.switch(loops, result)),
        ]
        if in_kernel:
            choices += [(2, self.private), (2, self.atomic)]
        if uniform and in_kernel:
            choices += [(3, self.exchange), (2, lambda: self.uniform_loop(loops, result))]
        weights = [weight for weight, _ in choices]
        self.random.choices([make for _, make in choices], weights)[0]()

    def target(self) -> tuple[str, str]:
        names = [(n, k) for s in self.scopes for n, k in s.items() if n not in self.fixed]
        return self.random.choice(names) if names else ("", "")

    def assign(self) -> None:
        name, kind = self.target()
        if not name or self.random.random() < 0.3:
            kind = self.random.choice(TYPES)
            self.declare(kind, self.value(kind, 3))
        elif kind in ("int", "uint", "long") and self.random.random() < 0.3:
            operator = self.random.choice(["+=", "-=", "*=", "^=", "|=", "/=", "%="])
            self.say(f"{name} {operator} {self.value(kind, 2)};")
        else:
            self.say(f"{name} = {self.value(kind, 3)};")

    def collective(self) -> None:
        pick = self.random.choice
        kind = pick(["int", "uint", "float", "half", "long"])
        value = self.value(kind, 2)
        whole = kind not in ("float", "half")
        calls = [
            f"simd_sum({value})", f"simd_min({value})", f"simd_max({value})",
            f"simd_prefix_inclusive_sum({value})", f"simd_prefix_exclusive_sum({value})",
            f"simd_shuffle({value}, ushort({self.value('uint', 1)} & 31u))",
            f"simd_shuffle_xor({value}, {pick([1, 2, 7, 16, 31])})",
            f"simd_shuffle_down({value}, {pick([1, 3, 16])})",
            f"simd_shuffle_up({value}, {pick([1, 5, 31])})",
            f"simd_shuffle_rotate_down({value}, {pick([1, 9])})",
            f"simd_shuffle_and_fill_up({value}, {kind}(3), {pick([1, 4])})",
            f"simd_broadcast_first({value})", f"quad_sum({value})", f"quad_shuffle_xor({value}, 1)",
        ]  # fmt: skip
        if whole:
            calls += [
                f"{kind}(ulong(simd_ballot({self.condition()})))",
                f"{kind}(simd_any({self.condition()}))", f"{kind}(simd_all({self.condition()}))",
                f"simd_xor({value})", f"simd_or({value})",
                f"{kind}(ulong(simd_active_threads_mask()))", f"simd_product({value})",
                f"{kind}(simd_is_first())",
            ]  # fmt: skip
        self.declare(kind, pick(calls))

    def leaving(self, loops: int, result: str | None) -> None:
        """A branch that leaves: the loop, this turn of it, or the function."""
        ways = ["break", "continue"] if loops else []
        if self.random.random() < 0.3 or not ways:
            ways = ["return"]
        way = self.random.choice(ways)

        def inside() -> None:
            self.assign()
            if way == "return" and result is not None:
                self.say(f"return {self.value(result, 1)};")
                return
            if way == "return":
                self.finish(early=True)
            self.say(f"{way};")

        self.block(f"if ({self.condition()})", inside)

    def branch(self, loops: int, result: str | None) -> None:
        if self.random.random() < (0.45 if loops else 0.15):
            self.leaving(loops, result)
            return

        def inside() -> None:
            self.statements(3, loops=loops, uniform=False, result=result)

        other = self.random.random() < 0.5
        self.block(f"if ({self.condition()})", inside, "} else {" if other else "}")
        if other:
            self.lines.pop()
            self.block("} else", inside)

    def loop(self, loops: int, result: str | None) -> None:
        if loops >= 2:
            self.assign()
            return
        count = self.new_name("k")
        bound = f"({self.value('uint', 1)} & 7u)"

        def inside() -> None:
            self.scopes[-1][count] = "uint"
            self.statements(3, loops=loops + 1, uniform=False, result=result)

        self.fixed.add(count)
        how = self.random.randint(0, 2)
        if how == 0:
            self.block(f"for (uint {count} = 0; {count} < {bound}; ++{count})", inside)
        elif how == 1:
            self.say(f"uint {count} = 0;")
            self.block(f"while ({count}++ < 6 && {self.condition()})", inside)
        else:
            self.say(f"uint {count} = 0;")
            self.block("do", inside, f"}} while (++{count} < {bound});")

    def uniform_loop(self, loops: int, result: str | None) -> None:
        if loops >= 2:
            self.assign()
            return
        count = self.new_name("k")
        self.fixed.add(count)
        bound = self.random.choice(["3u", f"counts[{self.random.randint(0, 3)}]"])

        def inside() -> None:
            self.scopes[-1][count] = "uint"
            # Whoever broke off here would miss the others' barriers: no loop to leave.
            self.statements(3, loops=loops + 1, uniform=False, result=result)
            self.exchange()

        before, self.leaving = self.leaving, lambda *_: self.assign()  # type: ignore[method-assign]
        self.block(f"for (uint {count} = 0; {count} < {bound}; ++{count})", inside)
        self.leaving = before  # type: ignore[method-assign]

    def switch(self, loops: int, result: str | None) -> None:
        self.say(f"switch ({self.value('int', 1)} & 3) {{")
        self.depth += 1
        for label in ("case 0:", "case 1:", self.random.choice(["case 2:", "default:"])):
            self.block(label, lambda: self.statements(2, loops=0, uniform=False, result=result))
            if self.random.random() < 0.6:
                self.say("  break;")
        self.depth -= 1
        self.say("}")

    def private(self) -> None:
        if self.random.random() < 0.5:
            self.say(f"line[{self.value('uint', 1)} & 7u] = {self.value('int', 2)};")
        else:
            self.declare("int", f"line[{self.value('uint', 1)} & 7u]")

    def atomic(self) -> None:
        """Each cell has one operation, so that no order shows."""
        at = self.random.randint(0, 7)
        if at < 2:
            self.say(
                f"atomic_fetch_add_explicit(&tally[{at}], {self.value('uint', 1)}, "
                "memory_order_relaxed);"
            )
            return
        names = ("add", "sub", "xor", "and", "min", "max")
        at = self.random.randint(0, 5)
        self.say(
            f"atomic_fetch_{names[at]}_explicit(&shared[{at}], {self.value('int', 2)}, "
            "memory_order_relaxed);"
        )

    def exchange(self) -> None:
        self.say(f"cells[t] = {self.value('int', 2)};")
        self.say("threadgroup_barrier(mem_flags::mem_threadgroup);")
        self.declare("int", f"cells[{self.value('uint', 1)} % {self.size}u]")
        tally = f"&tally[{self.random.randint(0, 1)}]"
        self.declare("uint", f"atomic_load_explicit({tally}, memory_order_relaxed)")
        self.say("threadgroup_barrier(mem_flags::mem_threadgroup);")

    # ---- values

    def condition(self) -> str:
        kind = self.random.choice(["int", "uint", "float", "uint"])
        operator = self.random.choice(["<", ">", "==", "!=", "<=", ">="])
        if self.random.random() < 0.3:
            return f"(lane & {self.random.choice([1, 2, 4, 8, 16, 3])}u) != 0u"
        return f"{self.value(kind, 1)} {operator} {self.value(kind, 1)}"

    def leaf(self, kind: str) -> str:
        names = [n for scope in self.scopes for n, k in scope.items() if k == kind]
        if names and self.random.random() < 0.9:
            return self.random.choice(names)
        if kind in ("float", "half"):
            return f"{kind}({self.random.choice(['0.5f', '-1.25f', '3.0f', '100.0f', '1e-3f'])})"
        return f"{kind}({self.random.choice([0, 1, 2, 3, 7, 31, 100, 255, 2147483647])})"

    def value(self, kind: str, depth: int) -> str:
        pick = self.random.choice
        if depth <= 0 or self.random.random() < 0.2:
            return self.leaf(kind)

        def deeper(other: str = kind) -> str:
            return self.value(other, depth - 1)

        if kind in ("float", "half"):
            forms = [
                lambda: f"({deeper()} {pick('+-*')} {deeper()})",
                lambda: f"({deeper()} / (abs({deeper()}) + {kind}(0.5f)))",
                lambda: f"{pick(['abs', 'floor', 'trunc'])}({deeper()})",
                lambda: f"fma({deeper()}, {deeper()}, {deeper()})",
                lambda: f"clamp({deeper()}, {kind}(-9), {kind}(9))",
                lambda: f"({self.condition()} ? {deeper()} : {deeper()})",
                lambda: f"{kind}({deeper('half' if kind == 'float' else 'float')})",
                lambda: f"{kind}(short({deeper('int')}))",
                lambda: f"sqrt(abs({deeper()}))",
            ]
            if "i" in self.scopes[0]:
                forms.append(lambda: f"{kind}(reals[{deeper('uint')} & 63u])")
        else:
            forms = [
                lambda: f"{kind}({deeper()} {pick('+-*&|^/%')} {deeper()})",
                lambda: f"{kind}({deeper()} {pick(['<<', '>>'])} ({deeper('uint')} & 7u))",
                lambda: f"{pick(['min', 'max'])}({deeper()}, {deeper()})",
                lambda: f"({self.condition()} ? {deeper()} : {deeper()})",
                lambda: f"{kind}({deeper(pick(TYPES[:2] + TYPES[4:]))})",
                lambda: f"{kind}(clamp({deeper('float')}, 0.0f, 200.0f))",
                lambda: f"{kind}(popcount({deeper('uint')}))",
                lambda: f"{kind}(~{deeper()})",
            ]
            if "i" in self.scopes[0]:
                forms.append(lambda: f"{kind}(numbers[{deeper('uint')} & 63u])")
        for name, result, kinds in self.functions:
            if result == kind and depth >= 3 and "i" in self.scopes[0]:
                forms += [lambda n=name, k=kinds: f"{n}({', '.join(map(self.leaf, k))}, t, lane)"]
        return pick(forms)()


def _interesting(numbers: np.random.Generator, count: int) -> np.ndarray:
    values = numbers.integers(-100, 100, count)
    odd = [0, 1, -1, 2**31 - 1, -(2**31), 255, 256, 65535]
    values[: len(odd)] = odd
    return numbers.permutation(values).astype(np.int32)
