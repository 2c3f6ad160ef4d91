"""Metal declarations and expressions, and the C++ that they become."""

from __future__ import annotations

import re

import pytest

from openmps.errors import ShaderSyntaxError
from openmps.msl.library import LanguageOptions, Library, parse_library


def squeezed(text: str) -> str:
    return re.sub(r"\s*([^\w\s])\s*", r"\1", re.sub(r"\s+", " ", text)).strip()


@pytest.mark.parametrize(
    ("metal", "cpp"),
    [
        ("float f(device float* p);", "float f(float* p);"),
        ("float f(constant float* p);", "float f(const float* p);"),
        ("float f(const constant float* p);", "float f(const float* p);"),
        ("void f(threadgroup T (&x)[4]);", "void f(T (&x)[4]);"),
        ("constant uint table[2] = {1, 2};", "const uint table[2] = {1, 2};"),
        ("static constant constexpr int n = 3;", "static constexpr int n = 3;"),
        ("auto x = (device half*)p;", "auto x = (half*)p;"),
        ("float x[] = {1.0, .5, 2e3, 1.f, 0x1p3, 7, 1u};",
         "float x[] = {1.0f, .5f, 2e3f, 1.f, 0x1p3f, 7, 1u};"),
        ("half x[] = {1.5h, 2h};", "half x[] = {half(1.5f), half(2.0f)};"),
        ("auto x = a / b % c;", "auto x = a / openmps_guard / b % openmps_guard % c;"),
        ("void f() { a /= 2; }", "void f() { a /= openmps_guard = 2; }"),
        ("A operator/(A a, A b);", "A operator/(A a, A b);"),
        ("A& operator/=(A& a, A b);", "A& operator/=(A& a, A b);"),
        ("auto x = v.zw;", "auto x = v.template openmps_get<2, 3>();"),
        ("void f() { v.xy = w.rg; }",
         "void f() { v.template openmps_ref<0, 1>() = w.template openmps_get<0, 1>(); }"),
        ("struct S { int ab; }; auto x = s.ab;", "struct S { int ab; }; auto x = s.ab;"),
        ("auto x = ::metal::exp(1.0);", "auto x = ::msl::metal::exp(1.0f);"),
        ("template <class T> ::a::b<T> f(T);", "template <class T> ::msl::a::b<T> f(T);"),
        ("using c = a<b<int>>::type;", "using c = a<b<int>>::type;"),
        ("bool x = 2 > ::a::b;", "bool x = 2 > ::msl::a::b;"),
        ("auto x = metal::fast::exp(y);", "auto x = metal::fast::exp(y);"),
        ("void f(coherent(device) device int* p);", "void f(int* p);"),
        ("struct A { int get() const device { return 1; } };",
         "struct A { int get() const { return 1; } };"),
        ("template <class T> struct E<device T*> {}; template <class T> struct E<thread T*> {};",
         "template <class T> struct E<T*> {};;"),
        ("int f(device int* p) { return *p; } int f(thread int* p) { return *p; }",
         "int f(int* p) { return *p; }"),
        ("int f(device int* p) { return 1; } int f(constant int* p) { return 2; }",
         "int f(int* p) { return 1; } int f(const int* p) { return 2; }"),
        ("constant bool fast [[function_constant(2)]];",
         "static constexpr bool fast = openmps_constant_value<(2), bool>();"),
        ("void f() { v = (float4){1, 2, 3, 4}; return (const device S){a}; }",
         "void f() { v = ::msl::openmps_detail::same_t<float4>{1, 2, 3, 4}; "
         "return ::msl::openmps_detail::same_t<const S>{a}; }"),
        ("void f() { if (a) { b(); } } A operator*(A a) { return a; } int g(int (&x)[2]) { }",
         "void f() { if (a) { b(); } } A operator*(A a) { return a; } int g(int (&x)[2]) { }"),
        ("auto x = a ? b : 0;", "auto x = a ? b : OPENMPS_SECOND_ARM(0, b);"),
        ("auto x = f(a ? b.xy : -1.5, 2);",
         "auto x = f(a ? b.template openmps_get<0, 1>() : OPENMPS_SECOND_ARM("
         "-1.5f, b.template openmps_get<0, 1>()), 2);"),
        ("auto x = a ? INFINITY : b & 1;", "auto x = a ? OPENMPS_FIRST_ARM(INFINITY) : b & 1;"),
        ("auto x = a ? 1 : 0;", "auto x = a ? 1 : 0;"),
        ("auto x = a ? b : 0 & c;", "auto x = a ? b : 0 & c;"),
        ("void f() { switch (a ? b : c) { case 1: 2; } }",
         "void f() { switch (a ? b : c) { case 1: 2; } }"),
        ("void f() { threadgroup float a[4], b; }",
         "void f() { OPENMPS_SHARED openmps_threadgroup<float[4]> openmps_storage_of_a; "
         "auto& a = openmps_storage_of_a.object(); "
         "OPENMPS_SHARED openmps_threadgroup<float> openmps_storage_of_b; "
         "auto& b = openmps_storage_of_b.object(); }"),
        ("void f() { threadgroup int x[2][3] = {{0}}; threadgroup int* p = x[0]; }",
         "void f() { OPENMPS_SHARED openmps_threadgroup<int[2][3]> openmps_storage_of_x; "
         "auto& x = openmps_storage_of_x.object(); int* p = x[0]; }"),
        ("struct A { A(int x) : a(x), b{x} {} int a, b; };",
         "struct A { A(int x) : a(x), b{x} {} int a, b; };"),
        ("template <typename T, enable_if_t<sizeof(T) < 8, bool> = true> T f(T x) { return x; }",
         "template <typename T, enable_if_t<sizeof(T) < 8, bool> = true> T f(T x) { return x; }"),
        ("namespace a::b { inline namespace c { int x; } } using namespace a;",
         "namespace a::b { inline namespace c { int x; } } using namespace a;"),
    ],
)  # fmt: skip
def test_rewrites(metal: str, cpp: str) -> None:
    def without_empty(text: str) -> str:
        return squeezed(text).replace("};;", "};")

    assert without_empty(parse_library(metal).cpp) == without_empty(cpp)


