"""What a right answer costs is told from measures side by side, and what is noise is not called a cost."""

import math
import random
from statistics import median

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlbench.analysis.efficiency.measure import (
    AGAIN,
    REFERENCE,
    Kept,
    PassingCandidate,
    ResultCache,
    Taken,
    draw_order,
    find_passing,
    find_unread,
    find_waiting,
    measure_all,
    measure_upkeep,
    name_code,
    name_instance,
    plan_jobs,
    read_kept,
    read_upkeep,
)
from dlbench.analysis.efficiency.summary import Noise, average, find_noise, find_ratio, find_side, summarise
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
    chance = random.Random(seed)
    return [scale * chance.choice([1.0, 1.01, 1.02, 1.03, 2.0]) for _ in range(count)]


def taken(seconds, memory=100.0, status="pass"):
    return Taken(status, seconds, seconds, memory, "in_place")


def test_a_ratio_is_that_of_the_medians_and_one_disturbed_round_does_not_change_it():
    found = find_ratio([2, 2, 2, 200, 2], [1, 1, 1, 1, 1])
    assert (found.value, found.candidate, found.reference, found.rounds) == (2, 2, 1, 5)
    assert find_ratio([2] * 5, [1] * 5).interval.high == 2


def test_what_slows_a_whole_round_slows_both_and_cancels():
    slowness = [1, 1, 7, 1, 3, 9, 1]
    found = find_ratio([2 * one for one in slowness], slowness)
    assert (found.value, found.interval.low, found.interval.high) == (2, 2, 2)


def test_the_interval_is_that_of_resampled_rounds():
    above, below = draws(1, 1.5), draws(2)
    rng = np.random.default_rng(5)
    places = rng.integers(0, 9, (20_000, 9))
    ratios = np.median(np.array(above)[places], axis=1) / np.median(np.array(below)[places], axis=1)
    found = find_ratio(above, below).interval
    # a thousand resamples of ours against twenty thousand of another generator: values come in steps of a percent
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(ratios, [0.025, 0.975])), rel=0.02)
    assert find_ratio(above, below).interval == found


def test_two_rounds_have_no_interval_and_nothing_to_divide_by_no_ratio():
    assert math.isnan(find_ratio([1, 2], [1, 2]).interval.low)
    for nothing in (find_ratio([], []), find_ratio([1.0, 1.0, 1.0], [0.0, 0.0, 0.0])):
        assert math.isnan(nothing.value)


def test_equal_series_hold_one():
    noise = find_noise([(draws(2 * seed), draws(2 * seed + 1)) for seed in range(200)])
    assert noise.holding > 0.85  # seeded, and so the same every time
    assert 1 < noise.reach < 2.1


def test_noise_is_what_nineteen_of_twenty_references_stay_within():
    itself = [([ratio] * 5, [1.0] * 5) for ratio in [1.0] * 18 + [0.5, 1.1]]
    noise = find_noise(itself)
    assert noise.instances == 20
    assert 1.1 <= noise.reach < 2
    assert noise.holding == pytest.approx(18 / 20)
    assert math.isnan(find_noise([]).reach)


def noise_of(reach):
    return Noise(9, reach, 1.0, 1.0, Interval(1.0, 1.0, "bootstrap"))


def test_a_difference_within_the_noise_is_none_whatever_its_interval():
    sure, unsure = find_ratio([1.2] * 5, [1.0] * 5), find_ratio([0.5, 4, 4, 0.5, 4], [1.0] * 5)
    assert find_side(sure, noise_of(1.1)) == 1
    assert find_side(sure, noise_of(1.3)) == 0
    assert find_side(unsure, noise_of(1.1)) == 0
    assert find_side(find_ratio([0.5] * 5, [1.0] * 5), noise_of(1.1)) == -1
    assert find_side(find_ratio([9.0], [1.0]), noise_of(1.1)) == 0


@given(st.integers(1, 6), st.integers(0, 5), st.text(max_size=5))
def test_everyone_has_every_place_as_often_and_a_seed_gives_one_order(count, block, seed):
    names = [f"c{number}" for number in range(count)]
    rounds = [draw_order(names, block * count + step, seed) for step in range(count)]
    for place in zip(*rounds, strict=True):
        assert sorted(place) == names
    assert rounds == [draw_order(names, block * count + step, seed) for step in range(count)]


def test_the_reference_against_itself_has_a_mean_to_tell_a_run_from():
    noise = find_noise([([ratio] * 5, [1.0] * 5) for ratio in (2.0, 0.5, 4.0, 0.25, 1.0)])
    assert noise.mean == pytest.approx(1)
    assert noise.interval.low < 1 < noise.interval.high


