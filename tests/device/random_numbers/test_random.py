from __future__ import annotations

import pickle

import pytest
import torch

DRAWS = {
    "rand": lambda: torch.rand(50, device="mps"),
    "randn": lambda: torch.randn(50, device="mps"),
    "randint": lambda: torch.randint(0, 1000, (50,), device="mps"),
    "randperm": lambda: torch.randperm(50, device="mps"),
    "rand_like": lambda: torch.rand_like(torch.empty(50, device="mps")),
    "randn_like": lambda: torch.randn_like(torch.empty(50, device="mps")),
    "randint_like": lambda: torch.randint_like(torch.empty(50, device="mps"), 1000),
    "bernoulli": lambda: torch.bernoulli(torch.full((50,), 0.5, device="mps")),
    "bernoulli_": lambda: torch.empty(50, device="mps").bernoulli_(0.5),
    "normal": lambda: torch.normal(torch.zeros(50, device="mps"), 1.0),
    "normal_two_tensors": lambda: torch.normal(
        torch.zeros(50, device="mps"), torch.ones(50, device="mps")
    ),
    "normal_": lambda: torch.empty(50, device="mps").normal_(),
    "uniform_": lambda: torch.empty(50, device="mps").uniform_(2, 3),
    "random_": lambda: torch.empty(50, device="mps").random_(0, 1000),
    "exponential_": lambda: torch.empty(50, device="mps").exponential_(),
    "cauchy_": lambda: torch.empty(50, device="mps").cauchy_(),
    "geometric_": lambda: torch.empty(50, device="mps").geometric_(0.1),
    "log_normal_": lambda: torch.empty(50, device="mps").log_normal_(),
    "multinomial": lambda: torch.multinomial(torch.ones(100, device="mps"), 20),
    "multinomial_replaced": lambda: torch.multinomial(torch.ones(100, device="mps"), 20, True),
    "dropout": lambda: torch.nn.functional.dropout(torch.ones(50, device="mps"), 0.5),
    "alpha_dropout": lambda: torch.nn.functional.alpha_dropout(
        torch.ones(50, device="mps"), 0.5, training=True
    ),
    "dropout2d": lambda: torch.nn.functional.dropout2d(torch.ones(5, 20, 2, 2, device="mps"), 0.5),
    "complex_randn": lambda: torch.randn(50, dtype=torch.complex64, device="mps"),
    "half_randn": lambda: torch.randn(50, dtype=torch.float16, device="mps"),
    "gumbel": lambda: torch.nn.functional.gumbel_softmax(torch.ones(50, device="mps")),
    "distribution": lambda: torch.distributions.Gamma(
        torch.ones(50, device="mps"), torch.ones(50, device="mps")
    ).sample(),
    "initialisation": lambda: torch.nn.init.kaiming_normal_(torch.empty(5, 10, device="mps")),
    "sparse_initialisation": lambda: torch.nn.init.trunc_normal_(torch.empty(50, device="mps")),
}
WITH_GENERATOR = {
    "rand": lambda g: torch.rand(50, device="mps", generator=g),
    "randn": lambda g: torch.randn(50, device="mps", generator=g),
    "randint": lambda g: torch.randint(0, 1000, (50,), device="mps", generator=g),
    "randperm": lambda g: torch.randperm(50, device="mps", generator=g),
    "normal_": lambda g: torch.empty(50, device="mps").normal_(generator=g),
    "uniform_": lambda g: torch.empty(50, device="mps").uniform_(generator=g),
    "bernoulli": lambda g: torch.bernoulli(torch.full((50,), 0.5, device="mps"), generator=g),
    "multinomial": lambda g: torch.multinomial(torch.ones(100, device="mps"), 20, generator=g),
    "exponential_": lambda g: torch.empty(50, device="mps").exponential_(generator=g),
    "trunc_normal_": lambda g: torch.nn.init.trunc_normal_(
        torch.empty(50, device="mps"), generator=g
    ),
}


@pytest.mark.parametrize("name", DRAWS)
def test_the_same_seed_gives_the_same_numbers(name):
    torch.manual_seed(7)
    first, second = DRAWS[name](), DRAWS[name]()
    torch.manual_seed(7)
    again = DRAWS[name]()
    assert first.device.type == "mps"
    assert torch.equal(first, again)
    assert not torch.equal(first, second)


