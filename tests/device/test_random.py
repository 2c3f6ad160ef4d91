from __future__ import annotations

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
    "poisson": lambda: torch.poisson(torch.full((50,), 20.0, device="mps")),
    "multinomial": lambda: torch.multinomial(torch.ones(100, device="mps"), 20),
    "multinomial_replaced": lambda: torch.multinomial(torch.ones(100, device="mps"), 20, True),
    "dropout": lambda: torch.nn.functional.dropout(torch.ones(50, device="mps"), 0.5),
    "alpha_dropout": lambda: torch.nn.functional.alpha_dropout(
        torch.ones(50, device="mps"), 0.5, training=True
    ),
    "dropout2d": lambda: torch.nn.functional.dropout2d(torch.ones(5, 20, 2, 2, device="mps"), 0.5),
    "rrelu": lambda: torch.nn.functional.rrelu(-torch.ones(50, device="mps"), training=True),
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
    "poisson": lambda g: torch.poisson(torch.full((50,), 20.0, device="mps"), generator=g),
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
    with pytest.raises(RuntimeError, match="Expected a 'mps' device type for generator but found"):
        WITH_GENERATOR[name](torch.Generator())


def test_an_mps_generator_is_refused_by_the_cpu():
    generator = torch.Generator(device="mps").manual_seed(0)
    with pytest.raises(RuntimeError, match="Expected"):
        torch.rand(2, generator=generator)
    assert generator.get_offset() == 0


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
        (lambda n: torch.poisson(torch.full((n,), 4.0, device="mps")), 4.0, 2.0),
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
