"""The cost of a passing answer is measured side by side with the reference, and noise is not reported as cost."""

import math
import random
from statistics import median

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlbench.analysis.efficiency import Noise, average, find_direction, find_noise, find_ratio, summarise
from dlbench.analysis.measurements import (
    AGAIN,
    REFERENCE,
    Measurement,
    MeasureStore,
    PassingCandidates,
    code_key,
    draw_order,
    find_passing,
    instance_key,
    list_unmeasured,
    measure_all,
    measure_code_of,
    measure_maintainability,
)
from dlbench.errors import DLBenchError
from dlbench.execution.engine import TargetInModule
from dlbench.jsonl import Journal
from dlbench.runs.samples import Sample
from dlbench.scoring import Interval
from tests.conftest import MODULE
from tests.scoring.made import make_benchmark, verdict

SCALE = "toy/toy.core.scale"
SLOW = """import time

def scale(values, factor=2):
    time.sleep(0.2)
    if factor == 0:
        raise ValueError
    return [value * factor for value in values]
"""
LARGE = """def scale(values, factor=2):
    ballast = bytearray(150 << 20)
    ballast[::4096] = b"x" * len(ballast[::4096])
    if factor == 0:
        raise ValueError
    return [value * factor for value in values]
"""


def draws(seed, scale=1.0, count=9):
    """Times of a machine with other work: mostly alike, some twice as long."""
    rng = random.Random(seed)
    return [scale * rng.choice([1.0, 1.01, 1.02, 1.03, 2.0]) for _ in range(count)]


def measured_as(seconds, memory=100.0, status="pass"):
    return Measurement(status, seconds, seconds, memory, "in_place")


def test_ratio_of_medians_ignores_one_disturbed_round():
    found = find_ratio([2, 2, 2, 200, 2], [1, 1, 1, 1, 1])
    assert (found.value, found.candidate, found.reference, found.rounds) == (2, 2, 1, 5)
    assert find_ratio([2] * 5, [1] * 5).interval.high == 2


def test_slowness_of_a_whole_round_cancels():
    slowness = [1, 1, 7, 1, 3, 9, 1]
    found = find_ratio([2 * one for one in slowness], slowness)
    assert (found.value, found.interval.low, found.interval.high) == (2, 2, 2)


def test_interval_resamples_rounds():
    above, below = draws(1, 1.5), draws(2)
    rng = np.random.default_rng(5)
    places = rng.integers(0, 9, (20_000, 9))
    ratios = np.median(np.array(above)[places], axis=1) / np.median(np.array(below)[places], axis=1)
    found = find_ratio(above, below).interval
    # a thousand resamples of ours against twenty thousand of another generator: values come in steps of a percent
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(ratios, [0.025, 0.975])), rel=0.02)
    assert find_ratio(above, below).interval == found


def test_two_rounds_have_no_interval_and_zero_reference_no_ratio():
    assert math.isnan(find_ratio([1, 2], [1, 2]).interval.low)
    for nothing in (find_ratio([], []), find_ratio([1.0, 1.0, 1.0], [0.0, 0.0, 0.0])):
        assert math.isnan(nothing.value)


def test_intervals_of_equal_series_contain_one():
    noise = find_noise([(draws(2 * seed), draws(2 * seed + 1)) for seed in range(200)])
    assert noise.coverage > 0.85  # seeded, and so the same every time
    assert 1 < noise.reach < 2.1


def test_noise_is_the_factor_that_contains_19_of_20_references():
    itself = [([ratio] * 5, [1.0] * 5) for ratio in [1.0] * 18 + [0.5, 1.1]]
    noise = find_noise(itself)
    assert noise.instances == 20
    assert 1.1 <= noise.reach < 2
    assert noise.coverage == pytest.approx(18 / 20)
    assert math.isnan(find_noise([]).reach)


def noise_of(reach):
    return Noise(9, reach, 1.0, 1.0, Interval(1.0, 1.0, "bootstrap"))


