"""Chance falls anew for every sample of every run, and the same again for the same one."""

from itertools import product

from dlbench.generation.sampling import draw_seed

INSTANCES = [f"toy/toy.f{number}" for number in range(20)]


def test_no_two_samples_share_a_seed_within_a_run_or_between_runs() -> None:
    wanted = list(product(range(5), INSTANCES, range(10)))
    assert len({draw_seed(*one) for one in wanted}) == len(wanted)


def test_a_seed_is_the_same_everywhere_and_fits_what_endpoints_take() -> None:
    assert draw_seed(1, "toy/toy.f0", 0) == draw_seed(1, "toy/toy.f0", 0)
    assert all(0 <= draw_seed(seed, instance, 0) < 2**31 for seed in range(20) for instance in INSTANCES)