KERNELS = """
template <typename T, int N>
[[kernel, max_total_threads_per_threadgroup(N * 2)]] void scale(
    device T* y [[buffer(3)]], constant T& a, uint2 at [[thread_position_in_grid]]) {}
template [[host_name("scale_float")]] kernel void
scale<float, 8>(device float*, constant float&, uint2);
template [[host_name("scale_" "half")]] [[kernel]] decltype(scale<half, 16>) scale<half, 16>;
typedef decltype(scale<int, 1>) scale_t;
template [[host_name("scale_int")]] kernel scale_t scale<int, 1>;
void kernel after(device int* p) {}
kernel void before(device int* p, threadgroup float* shared, constant long& n) {}
[[host_name("renamed")]] kernel void named(device int* p) {}
namespace inner { kernel void deep(device int* p) {} }
void helper(device int* p) {}
"""


def test_an_instantiation_may_name_its_kernel_from_the_outermost_namespace() -> None:
    library = parse_library(
        "namespace a { namespace b { template <class T> kernel void f(device T* p) {} } }\n"
        'template [[host_name("f_int")]] kernel void ::a::b::f<int>(device int* p);'
    )
    assert library.kernels["f_int"].expression.replace(" ", "") == "::msl::a::b::f<int>"


def test_kernels_are_listed_by_host_name() -> None:
    library = parse_library(KERNELS)
    assert list(library.kernels) == [
        "scale_float", "scale_half", "scale_int", "after", "before", "renamed", "deep",
    ]  # fmt: skip
    assert squeezed(library.kernels["scale_half"].expression) == "scale<half,16>"
    assert library.kernels["scale_half"].max_threads == "(16) * 2"
    assert library.kernels["deep"].scope == ("inner",)
    assert "host_name" not in library.cpp
    assert "kernel" not in library.cpp


def test_instances_by_qualified_name_or_by_parameter_types() -> None:
    library = parse_library("""
    namespace a { template <class T> kernel void f(device T* p) {} }
    template [[host_name("f_int")]] kernel void ::a::f<int>(device int*);
    template [[host_name("f_float")]] kernel void a::f(device float*);
    """)
    assert squeezed(library.kernels["f_int"].expression) == "::msl::a::f<int>"
    assert library.kernels["f_int"].signature == ""
    assert library.kernels["f_float"].signature == "float *"


def test_of_kernels_with_one_name_the_one_with_as_many_template_parameters_is_meant() -> None:
    library = parse_library(
        "template <class T, class M, int N> kernel void f(device T* p, device M* m) {}\n"
        "template <class T, int N> kernel void f(device T* p) {}\n"
        'template [[host_name("masked")]] [[kernel]] decltype(f<float, bool, 4>) f<float, bool, 4>;'
        'template [[host_name("bare")]] [[kernel]] decltype(f<float, 4>) f<float, 4>;'
    )
    assert [p.name for p in library.kernels["masked"].parameters] == ["p", "m"]
    assert [p.name for p in library.kernels["bare"].parameters] == ["p"]


def test_a_limit_on_threads_may_use_a_template_parameter_that_has_a_default() -> None:
    library = parse_library(
        "template <class T, int A = 2, int B = 4>\n"
        "[[kernel, max_total_threads_per_threadgroup(B * 32)]] void f(device T* p) {}\n"
        'template [[host_name("few")]] [[kernel]] void f<int, 8>(device int* p);'
    )
    assert squeezed(library.kernels["few"].max_threads) == "(4)*32"


def test_parameters_take_the_next_free_index() -> None:
    library = parse_library(KERNELS)

    def of(name: str) -> list[tuple[str, int, str]]:
        return [(p.kind, p.index, p.name) for p in library.kernels[name].parameters]

    assert of("scale_float") == [("buffer", 3, "y"), ("buffer", 4, "a"), ("position", 0, "at")]
    assert of("before") == [("buffer", 0, "p"), ("threadgroup", 0, "shared"), ("buffer", 1, "n")]