def test_difference_within_noise_has_no_direction():
    sure, unsure = find_ratio([1.2] * 5, [1.0] * 5), find_ratio([0.5, 4, 4, 0.5, 4], [1.0] * 5)
    assert find_direction(sure, noise_of(1.1)) == 1
    assert find_direction(sure, noise_of(1.3)) == 0
    assert find_direction(unsure, noise_of(1.1)) == 0
    assert find_direction(find_ratio([0.5] * 5, [1.0] * 5), noise_of(1.1)) == -1
    assert find_direction(find_ratio([9.0], [1.0]), noise_of(1.1)) == 0


@given(st.integers(1, 6), st.integers(0, 5), st.text(max_size=5))
def test_orders_are_balanced_and_seeded(count, block, seed):
    names = [f"c{number}" for number in range(count)]
    rounds = [draw_order(names, block * count + step, seed) for step in range(count)]
    for place in zip(*rounds, strict=True):
        assert sorted(place) == names
    assert rounds == [draw_order(names, block * count + step, seed) for step in range(count)]


def test_noise_has_a_mean_and_an_interval():
    noise = find_noise([([ratio] * 5, [1.0] * 5) for ratio in (2.0, 0.5, 4.0, 0.25, 1.0)])
    assert noise.mean == pytest.approx(1)
    assert noise.interval.low < 1 < noise.interval.high


def test_interval_of_mean_includes_the_spread_of_rounds():
    """Each ratio is 2 with rounds from 1 to 4; five equal ratios do not make it certain."""
    unsure = ([1.0, 1.0, 2.0, 4.0, 4.0], [1.0] * 5)
    mean, interval = average([[unsure]] * 5)
    assert mean == pytest.approx(2)
    assert interval.low < 1.5 < 2.5 < interval.high
    assert average([[([2.0] * 5, [1.0] * 5)]] * 5)[1].low == pytest.approx(2)


def make_measures(ratios, memory=1.0, rounds=5):
    """An instance a ratio: one sample, and the reference always at 1 s and 100 MiB."""
    instances = list(make_benchmark(len(ratios)).instances.values())
    store = MeasureStore()
    passing = [PassingCandidates(instance, {0: f"code of {instance.id}"}) for instance in instances]
    for one, ratio in zip(passing, ratios, strict=True):
        for _ in range(rounds):
            found = {REFERENCE: measured_as(1.0), AGAIN: measured_as(1.0)}
            store.rounds[one.key].append(found | {name: measured_as(ratio, 100 * memory) for name in one.candidates})
    return passing, store


def test_twice_as_slow_and_twice_as_fast_cancel():
    time, processor, memory = summarise("m", *make_measures([2.0, 0.5, 4.0, 0.25, 1.0, 1.0], memory=1.5)).costs
    assert (time.mean, time.more, time.less) == (pytest.approx(1), 2, 2)
    assert time.interval.low < 1 < time.interval.high
    assert processor.mean == time.mean
    assert (memory.mean, memory.more, memory.less) == (pytest.approx(1.5), 6, 0)
    assert (time.noise.reach, time.noise.coverage, time.reference) == (1, 1, 1)


def test_samples_of_an_instance_count_as_one():
    passing, store = make_measures([2.0, 1.0])
    first = PassingCandidates(passing[0].instance, dict.fromkeys(range(5), passing[0].codes[0]))
    time, *_ = summarise("m", [first, passing[1]], store).costs
    assert time.mean == pytest.approx(math.sqrt(2))
    assert (time.instances, time.samples, time.more) == (2, 6, 5)
    assert math.isnan(time.interval.low)  # of two instances


def test_unstable_sample_is_named_and_not_counted():
    passing, store = make_measures([2.0, 1.0])
    (name,) = passing[0].candidates
    store.rounds[passing[0].key].append(
        {REFERENCE: measured_as(1), AGAIN: measured_as(1), name: measured_as(9, status="fail")}
    )
    found = summarise("m", passing, store)
    assert found.unstable == (f"{passing[0].instance.id} (sample 0)",)
    assert [one.instance for one in found.candidates] == [passing[1].instance.id]
    assert store.count_missing(passing[0], repeats=99) == {}