def test_instances_that_agree_by_chance_are_no_surer_than_their_rounds():
    """Each ratio is 2 with rounds that go from 1 to 4: that all five are 2 does not make it certain."""
    unsure = ([1.0, 1.0, 2.0, 4.0, 4.0], [1.0] * 5)
    mean, interval = average([[unsure]] * 5)
    assert mean == pytest.approx(2)
    assert interval.low < 1.5 < 2.5 < interval.high
    assert average([[([2.0] * 5, [1.0] * 5)]] * 5)[1].low == pytest.approx(2)


def make_measures(ratios, memory=1.0, rounds=5):
    """An instance a ratio: one sample, and the reference always at 1 s and 100 MiB."""
    instances = list(make_benchmark(len(ratios)).instances.values())
    kept = Kept()
    passing = [PassingCandidate(instance, {0: f"code of {instance.id}"}) for instance in instances]
    for one, ratio in zip(passing, ratios, strict=True):
        for _ in range(rounds):
            found = {REFERENCE: taken(1.0), AGAIN: taken(1.0)}
            kept.rounds[one.about].append(found | {name: taken(ratio, 100 * memory) for name in one.candidates})
    return passing, kept


def test_twice_as_slow_and_twice_as_fast_cancel():
    time, processor, memory = summarise("m", *make_measures([2.0, 0.5, 4.0, 0.25, 1.0, 1.0], memory=1.5)).costs
    assert (time.mean, time.more, time.less) == (pytest.approx(1), 2, 2)
    assert time.interval.low < 1 < time.interval.high
    assert processor.mean == time.mean
    assert (memory.mean, memory.more, memory.less) == (pytest.approx(1.5), 6, 0)
    assert (time.noise.reach, time.noise.holding, time.reference) == (1, 1, 1)


def test_samples_of_an_instance_count_together_as_one():
    passing, kept = make_measures([2.0, 1.0])
    first = PassingCandidate(passing[0].instance, dict.fromkeys(range(5), passing[0].codes[0]))
    time, *_ = summarise("m", [first, passing[1]], kept).costs
    assert time.mean == pytest.approx(math.sqrt(2))
    assert (time.instances, time.samples, time.more) == (2, 6, 5)
    assert math.isnan(time.interval.low)  # of two instances


def test_who_does_not_pass_again_is_named_and_counted_nowhere():
    passing, kept = make_measures([2.0, 1.0])
    (name,) = passing[0].candidates
    kept.rounds[passing[0].about].append({REFERENCE: taken(1), AGAIN: taken(1), name: taken(9, status="fail")})
    found = summarise("m", passing, kept)
    assert found.unsteady == (f"{passing[0].instance.id} (sample 0)",)
    assert [one.instance for one in found.beside] == [passing[1].instance.id]
    assert find_waiting(passing[0].candidates, kept.rounds[passing[0].about], repeats=99) == []


def test_what_no_round_was_run_of_is_not_taken_for_measured():
    passing, kept = make_measures([2.0])
    other = PassingCandidate(passing[0].instance, {0: "other code"})
    found = summarise("m", [other], kept)
    assert (found.unmeasured, found.beside) == (1, ())
    assert math.isnan(found.costs[0].mean)


def test_only_what_passes_is_measured_and_the_same_code_once():
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
    return measure_upkeep(TargetInModule(changed, MODULE).read(code).spliced)


def test_layout_comments_and_docstrings_change_no_upkeep():
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


def test_helpers_that_come_along_are_counted_and_restated_context_is_not():
    helped = "def double(x):\n    if x:\n        return x\n    return 2 * x\n\ndef scale(values, factor=2):\n    return [double(value) for value in values]\n"
    alone = "def scale(values, factor=2):\n    return [value for value in values]\n"
    assert read(helped).lines == read(alone).lines + 4
    assert read(helped).cyclomatic == read(alone).cyclomatic + 1
    assert read(helped).index < read(alone).index
    method = "    def step(self, by=1):\n        self.count += by\n        return self.count\n"
    wrapped = f"class Counter:\n    def __init__(self, start=0):\n        self.count = start\n\n{method}"
    assert read(wrapped, "Counter.step") == read(method, "Counter.step")


def test_upkeep_is_set_against_the_reference():
    passing, kept = make_measures([1.0] * 6)
    short, long = read("def scale(values, factor=2):\n    return values\n"), read(MODULE)
    for one in passing:
        kept.upkeep[one.about] = {REFERENCE: short} | dict.fromkeys(one.candidates, long)
    lines, cyclomatic, cognitive, index = summarise("m", passing, kept).upkeep
    assert (lines.reference, lines.candidate, lines.ratio) == (short.lines, long.lines, long.lines / short.lines)
    assert (lines.more, lines.less, lines.interval.low) == (1, 0, lines.ratio)
    assert cyclomatic.ratio > 1
    assert math.isnan(cognitive.ratio)  # the reference has none: nothing to divide by
    assert index.ratio < 1


