"""Inputs grow from recorded calls as docs/optimise.md says, and speed-ups are estimated from pairs of measurements."""

import json
import subprocess
import sys

import numpy as np
import pytest

from dlbench.execution.inside.plain_data import Codec
from dlbench.execution.optimise.family import Run, _read_clock
from dlbench.execution.optimise.ratio import estimate
from dlbench.execution.optimise.scale import CannotGrow, grow, join, learn_groups, list_sizes
from dlbench.execution.plus.compare import Answer
from dlbench.execution.plus.nodes import Data


def record(*arguments, **keywords):
    codec = Codec(is_trusted=None)
    node, _, blobs = codec.write((arguments, keywords))
    return Data(json.loads(json.dumps(node)), blobs)


def read(data):
    return Codec(is_trusted=None).read(data.node, [], data.blobs)


def read_input(grown):
    return read(join([grown], 0))[1]


def arrays(size, classes=3):
    rng = np.random.default_rng(size)
    return rng.random((size, classes)), rng.integers(0, classes, size)


def test_sizes_that_are_equal_in_all_calls_grow_together():
    calls = [record(*arrays(size)) for size in (5, 8)]
    assert learn_groups(calls)[0] == (".0.0@0", ".0.1@0")


def test_sizes_that_are_equal_in_one_call_only_grow_apart():
    calls = [record(*arrays(3)), record(*arrays(8))]
    assert learn_groups(calls)[0] == (".0.0@0", ".0.1@0")
    assert (".0.0@1",) in learn_groups(calls)


def test_a_number_that_follows_a_size_grows_with_it():
    calls = [record(np.arange(size) % 3.5, size) for size in (10, 30)]
    (group,) = learn_groups(calls)
    (values, size), _ = read_input(grow(calls[0], group, 4.0, 0))
    assert len(values) == size == 40


def test_a_number_that_happens_to_equal_a_size_of_the_only_call_stays():
    call = record(np.arange(10) % 3.5, 10)
    (values, size), _ = read_input(grow(call, learn_groups([call])[0], 4.0, 0))
    assert (len(values), size) == (40, 10)


def test_rows_of_grown_arrays_stay_aligned():
    call = record(np.array([[0.0], [1.0], [2.0], [1.0]]), [0, 1, 2, 1])
    (rows, labels), _ = read_input(grow(call, learn_groups([call])[0], 5.0, 7))
    assert rows[:, 0].tolist() == labels
    assert len(labels) == 20


def test_nested_lists_grow_at_both_levels_and_stay_aligned():
    truth = [["B-X", "I-X", "O"], ["O"], ["B-Y", "O"]]
    call = record(truth, [list(map(str.lower, one)) for one in truth])
    growing = [path for group in learn_groups([call]) for path in group]
    (grown, lowered), _ = read_input(grow(call, growing, 3.0, 1))
    assert len(grown) == 9
    assert sorted({len(one) for one in grown}) == [3, 6, 9]
    assert lowered == [[tag.lower() for tag in one] for one in grown]


def test_rising_values_go_on_rising_and_intervals_still_meet():
    times = np.array([[0.0, 1.0], [1.0, 2.5], [2.5, 3.0]])
    call = record(times)
    (grown,), _ = read_input(grow(call, [".0.0@0"], 10.0, 3))
    assert len(grown) == 30
    assert np.allclose(grown[1:, 0], grown[:-1, 1])
    assert (np.diff(grown.ravel()) >= 0).all()


def test_probabilities_still_add_up_to_one():
    scores, _ = arrays(6)
    call = record(scores / scores.sum(-1, keepdims=True))
    (grown,), _ = read_input(grow(call, [".0.0@0"], 7.0, 3))
    assert np.allclose(grown.sum(-1), 1)


def test_the_same_seed_gives_the_same_input_and_another_seed_another_one():
    call = record(*arrays(6))
    growing = learn_groups([call])[0]
    assert grow(call, growing, 3.0, 1).digest == grow(call, growing, 3.0, 1).digest
    assert grow(call, growing, 3.0, 1).digest != grow(call, growing, 3.0, 2).digest


def test_a_list_that_is_passed_twice_grows_alike():
    tags = ["a", "b", "c"]
    call = record(tags, tags)
    (one, other), _ = read_input(grow(call, [".0.0#", ".0.1#"], 2.0, 1))
    assert one == other
    assert len(one) == 6


def test_joined_calls_are_read_one_by_one():
    call = record(np.arange(4.0), names=["x"])
    seed, *calls = read(join([call, grow(call, [".0.0@0"], 2.0, 1)], 11))
    assert seed == 11
    assert [len(arguments[0]) for arguments, _ in calls] == [4, 8]
    assert [keywords for _, keywords in calls] == [{"names": ["x"]}] * 2


def test_an_input_that_would_be_too_large_is_refused():
    call = record(np.zeros((100, 100)))
    with pytest.raises(CannotGrow):
        grow(call, [".0.0@0", ".0.0@1"], 1000.0, 0)


def test_words_of_a_text_are_counted():
    assert list_sizes(record("one two three")) == {".0.0#": (3,)}


def run(seconds, besides=0.1):
    return Run(Answer.none(), seconds, besides)


def test_a_speedup_is_the_ratio_of_the_calls():
    found = estimate([run(0.12)] * 8, [run(0.06)] * 8)
    assert found.value == found.low == found.high == 2.0


def test_disturbed_rounds_change_nothing():
    found = estimate([run(0.12)] * 8, [*[run(0.06)] * 5, run(6.0), run(0.06, 1.0), run(0.01)])
    assert found.value == 2.0


def test_the_interval_of_few_rounds_is_their_range_and_shrinks_with_more():
    spread = [0.9, 0.95, 0.98, 0.99, 1.01, 1.02, 1.05, 1.1]
    few = estimate([run(1.0)] * 8, [run(one) for one in spread])
    assert (few.low, few.high) == (pytest.approx(1 / 1.1, abs=1e-4), pytest.approx(1 / 0.9, abs=1e-4))
    more = estimate([run(1.0)] * 32, [run(one) for one in spread * 4])
    assert (more.low, more.high) == (pytest.approx(1 / 1.02, abs=1e-4), pytest.approx(1 / 0.98, abs=1e-4))


def test_work_outside_of_the_call_is_added_to_it():
    found = estimate([run(0.12, 0.1)] * 8, [run(0.001, 0.219)] * 8)
    assert found.value == pytest.approx(1.0, abs=0.01)


def test_work_done_early_in_some_rounds_gains_nothing():
    early, late = run(0.001, 0.219), run(0.12, 0.1)
    assert estimate([run(0.12, 0.1)] * 9, [early, early, late] * 3).value == pytest.approx(1.0, abs=0.01)


def test_noise_outside_of_calls_that_are_short_is_not_charged():
    noise = [0.1 + 0.002 * place for place in range(10)]
    assert estimate([run(0.002, one) for one in noise], [run(0.002, one) for one in reversed(noise)]).value == 1.0


BUSY = """
import sys, time
print(flush=True)
while time.process_time() < 0.1:
    pass
sys.stdin.read()
"""


def test_the_clock_is_read_when_the_process_waits():
    with subprocess.Popen([sys.executable, "-c", BUSY], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        child.stdout.read(1)
        assert _read_clock(child.pid) >= 0.1