def test_sample_without_rounds_is_unmeasured():
    passing, store = make_measures([2.0])
    other = PassingCandidates(passing[0].instance, {0: "other code"})
    found = summarise("m", [other], store)
    assert (found.unmeasured, found.candidates) == (1, ())
    assert math.isnan(found.costs[0].mean)


def test_only_passing_samples_are_measured_and_equal_code_once():
    benchmark = make_benchmark(2)
    first, second = benchmark.instances.values()
    name = first.qualname
    codes = [f"def {name}():\n    return 1\n"] * 2 + [f"def {name}():\n    return 2\n"]
    samples = [Sample(first.id, number, code, is_code=True) for number, code in enumerate(codes)]
    samples.append(Sample(second.id, 0, "def f1(): ...", is_code=True))
    verdicts = [verdict(first.id, True, 0), verdict(first.id, True, 1), verdict(first.id, False, 2)]
    (found,) = find_passing([*verdicts, verdict(second.id, False)], samples, benchmark.instances.values())
    assert (found.instance, list(found.codes), len(found.candidates)) == (first, [0, 1], 1)


def read(code, qualname="scale"):
    instance = make_benchmark(1).instances["p0/m.f0"]
    changed = instance.model_copy(update={"path": "toy/core.py", "qualname": qualname})
    return measure_maintainability(TargetInModule(changed, MODULE).read(code).spliced)


def test_formatting_comments_and_docstrings_do_not_count():
    bare = "def scale(values, factor=2):\n    return [value * factor for value in values]\n"
    laid_out = '''def scale(
    values,
    factor=2,
):
    """Words upon words.

    And more of them.
    """
    # a comment
    return [
        value * factor
        for value in values
    ]
'''
    assert read(bare) == read(laid_out)
    assert read(bare).lines == 2


def test_helpers_count_and_repeated_context_does_not():
    helped = "def double(x):\n    if x:\n        return x\n    return 2 * x\n\ndef scale(values, factor=2):\n    return [double(value) for value in values]\n"
    alone = "def scale(values, factor=2):\n    return [value for value in values]\n"
    assert read(helped).lines == read(alone).lines + 4
    assert read(helped).cyclomatic == read(alone).cyclomatic + 1
    assert read(helped).index < read(alone).index
    method = "    def step(self, by=1):\n        self.count += by\n        return self.count\n"
    wrapped = f"class Counter:\n    def __init__(self, start=0):\n        self.count = start\n\n{method}"
    assert read(wrapped, "Counter.step") == read(method, "Counter.step")


def test_maintainability_is_compared_with_the_reference():
    passing, store = make_measures([1.0] * 6)
    short, long = read("def scale(values, factor=2):\n    return values\n"), read(MODULE)
    for one in passing:
        store.maintainability[one.key] = {REFERENCE: short} | dict.fromkeys(one.candidates, long)
    lines, cyclomatic, cognitive, index = summarise("m", passing, store).maintainability
    assert (lines.reference, lines.candidate, lines.ratio) == (short.lines, long.lines, long.lines / short.lines)
    assert (lines.more, lines.less, lines.interval.low) == (1, 0, lines.ratio)
    assert cyclomatic.ratio > 1
    assert math.isnan(cognitive.ratio)  # the reference has none: nothing to divide by
    assert index.ratio < 1


@pytest.fixture
def measured(toy, toy_prepared, engine, tmp_path):
    """Measure candidates on the toy project; return what is stored."""
    instance = toy.instances[SCALE]

    def measure(*codes, repeats=3, seed=0):
        passing = [PassingCandidates(instance, dict(enumerate(codes)))]
        path = tmp_path / "efficiency.jsonl"
        with Journal(path) as journal:
            store = MeasureStore(path, journal)
            measure_code_of(list_unmeasured(passing, store), {"toy": toy_prepared}, store)
            jobs = [one for one in passing if store.count_missing(one, repeats)]
            why = measure_all(engine, {"toy": toy_prepared}, jobs, store, repeats=repeats, seed=seed)
        return passing, store, why

    measure.path = tmp_path / "efficiency.jsonl"
    measure.key = instance_key(instance)
    return measure