def uses(body: str, helpers: str = "") -> frozenset[str]:
    library = parse_library(f"{helpers} kernel void k(device float* p) {{ {body} }}")
    return library.kernels["k"].uses


def test_what_a_kernel_uses_is_found_through_its_helpers() -> None:
    assert uses("p[0] = 1;") == frozenset()
    assert uses("atomic_fetch_add_explicit(q, 1, memory_order_relaxed);") == {"atomic"}
    helper = "struct S { void go() { threadgroup_barrier(mem_flags::mem_none); } };"
    other = "float all(float x) { return simd_sum(x); }"
    assert uses("S s; s.go();", helper) == {"barrier"}
    assert uses("p[0] = all(1);", helper + other) == {"simd"}
    assert uses("simdgroup_float8x8 m;") == {"matrix"}


def refused(source: str) -> ShaderSyntaxError:
    with pytest.raises(ShaderSyntaxError) as caught:
        parse_library(source)
    return caught.value


@pytest.mark.parametrize(
    ("source", "place", "message"),
    [
        ("kernel void k(device float* p) {\n  p[0] = (1;\n}", "program_source:3:1", "expected ')'"),
        ("kernel void k(device float* p) {", "program_source:1:32", "never closed"),
        ("int x }", "program_source:1:7", "extraneous closing '}'"),
        ("int x", "program_source:1:5", "expected ';'"),
        ("#define H #\nH include </etc/passwd>", "program_source:2:1", "stray '#'"),
        ("void f() { asm(\".incbin\"); }", "program_source:1:12", "assembly"),
        ("kernel void k(uint i) {}", "program_source:1:15", "no attribute"),
        ("kernel void k(device int* p [[buffer(31)]]) {}", "program_source:1:15", "0 and 30"),
        ("kernel void k(texture2d<float> t [[texture(0)]]) {}", "program_source:1:34", "texture"),
        ("kernel void k(device int* p [[bufer(1)]]) {}", "program_source:1:29", "'bufer'"),
        ('template [[host_name("x")]] kernel void f<int>(device int*);', "program_source:1:1",
         "'f' is not a kernel"),
        ("kernel void k(threadgroup int* p [[threadgroup(99999999999)]]) {}", "program_source:1:15",
         "'threadgroup' attribute parameter is out of bounds"),
        ("kernel int k(device int* p) { return 1; }", "program_source:1:12", "void return type"),
        ("kernel void k(device int* p, float4 i [[thread_position_in_grid]]) {}",
         "program_source:1:30", "type 'float4' is not valid"),
        ("kernel void k(device int* p [[buffer(2)]], constant int& q [[buffer(2)]]) {}",
         "program_source:1:44", "cannot reserve 'buffer' resource location at index 2"),
        ("float f() { return double(1); }", "program_source:1:20", "'double' is not supported"),
        ("int f(device int* p) { return 1; }\nint f(thread int* p) { return 2; }",
         "program_source:2:5", "different bodies"),
    ],
)  # fmt: skip
def test_refuses(source: str, place: str, message: str) -> None:
    error = refused(source)
    assert (error.place, message in error.message) == (place, True), str(error)


def test_optional_parameters_may_share_an_index() -> None:
    parse_library(
        "constant bool a [[function_constant(0)]]; constant bool b [[function_constant(1)]];"
        "kernel void k(device int* p [[buffer(1), function_constant(a)]],"
        "device float* q [[buffer(1), function_constant(b)]]) {}"
    )


def test_a_finding_shows_the_line_a_caret_the_kernel_and_a_next_step() -> None:
    text = str(refused("\nkernel void fill(device float* p, uint i) {}"))
    assert text.splitlines() == [
        "program_source:2:35: error: parameter 'i' has no attribute that says what it is",
        "    2 | kernel void fill(device float* p, uint i) {}",
        "      |                                   ^",
        "  in kernel: fill",
        "  next: write [[thread_position_in_grid]] or the like after it, or make it a reference "
        "in an address space (constant T&)",
    ]


def test_deep_nesting_is_refused() -> None:
    assert "nested too deeply" in str(refused("int x = " + "(" * 5000 + ")" * 5000 + ";"))


def test_versions_are_seen_by_the_source() -> None:
    source = "#if __METAL_VERSION__ >= 320\nkernel void k(device int* p) {}\n#endif"

    def kernels(version: int) -> Library:
        return parse_library(source, options=LanguageOptions(version=version))

    assert list(kernels(320).kernels) == ["k"]
    assert list(kernels(310).kernels) == []


def test_the_printed_text_leads_back_to_the_source() -> None:
    library = parse_library(
        "#define HALF(x) (x / 2)\nfloat f(device float* p) {\n  return HALF(p[0]);\n}"
    )
    for number, line in enumerate(library.text.lines, start=1):
        if "return" in line:
            place = library.text.place_at(number, line.index("openmps_guard") + 1)
            assert str(place) == "program_source:3:10"
            return
    pytest.fail("no return")