@pytest.fixture
def measured(toy, toy_prepared, engine, tmp_path):
    """Measures candidates on the toy project, for real; gives what is kept."""
    instance = toy.instances[SCALE]

    def measure(*codes, repeats=3, seed=0):
        passing = [PassingCandidate(instance, dict(enumerate(codes)))]
        path = tmp_path / "efficiency.jsonl"
        with Journal(path) as journal:
            kept = read_kept(path)
            keeper = ResultCache(journal, kept)
            jobs, unread = plan_jobs(passing, kept, repeats), find_unread(passing, kept)
            read_upkeep(unread, {"toy": toy_prepared}, keeper)
            why = measure_all(engine, {"toy": toy_prepared}, jobs, keeper.keep_round, repeats=repeats, seed=seed)
        return passing, kept, why

    measure.path = tmp_path / "efficiency.jsonl"
    measure.about = name_instance(instance)
    return measure


def test_a_candidate_that_sleeps_is_slower_and_one_that_allocates_is_larger(measured):
    """By so much that no machine is busy enough to hide it: a second against milliseconds, 150 MiB against none."""
    passing, kept, why = measured(SLOW, LARGE)
    assert why == {}
    slow, large = summarise("m", passing, kept).beside
    assert (slow.samples, large.samples) == ((0,), (1,))
    time, memory = slow.ratios["time"], large.ratios["memory"]
    rounds = [one[name_code(SLOW)] for one in kept.rounds[measured.about]]
    assert min(one.seconds for one in rounds) >= 5 * 0.2
    assert time.candidate > time.reference
    # who sleeps does not work; the ratio has no value where the toy's reference takes less than the clock can tell
    assert median(one.processor for one in rounds) < 5 * 0.2
    assert memory.candidate - memory.reference > 100
    assert kept.upkeep[measured.about][name_code(SLOW)].lines > kept.upkeep[measured.about][REFERENCE].lines


def test_every_round_holds_the_reference_twice_and_all_candidates_served_alike_in_orders_that_differ(measured):
    imported = "LATER = len('ab') - 2\n\n" + SLOW.replace("0.2", "LATER")  # computes at once, so it must be imported
    passing, kept, _ = measured(imported, SLOW.replace("0.2", "0"), repeats=4)
    rounds = kept.rounds[measured.about]
    assert len(rounds) == 4
    assert {frozenset(one) for one in rounds} == {frozenset({REFERENCE, AGAIN, *passing[0].candidates})}
    assert {each.mode for one in rounds for each in one.values()} == {"imported"}
    assert len({tuple(one) for one in rounds}) > 1


def test_what_was_stopped_goes_on_and_what_is_there_is_not_run_again(measured):
    fast = SLOW.replace("0.2", "0")
    measured(fast)
    lines = measured.path.read_text().splitlines(keepends=True)
    measured.path.write_text("".join(lines[:-1]) + lines[-1][:20])  # a kill in the middle of the last round
    _, kept, _ = measured(fast)
    assert len(kept.rounds[measured.about]) == 3
    again = measured.path.read_text()
    assert again.startswith("".join(lines[:-1]))
    measured(fast)
    assert measured.path.read_text() == again
    _, kept, _ = measured(fast, fast + "\n# another text\n")
    assert len(kept.rounds[measured.about]) == 6


def test_a_candidate_that_does_not_pass_again_is_run_no_more(measured):
    wrong = "def scale(values, factor=2):\n    return values\n"
    passing, kept, why = measured(wrong, repeats=5)
    assert why == {}
    assert len(kept.rounds[measured.about]) == 1
    assert summarise("m", passing, kept).unsteady == (f"{SCALE} (sample 0)",)


def test_an_instance_whose_reference_does_not_pass_is_given_up_and_nothing_of_it_is_kept(toy, toy_prepared, engine):
    gone = "tests/test_core.py::test_that_is_not_there"
    instance = toy.instances[SCALE].model_copy(update={"tests": (gone,)})
    jobs = plan_jobs([PassingCandidate(instance, {0: SLOW})], Kept(), 3)
    kept = []
    why = measure_all(engine, {"toy": toy_prepared}, jobs, lambda *found: kept.append(found), repeats=3, seed=0)
    assert why[SCALE].startswith("the reference: ")
    assert kept == []


def test_measures_of_other_tests_or_another_reference_are_not_taken(toy):
    instance = toy.instances[SCALE]
    names = {
        name_instance(instance),
        name_instance(instance.model_copy(update={"tests": instance.tests[1:]})),
        name_instance(instance.model_copy(update={"sha256": "0" * 64})),
    }
    assert len(names) == 3


@pytest.mark.parametrize(
    "line", ['{"about": "x"}', '{"about": "x", "round": {"reference": 1}}', '{"about": "x", "round": {}}']
)
def test_a_strange_journal_is_named_with_its_line(tmp_path, line):
    path = tmp_path / "efficiency.jsonl"
    path.write_text(f'{{"about": "x", "upkeep": {{}}}}\n{line}\n')
    with pytest.raises(DLBenchError, match="not a measure") as caught:
        read_kept(path)
    assert f"{path}:2" in str(caught.value)