@pytest.mark.slow
def test_sleeping_candidate_is_slower_and_allocating_one_is_larger(measured):
    """The differences are too large for a busy machine to hide: a second against milliseconds, 150 MiB against none."""
    passing, store, why = measured(SLOW, LARGE)
    assert why == {}
    slow, large = summarise("m", passing, store).candidates
    assert (slow.samples, large.samples) == ((0,), (1,))
    time, memory = slow.ratios["time"], large.ratios["memory"]
    rounds = [one[code_key(SLOW)] for one in store.rounds[measured.key]]
    assert min(one.seconds for one in rounds) >= 5 * 0.2
    assert time.candidate > time.reference
    # Sleeping takes no CPU time; the ratio has no value if the reference takes less than the clock resolves.
    assert median(one.processor for one in rounds) < 5 * 0.2
    assert memory.candidate - memory.reference > 100
    assert (
        store.maintainability[measured.key][code_key(SLOW)].lines > store.maintainability[measured.key][REFERENCE].lines
    )


@pytest.mark.slow
def test_round_has_two_references_and_all_candidates_in_one_mode_and_varying_order(measured):
    imported = "LATER = len('ab') - 2\n\n" + SLOW.replace("0.2", "LATER")  # computes at once, so it must be imported
    passing, store, _ = measured(imported, SLOW.replace("0.2", "0"), repeats=4)
    rounds = store.rounds[measured.key]
    assert len(rounds) == 4
    assert {frozenset(one) for one in rounds} == {frozenset({REFERENCE, AGAIN, *passing[0].candidates})}
    assert {each.mode for one in rounds for each in one.values()} == {"imported"}
    assert len({tuple(one) for one in rounds}) > 1


def test_interrupted_measurement_resumes_without_repeating_rounds(measured):
    fast = SLOW.replace("0.2", "0")
    measured(fast)
    lines = measured.path.read_text().splitlines(keepends=True)
    measured.path.write_text("".join(lines[:-1]) + lines[-1][:20])  # a kill in the middle of the last round
    _, store, _ = measured(fast)
    assert len(store.rounds[measured.key]) == 3
    again = measured.path.read_text()
    assert again.startswith("".join(lines[:-1]))
    measured(fast)
    assert measured.path.read_text() == again
    _, store, _ = measured(fast, fast + "\n# another text\n")
    assert len(store.rounds[measured.key]) == 6


def test_candidate_that_fails_a_round_is_not_run_again(measured):
    wrong = "def scale(values, factor=2):\n    return values\n"
    passing, store, why = measured(wrong, repeats=5)
    assert why == {}
    assert len(store.rounds[measured.key]) == 1
    assert summarise("m", passing, store).unstable == (f"{SCALE} (sample 0)",)


def test_instance_with_failing_reference_is_given_up(toy, toy_prepared, engine):
    gone = "tests/test_core.py::test_that_is_not_there"
    instance = toy.instances[SCALE].model_copy(update={"tests": (gone,)})
    passing, store = [PassingCandidates(instance, {0: SLOW})], MeasureStore()
    why = measure_all(engine, {"toy": toy_prepared}, passing, store, repeats=3, seed=0)
    assert why[SCALE].startswith("the reference: ")
    assert store.rounds[passing[0].key] == []


def test_instance_key_depends_on_tests_and_reference(toy):
    instance = toy.instances[SCALE]
    names = {
        instance_key(instance),
        instance_key(instance.model_copy(update={"tests": instance.tests[1:]})),
        instance_key(instance.model_copy(update={"sha256": "0" * 64})),
    }
    assert len(names) == 3


@pytest.mark.parametrize(
    "line", ['{"about": "x"}', '{"about": "x", "round": {"reference": 1}}', '{"about": "x", "round": {}}']
)
def test_invalid_journal_line_is_named(tmp_path, line):
    path = tmp_path / "efficiency.jsonl"
    path.write_text(f'{{"about": "x", "maintainability": {{}}}}\n{line}\n')
    with pytest.raises(DLBenchError, match="not a measurement") as caught:
        MeasureStore(path)
    assert f"{path}:2" in str(caught.value)