@pytest.mark.parametrize("name", DRAWS)
def test_mps_draws_leave_the_cpu_generator_alone(name):
    before = torch.get_rng_state()
    assert DRAWS[name]().device.type == "mps"
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("name", WITH_GENERATOR)
def test_a_generator_of_ones_own(name):
    draw = WITH_GENERATOR[name]
    default = torch.mps.get_rng_state()
    generator = torch.Generator(device="mps").manual_seed(5)
    first, second = draw(generator), draw(generator)
    again = draw(torch.Generator(device="mps").manual_seed(5))
    assert first.device.type == "mps"
    assert torch.equal(first, again)
    assert not torch.equal(first, second)
    assert torch.equal(torch.mps.get_rng_state(), default)


@pytest.mark.parametrize("name", WITH_GENERATOR)
def test_a_cpu_generator_is_refused(name):
    text = "Expected a 'mps' device type for generator but found 'cpu'"
    if name == "randperm":
        text = "Expected a 'mps:0' generator device but found 'cpu'"
    with pytest.raises(RuntimeError, match=f"^{text}$"):
        WITH_GENERATOR[name](torch.Generator())


REFUSED = {
    "uniform": (
        lambda x: x.uniform_(),
        NotImplementedError,
        "\"check_uniform_bounds\" not implemented for 'Int'",
    ),
    "normal": (lambda x: x.normal_(), TypeError, "normal_kernel_mps not implemented for 'Int'"),
    "exponential": (
        lambda x: x.exponential_(),
        RuntimeError,
        "Failed to create function state object for: exponential_int",
    ),
    "log_normal": (
        lambda x: x.log_normal_(),
        RuntimeError,
        "Failed to create function state object for: log_normal_int",
    ),
    "log_normal_complex": (
        lambda x: x.to(torch.complex64).log_normal_(),
        RuntimeError,
        "Failed to create function state object for: log_normal_float2",
    ),
    "geometric_bool": (
        lambda x: x.bool().geometric_(0.5),
        RuntimeError,
        "Failed to create function state object for: geometric_bool",
    ),
    "gamma": (
        lambda x: torch._standard_gamma(x),
        RuntimeError,
        "Failed to create function state object for: standard_gamma_int",
    ),
    "dirichlet": (
        lambda x: torch._sample_dirichlet(x),
        RuntimeError,
        "Failed to create function state object for: standard_dirichlet_int",
    ),
    "random_complex": (
        lambda x: x.to(torch.complex64).random_(),
        RuntimeError,
        "random_mps handles only integral, floating-point and boolean types",
    ),
    "uniform_bounds": (
        lambda x: x.float().uniform_(2, 1),
        RuntimeError,
        "uniform_ expects to return a [from, to) range, but found from=2 > to=1",
    ),
    "bernoulli_bounds": (
        lambda x: x.bernoulli_(1.5),
        RuntimeError,
        "bernoulli_ expects p to be in [0, 1], but got p=1.5",
    ),
    "bernoulli_scalar_tensor": (
        lambda x: x.bernoulli_(torch.tensor(1.5, device="mps")),
        RuntimeError,
        "bernoulli_mps_ expects p to be in [0, 1], but got p=1.5",
    ),
    "bernoulli_shape": (
        lambda x: x.bernoulli_(torch.ones(4, device="mps")),
        RuntimeError,
        "bernoulli_mps_: probability and self tensor should be of the same shape",
    ),
    "randperm": (
        lambda x: torch.randperm(-1, out=x),
        RuntimeError,
        "n must be non-negative, got-1",
    ),
    "randperm_half": (
        lambda x: torch.randperm(3000, device="mps", dtype=torch.float16),
        RuntimeError,
        "n cannot be greater than 2049 for Half type.",
    ),
    "multinomial_type": (
        lambda x: torch.multinomial(x, 2, True),
        RuntimeError,
        "multinomial only supports floating-point dtypes for input, got: Int",
    ),
    "multinomial_dimensions": (
        lambda x: torch.multinomial(torch.ones(2, 2, 2, device="mps"), 2, True),
        RuntimeError,
        "prob_dist must be 1 or 2 dim",
    ),
    "multinomial_samples": (
        lambda x: torch.multinomial(x.float(), 0, True),
        RuntimeError,
        "cannot sample n_sample <= 0 samples",
    ),
    "overlap": (
        lambda x: torch.ones(1, device="mps").expand(4).normal_(),
        RuntimeError,
        "unsupported operation: more than one element of the written-to tensor refers to a single "
        "memory location.",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_mac_refuses_is_refused_and_draws_nothing(name):
    operator, error, text = REFUSED[name]
    before = torch.mps.get_rng_state()
    with pytest.raises(error) as raised:
        operator(torch.ones(3, device="mps", dtype=torch.int32))
    assert str(raised.value).startswith(text)
    assert torch.equal(torch.mps.get_rng_state(), before)


def test_a_bad_probability_is_reported_by_the_next_wait():
    p = torch.tensor([0.5, 1.5, 0.2], device="mps")
    torch.bernoulli(p)
    with pytest.raises(torch.AcceleratorError) as raised:
        torch.mps.synchronize()
    assert str(raised.value) == "bernoulli_mps_ expects p to be in [0, 1]"
    assert raised.value.error_code == 1
    torch.bernoulli(torch.full((3,), torch.nan, device="mps"))
    with pytest.raises(torch.AcceleratorError, match="bernoulli_mps_ expects p"):
        torch.mps.synchronize()
    torch.mps.synchronize()


ON_THE_CPU = {
    "rand": lambda g: torch.rand(2, generator=g),
    "randn": lambda g: torch.randn(2, generator=g),
    "randint": lambda g: torch.randint(0, 9, (2,), generator=g),
    "bernoulli": lambda g: torch.bernoulli(torch.ones(2), generator=g),
    "bernoulli_": lambda g: torch.ones(2).bernoulli_(0.5, generator=g),
    "gamma": lambda g: torch._standard_gamma(torch.ones(2), generator=g),
    "dirichlet": lambda g: torch._sample_dirichlet(torch.ones(2), generator=g),
    "multinomial": lambda g: torch.multinomial(torch.ones(2), 1, generator=g),
    "multinomial_replaced": lambda g: torch.multinomial(torch.ones(2), 2, True, generator=g),
}


@pytest.mark.parametrize("name", ON_THE_CPU)
def test_an_mps_generator_is_refused_by_the_cpu(name):
    generator = torch.Generator(device="mps").manual_seed(0)
    text = "^Expected a 'cpu' device type for generator but found 'mps'$"
    with pytest.raises(RuntimeError, match=text):
        ON_THE_CPU[name](generator)
    assert generator.get_offset() == 0


def test_an_mps_generator_is_refused_by_the_cpus_randperm():
    generator = torch.Generator(device="mps")
    text = "^Expected a 'cpu' generator device but found 'mps:0'$"
    with pytest.raises(RuntimeError, match=text):
        torch.randperm(5, generator=generator)


def test_global_seed_seeds_mps_too():
    torch.manual_seed(11)
    first = torch.rand(5, device="mps")
    torch.mps.manual_seed(11)
    assert torch.equal(torch.rand(5, device="mps"), first)
    torch.mps.manual_seed(12)
    assert not torch.equal(torch.rand(5, device="mps"), first)


def test_mps_seed_leaves_the_cpu_seed_alone():
    torch.manual_seed(3)
    first = torch.rand(3)
    torch.manual_seed(3)
    torch.mps.manual_seed(99)
    assert torch.equal(torch.rand(3), first)


def test_seeding_with_entropy_changes_the_numbers():
    torch.mps.seed()
    first = torch.rand(10, device="mps")
    torch.mps.seed()
    assert not torch.equal(torch.rand(10, device="mps"), first)


def test_rng_state_has_the_size_of_a_macs():
    state = torch.mps.get_rng_state()
    assert state.shape == (44,)
    assert state.dtype == torch.uint8
    assert state.device.type == "cpu"


def test_rng_state_restores_the_stream():
    state = torch.mps.get_rng_state()
    first = torch.randn(10, device="mps")
    torch.mps.set_rng_state(state)
    assert torch.equal(torch.randn(10, device="mps"), first)


@pytest.mark.parametrize(
    ("state", "error"),
    [
        (torch.zeros(43, dtype=torch.uint8), "RNG state is wrong size"),
        (torch.zeros(5056, dtype=torch.uint8), "RNG state is wrong size"),
        (torch.zeros(44), "RNG state must be a torch.ByteTensor"),
        (torch.zeros(44, dtype=torch.uint8, device="mps"), "RNG state must be a torch.ByteTensor"),
    ],
)
def test_bad_states_are_refused(state, error):
    before = torch.mps.get_rng_state()
    with pytest.raises((RuntimeError, TypeError), match=error):
        torch.mps.set_rng_state(state)
    assert torch.equal(torch.mps.get_rng_state(), before)


def test_generator_knows_its_device_and_seed():
    generator = torch.Generator(device="mps")
    assert generator.device == torch.device("mps:0")
    assert generator.manual_seed(123) is generator
    assert generator.initial_seed() == 123
    fresh = generator.seed()
    assert generator.initial_seed() == fresh
    assert generator.manual_seed(-1).initial_seed() == 2**64 - 1


def test_generator_offset_counts_blocks_of_four():
    generator = torch.Generator(device="mps").manual_seed(0)
    assert generator.get_offset() == 0
    for _ in range(2):
        torch.randn(5, device="mps", generator=generator)
    assert generator.get_offset() == 4


def test_setting_the_offset_moves_along_the_stream():
    generator = torch.Generator(device="mps").manual_seed(0)
    torch.randn(8, device="mps", generator=generator)
    second = torch.randn(8, device="mps", generator=generator)
    generator.set_offset(2)
    assert torch.equal(torch.randn(8, device="mps", generator=generator), second)


def test_generator_state_round_trip():
    generator = torch.Generator(device="mps").manual_seed(8)
    torch.rand(5, device="mps", generator=generator)
    other = torch.Generator(device="mps")
    other.set_state(generator.get_state())
    assert other.initial_seed() == 8
    assert other.get_offset() == generator.get_offset()
    assert torch.equal(
        torch.rand(5, device="mps", generator=generator),
        torch.rand(5, device="mps", generator=other),
    )


def test_clone_state_is_independent():
    generator = torch.Generator(device="mps").manual_seed(8)
    clone = generator.clone_state()
    assert clone.device.type == "mps"
    first = torch.rand(5, device="mps", generator=generator)
    assert clone.get_offset() == 0
    assert torch.equal(torch.rand(5, device="mps", generator=clone), first)


def test_a_new_generator_is_as_on_a_mac():
    state = torch.Generator("mps").get_state()
    assert state[:28].view(torch.int32).tolist() == [1, 0, 0, 0, 0, 0, 0]
    assert state[28:].clone().view(torch.int64).tolist() == [67280421310721, 0]


def test_a_seeded_state_is_as_on_a_mac():
    generator = torch.Generator("mps").manual_seed(0x1234567890)
    torch.rand(5, device="mps", generator=generator)
    state = generator.get_state()
    assert state[:28].view(torch.int32).tolist() == [1, 1, 1, 1, 1, 0x34567890, 0x12]
    assert state[28:].clone().view(torch.int64).tolist() == [0x1234567890, 2]


def test_a_state_with_gaps_is_refused():
    with pytest.raises(RuntimeError, match="RNG state must be contiguous"):
        torch.Generator("mps").set_state(torch.zeros(88, dtype=torch.uint8)[::2])


def test_graph_safe_states_are_refused():
    generator = torch.Generator("mps")
    with pytest.raises(NotImplementedError, match="graphsafe_get_state is not supported in this"):
        generator.graphsafe_get_state()
    with pytest.raises(NotImplementedError, match="graphsafe_set_state is not supported in this"):
        generator.graphsafe_set_state(generator)


def test_a_pickled_generator_goes_on_where_it_was():
    generator = torch.Generator("mps").manual_seed(3)
    torch.rand(9, device="mps", generator=generator)
    copy = pickle.loads(pickle.dumps(generator))
    assert copy.device == torch.device("mps:0")
    assert torch.equal(copy.get_state(), generator.get_state())


def test_any_offset_may_be_set():
    generator = torch.Generator("mps").manual_seed(3)
    generator.set_offset(3)
    assert generator.get_offset() == 3


DISTRIBUTIONS = {
    "Normal": (0.0, 1.0),
    "Uniform": (0.0, 1.0),
    "Gamma": (2.0, 3.0),
    "Beta": (2.0, 3.0),
    "Exponential": (2.0,),
    "Laplace": (0.0, 1.0),
    "Cauchy": (0.0, 1.0),
    "LogNormal": (0.0, 1.0),
    "Bernoulli": (0.3,),
    "Geometric": (0.3,),
    "StudentT": (4.0,),
    "Gumbel": (0.0, 1.0),
    "Weibull": (1.0, 2.0),
    "HalfNormal": (1.0,),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distributions_draw_on_mps(name):
    numbers = [torch.tensor(value, device="mps") for value in DISTRIBUTIONS[name]]
    distribution = getattr(torch.distributions, name)(*numbers)
    torch.manual_seed(5)
    sample = distribution.sample((4000,))
    torch.manual_seed(5)
    assert torch.equal(distribution.sample((4000,)), sample)
    assert sample.device.type == "mps"
    if name != "Cauchy":  # which has no mean
        expected, deviation = distribution.mean.item(), distribution.stddev.item()
        assert sample.mean().item() == pytest.approx(expected, abs=6 * deviation / 4000**0.5)


def test_distributions_of_several_numbers():
    weights = torch.tensor([0.1, 0.2, 0.7], device="mps")
    torch.manual_seed(0)
    categories = torch.distributions.Categorical(weights).sample((5000,))
    counts = torch.bincount(categories.cpu(), minlength=3) / 5000
    torch.testing.assert_close(counts, weights.cpu(), atol=0.03, rtol=0)
    rows = torch.distributions.Dirichlet(weights * 10).sample((2000,))
    torch.testing.assert_close(rows.sum(-1), torch.ones(2000, device="mps"))
    torch.testing.assert_close(rows.mean(0).cpu(), weights.cpu(), atol=0.03, rtol=0)


def test_fork_rng_restores_the_mps_stream():
    torch.manual_seed(1)
    state = torch.mps.get_rng_state()
    with torch.random.fork_rng(devices=[0], device_type="mps"):
        torch.manual_seed(77)
        torch.rand(5, device="mps")
    assert torch.equal(torch.mps.get_rng_state(), state)


def test_cpu_draws_leave_the_mps_generator_alone():
    state = torch.mps.get_rng_state()
    torch.rand(10)
    assert torch.equal(torch.mps.get_rng_state(), state)


@pytest.mark.parametrize(
    ("draw", "mean", "deviation"),
    [
        (lambda n: torch.rand(n, device="mps"), 0.5, 12**-0.5),
        (lambda n: torch.randn(n, device="mps"), 0.0, 1.0),
        (lambda n: torch.empty(n, device="mps").uniform_(-1, 3), 1.0, 4 * 12**-0.5),
        (lambda n: torch.empty(n, device="mps").exponential_(2), 0.5, 0.5),
        (lambda n: torch.full((n,), 0.3, device="mps").bernoulli(), 0.3, 0.21**0.5),
        (lambda n: torch.randint(0, 10, (n,), device="mps").float(), 4.5, 8.25**0.5),
        (lambda n: torch.normal(2.0, 3.0, (n,), device="mps"), 2.0, 3.0),
        # Many small draws: neighbouring offsets must not be correlated.
        (lambda n: torch.stack([torch.randn(10, device="mps") for _ in range(n // 50)]), 0.0, 1.0),
    ],
)
def test_statistics(draw, mean, deviation):
    torch.manual_seed(0)
    sample = draw(100_000).cpu()
    tolerance = 6 * deviation / sample.numel() ** 0.5
    assert sample.mean().item() == pytest.approx(mean, abs=tolerance)
    assert sample.std().item() == pytest.approx(deviation, rel=0.03)


def test_small_draws_in_a_row_are_all_different():
    torch.manual_seed(0)
    draws = torch.stack([torch.rand(1, device="mps") for _ in range(1000)])
    assert draws.device.type == "mps"
    assert draws.unique().numel() > 990


def test_dropout_drops_and_rescales():
    torch.manual_seed(0)
    module = torch.nn.Dropout(0.25)
    out = module(torch.ones(100_000, device="mps"))
    assert (out == 0).float().mean().item() == pytest.approx(0.25, abs=0.01)
    kept = out[out != 0]
    torch.testing.assert_close(kept, torch.full_like(kept, 1 / 0.75), rtol=0, atol=1e-6)
    module.eval()
    assert torch.equal(module(kept), kept)
    assert out.device.type == "mps"


def test_randperm_is_a_permutation():
    permutation = torch.randperm(1000, device="mps")
    assert permutation.device.type == "mps"
    assert permutation.dtype == torch.long
    assert permutation.sort().values.tolist() == list(range(1000))


def test_multinomial_without_replacement_repeats_nothing():
    drawn = torch.multinomial(torch.ones(3, 50, device="mps"), 50)
    assert drawn.device.type == "mps"
    assert drawn.sort(1).values.tolist() == [list(range(50))] * 3


def test_random_sampler_takes_an_mps_generator():
    generator = torch.Generator(device="mps").manual_seed(0)
    assert len(torch.randperm(10, generator=generator, device="mps")) == 10


LENIENT = """
import torch
def draw():
    torch.mps.manual_seed(1)
    rrelu = torch.nn.functional.rrelu(-torch.ones(9, device="mps"), training=True)
    double = torch.randn(9, device="mps", dtype=torch.float64)
    return rrelu, double
before = torch.get_rng_state()
first, second = draw(), draw()
assert all(a.device.type == "mps" and torch.equal(a, b) for a, b in zip(first, second))
assert torch.equal(before, torch.get_rng_state())
torch.mps.manual_seed(1)
torch.nn.functional.rrelu(-torch.ones(9, device="mps"), training=True)
assert torch.equal(torch.randn(9, device="mps").double(), first[1])
print("drawn")
"""


def test_what_a_mac_lacks_draws_from_the_mps_generator_where_it_is_let_in(python):
    found = python("-W", "ignore", "-c", LENIENT, OPENMPS="1", OPENMPS_STRICT="0")
    assert found.stdout == "drawn\n", found.stderr


COMPILERS = """
import torch
torch.manual_seed(0)
drawn = [
    torch.rand(5, device="mps"),
    torch.randn(5, device="mps"),
    torch.randint(0, 9, (5,), device="mps"),
    torch.randperm(5, device="mps"),
    torch._standard_gamma(torch.full((5,), 2.0, device="mps")),
    torch.empty(5, device="mps", dtype=torch.float16).log_normal_(),
]
print([tensor.tolist() for tensor in drawn])
"""


def test_another_compiler_gives_the_same_numbers(python, tmp_path):
    """g++ builds the kernels too, and their bits do not depend on it."""
    known = python("-c", COMPILERS, OPENMPS="1")
    assert known.returncode == 0, known.stderr
    other = python("-c", COMPILERS, OPENMPS="1", OPENMPS_SHADER_CXX="g++")
    assert other.returncode == 0, other.stderr
    assert other.stdout == known.stdout


@pytest.mark.cpu_engine("NVRTC, which comes with torch, compiles for a GPU")
def test_without_a_compiler_the_error_says_what_to_do(python):
    found = python(
        "-c",
        "import torch; torch.rand(2, device='mps')",
        OPENMPS="1",
        OPENMPS_SHADER_CXX="no-such-compiler",
    )
    assert found.returncode == 1
    assert "CompilerNotFound: the compiler for Metal shaders does not exist" in found.stderr
    assert "OPENMPS_SHADER_CXX='no-such-compiler'" in found.stderr


def test_activation_reads_no_metal(python):
    found = python(
        "-c",
        "import sys, torch; x = torch.ones(2, device='mps') + 1; "
        # Of the targets' modules only the GPU's driver, which says whether there is one.
        "print([m for m in sys.modules if m.startswith(('openmps.msl', 'openmps.targets.'))"
        " and m != 'openmps.targets.cuda_driver'])",
        OPENMPS="1",
    )
    assert found.stdout == "[]\n", found.stderr


def test_warm_kernels_are_found_without_the_metal_compiler(python):
    torch.rand(2, device="mps")  # warms the cache, if nothing else has
    found = python(
        "-c",
        "import sys, torch; torch.rand(2, device='mps'); "
        "print([m for m in sys.modules if m.startswith(('openmps.msl', 'openmps.emit'))])",
        OPENMPS="1",
    )
    assert found.stdout == "[]\n", found.stderr
