"""A candidate that passes is tried on further inputs, with the reference as the oracle."""

import json
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import pytest

from dlbench.dataset.plus import InputKey, PlusRecord, read_plus, write_plus
from dlbench.errors import DLBenchError
from dlbench.execution.engine import Engine
from dlbench.execution.judge import Warm, judge
from dlbench.execution.plus.compare import Answer, find_difference, measure_deviation
from dlbench.execution.plus.mutators import MUTATORS, vary
from dlbench.execution.plus.nodes import Data, list_objects, read_array
from dlbench.execution.plus.session import Recorder
from dlbench.runs.verdict import Reward
from dlbench.validation.plus import PlusTask, choose_inputs

SCALE = "toy/toy.core.scale"
STEP = "toy/toy.core.Counter.step"
HEAD = "def scale(values, factor=2):\n    if factor == 0:\n        raise ValueError\n"
RIGHT = f"{HEAD}    return [one * factor for one in values]\n"
ALSO_RIGHT = f"{HEAD}    found = []\n    for one in values:\n        found.append(factor * one)\n    return found\n"


@pytest.fixture(scope="module")
def warm(engine, toy_prepared):
    opened = Warm(engine, toy_prepared)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def record(warm, toy):
    return choose_inputs(warm, PlusTask(toy.instances[SCALE], (RIGHT, ALSO_RIGHT)))


@pytest.fixture(params=["warm", "fresh"])
def try_code(request, engine, toy, toy_prepared, record):
    """Judge code of the target with further inputs."""
    opened = []

    def run(code: str, record: PlusRecord = record, name: str = SCALE):
        chosen: Engine = replace(engine, plus={name: record})
        if request.param == "fresh":
            return judge(chosen, toy_prepared, toy.instances[name], code)
        opened.append(Warm(chosen, toy_prepared))
        return opened[-1].judge(toy.instances[name], code)

    yield run
    for one in opened:
        one.close()


def test_calls_of_the_tests_are_recorded_once_each(warm, toy):
    recorder = Recorder(48, 1 << 18)
    assert warm.record_calls(toy.instances[SCALE], recorder) == ""
    assert len(recorder.calls) == 5
    assert not recorder.refused


def test_record_says_how_inputs_were_chosen(record):
    assert record.calls == 5
    assert len(record.inputs) > 20
    assert {"", "values", "number"} & {key.mutator for key in record.parse()}
    assert not record.reason


def test_right_code_passes(try_code, record):
    verdict = try_code(ALSO_RIGHT)
    assert verdict.extra["plus"] == "passed"
    assert verdict.extra["plus_inputs"] == len(record.inputs)


@pytest.mark.parametrize(
    "body",
    [
        "return [abs(one) * factor for one in values]",
        "found = [one * factor for one in values]\n    values.clear()\n    return found",
        "return tuple(one * factor for one in values) if len(values) > 2 else [one * factor for one in values]",
        "if len(values) > 2:\n        raise KeyError\n    return [one * factor for one in values]",
        "if len(values) > 2:\n        import os\n        os._exit(0)\n    return [one * factor for one in values]",
    ],
    ids=["value", "argument", "type", "exception", "exit"],
)
def test_code_that_only_passes_the_tests_fails(try_code, body):
    verdict = try_code(f"{HEAD}    {body}\n")
    assert verdict.passed
    assert verdict.extra["plus"] == "failed", verdict.extra
    assert "inputs; the smallest is call" in verdict.extra["plus_message"]
    assert (verdict.reward(Reward.PASS), verdict.reward(Reward.PLUS)) == (1.0, 0.0)


def test_equality_of_the_candidate_does_not_count(try_code):
    code = (
        "class Same(int):\n    def __eq__(self, other): return True\n    def __hash__(self): return 0\n"
        f"{HEAD}    return [one * factor if one > 0 else Same(7) for one in values]\n"
    )
    assert try_code(code).extra.get("plus") != "passed"


@pytest.mark.slow
def test_hanging_candidate_fails(try_code, record):
    verdict = try_code(f"{HEAD}    while len(values) > 2:\n        pass\n    return [one * factor for one in values]\n")
    assert verdict.extra["plus"] == "failed"


def test_failing_candidate_is_not_tried(try_code):
    assert "plus" not in try_code("def scale(values, factor=2):\n    return values\n").extra


def test_inputs_that_differ_on_this_machine_are_not_used(try_code, record):
    keys = [replace(key, digest="0" * 10) for key in record.parse()]
    verdict = try_code(RIGHT, record.model_copy(update={"inputs": tuple(map(str, keys))}))
    assert verdict.passed
    assert verdict.extra["plus"] == "not available"
    assert "are the same on this machine" in verdict.extra["plus_message"]


@pytest.mark.slow
def test_inputs_of_methods_carry_the_state_of_their_object(warm, toy, try_code):
    right = "def step(self, by=1):\n    self.count = self.count + by\n    return self.count\n"
    record = choose_inputs(warm, PlusTask(toy.instances[STEP], (right, right)))
    assert record.inputs
    wrong = "def step(self, by=1):\n    self.count += max(by, 1)\n    return self.count\n"
    assert try_code(wrong, record, STEP).extra["plus"] == "failed"


def test_inputs_on_which_solutions_disagree_are_dropped(warm, toy):
    absolute = f"{HEAD}    return [abs(one) * factor for one in values]\n"
    record = choose_inputs(warm, PlusTask(toy.instances[SCALE], (absolute, absolute, RIGHT)))
    assert record.dropped["independent solutions do not agree"]
    assert record.review


def test_one_solution_is_not_enough(warm, toy):
    record = choose_inputs(
        warm, PlusTask(toy.instances[SCALE], (RIGHT, "def scale(values, factor=2):\n    return 1\n"))
    )
    assert not record.inputs
    assert "fewer than two independent solutions" in record.reason


def test_drawing_random_numbers_alone_is_no_difference(warm, toy):
    draws = "import random\ndef step(self, by=1):\n    random.random()\n    self.count += by\n    return self.count\n"
    record = choose_inputs(warm, PlusTask(toy.instances[STEP], (draws, draws)))
    assert record.inputs


def test_rewrite_that_differs_drops_inputs(warm, toy):
    absolute = f"{HEAD}    return [abs(one) * factor for one in values]\n"
    record = choose_inputs(warm, PlusTask(toy.instances[SCALE], (RIGHT, ALSO_RIGHT), (absolute,)))
    assert record.dropped["a rewrite of the reference does not agree"]


def make_call(*arrays: np.ndarray, items: tuple[object, ...] = ()) -> Data:
    nodes = [["new", place, ["array", one.dtype.str, list(one.shape), place]] for place, one in enumerate(arrays)]
    keywords = ["new", len(arrays), ["dict", "dict", None, []]]
    return Data(["tuple", [["tuple", [*nodes, *items]], keywords]], [one.tobytes() for one in arrays])


def make_answer(value: object, *blobs: bytes, kind: str = "returned") -> Answer:
    return Answer(Data(["tuple", [kind, value, False, ["new", 9, ["list", []]]]], list(blobs)))


def make_array(array: np.ndarray, tag: str = "array") -> Answer:
    content = ["array", array.dtype.str, list(array.shape), 0]
    if tag == "tensor":
        content = ["tensor", "Tensor", array.dtype.name, list(array.shape), 0, False, None, -1, [], []]
    return make_answer(["new", 8, content], array.tobytes())


CALL = make_call(np.zeros(2))
ONES = np.ones((2, 3), np.float32)


@pytest.mark.parametrize(
    ("expected", "found", "difference"),
    [
        (make_array(ONES), make_array(ONES), ""),
        (make_array(ONES), make_array(ONES * np.float32(1.00001)), ""),
        (make_array(ONES), make_array(ONES * np.float32(1.001)), "instead of 1"),
        (make_array(ONES), make_array(ONES.astype(np.float64)), "dtype"),
        (make_array(ONES), make_array(ONES.T), "shape"),
        (make_array(ONES), make_array(ONES, "tensor"), "'tensor' instead of 'array'"),
        (make_array(ONES * np.nan), make_array(ONES * np.nan), ""),
        (make_array(ONES * np.nan), make_array(ONES), "instead of nan"),
        (make_array(ONES), make_array(ONES * np.inf), "inf instead of 1"),
        (make_answer(True), make_answer(1), "1 instead of True"),
        (make_answer(2), make_answer(2.0), ""),
        (make_answer("a"), make_answer("b"), "'b' instead of 'a'"),
        (make_answer(["tuple", [1, 2]]), make_answer(["tuple", [1]]), "number of items"),
        (make_answer(1), make_answer(["error", ["builtins", "KeyError"], [], []], kind="raised"), "raised instead of"),
        (make_answer(1), Answer.none(has_ended=True), "the process ended"),
        (make_answer(1), Answer(Data(["tuple", ["returned"]], [])), "another form"),
    ],
)
def test_answers_are_compared_as_data(expected, found, difference):
    found_difference = find_difference(CALL, expected, found)
    assert difference in found_difference
    assert bool(found_difference) == bool(difference)


@pytest.mark.parametrize(
    ("node", "blob"),
    [
        (["new", 8, ["array", "<f4", [10**6], 0]], b""),
        (["new", 8, ["array", "<f4", [2, 3], 0]], b""),
        (["new", 8, ["array", ",", [2, 3], 0]], b"x"),
        (["new", 8, ["array", "O", [2, 3], 0]], b"x" * 48),
        (["new", 8, ["array", "<f4", [-2, -3], 0]], b"x" * 24),
        (["new", 8, []], b""),
        (["new", True, {}], b""),
        (["ref", 99], b""),
        (["ref", -1], b""),
        ([[[[]]]], b""),
    ],
)
def test_malformed_answer_is_a_difference(node, blob):
    assert find_difference(CALL, make_array(ONES), make_answer(node, blob))


def test_bytes_that_numpy_cannot_read_are_compared():
    def answer(data: bytes) -> Answer:
        return make_answer(["new", 8, ["array", [["a", "<i4"]], [1], 0]], data)

    assert not find_difference(CALL, answer(b"aaaa"), answer(b"aaaa"))
    assert find_difference(CALL, answer(b"aaaa"), answer(b"bbbb"))


def test_keys_and_items_of_sets_are_compared_by_value():
    def scalar(place: int) -> list[object]:
        return ["value", "numpy.scalar", ["<i8", ["bytes", place]]]

    def counts(*keys: int) -> Answer:
        pairs = [[scalar(place), 1] for place in range(len(keys))]
        blobs = [key.to_bytes(8, "little") for key in keys]
        return Answer(Data(["tuple", ["returned", ["new", 8, ["dict", "dict", None, pairs]], False, None]], blobs))

    plain = make_answer(["new", 8, ["dict", "dict", None, [[1, 1], [2, 1]]]])
    assert not find_difference(CALL, counts(1, 2), counts(2, 1))
    assert not find_difference(CALL, plain, counts(2, 1))
    assert find_difference(CALL, counts(1, 2), counts(101, 102))

    def members(*items: object) -> Answer:
        return make_answer(["new", 8, ["set", list(items)]])

    assert not find_difference(CALL, members(8, 0), members(0, 8))
    assert find_difference(CALL, members(8, 0), members(0, 9))


def test_modules_inside_objects_of_libraries_are_compared():
    def answer(layer: str) -> Answer:
        modules = ["new", 9, ["dict", "dict", None, [["0", ["new", 10, ["object", ["torch.nn", layer], None, []]]]]]]
        return make_answer(["new", 8, ["object", ["torch.nn", "Sequential"], None, [["_modules", modules]]]])

    assert not find_difference(CALL, answer("Linear"), answer("Linear"))
    assert find_difference(CALL, answer("Linear"), answer("Dropout"))


@pytest.mark.parametrize("found", [np.float16(101.5), np.complex128(100 + 5j), np.str_("100")])
def test_tolerance_does_not_depend_on_the_type_that_a_candidate_chooses(found):
    other = make_answer(["value", "numpy.scalar", [found.dtype.str, ["bytes", 0]]], found.tobytes())
    assert find_difference(CALL, make_answer(100.0), other)


def test_small_numbers_are_compared_at_their_scale():
    small = make_call(np.full(3, 1e-6))
    assert find_difference(small, make_array(ONES * np.float32(1e-6)), make_array(ONES * 0))


def test_gradient_of_none_is_a_gradient_of_zeros():
    def answer(gradient: Answer) -> Answer:
        return replace(make_answer(1), gradients={0: gradient})

    zeros = Answer(Data(["new", 5, ["array", "<f4", [2, 3], 0]], [bytes(24)]))
    ones = Answer(Data(["new", 5, ["array", "<f4", [2, 3], 0]], [ONES.tobytes()]))
    assert not find_difference(CALL, answer(Answer(Data(None, []))), answer(zeros))
    assert find_difference(CALL, answer(ones), answer(Answer(Data(None, []))))
    assert "not differentiable" in find_difference(CALL, answer(ones), make_answer(1))


def test_key_order_of_dictionaries_does_not_count():
    def answer(*pairs: list[object]) -> Answer:
        return make_answer(["new", 8, ["dict", "dict", None, list(pairs)]])

    assert not find_difference(CALL, answer(["a", 1], ["b", 2]), answer(["b", 2], ["a", 1]))
    assert "keys differ" in find_difference(CALL, answer(["a", 1]), answer(["c", 1]))


def test_changed_argument_is_a_difference():
    changed = replace(make_answer(1), changed=[[0, ["array", "<f8", [2], 0]]], data=make_answer(1, b"\x3f" * 16).data)
    assert "argument" in find_difference(CALL, make_answer(1), changed)


def test_private_attributes_of_the_own_class_count_only_if_the_prompt_names_them():
    def answer(name: str, value: int, kind: str = "C") -> Answer:
        return make_answer(["new", 8, ["object", ["m", kind], None, [["x", 1], [name, value]]]])

    own = Data(["tuple", [["tuple", [["new", 0, ["object", ["m", "C"], None, []]]]], ["new", 1, ["dict", "dict", None, []]]]], [])  # fmt: skip
    assert not find_difference(own, answer("_n", 1), answer("_n", 2), prompt="Set max_norm.")
    assert find_difference(own, answer("_n", 1), answer("_n", 2), prompt="Set `_n`.")
    assert find_difference(own, answer("_n", 1, "D"), answer("_n", 2, "D"))
    assert not find_difference(own, answer("_memo", 1, "D"), answer("_memo", 2, "D"))


def test_deviation_is_in_units_of_the_tolerance():
    assert measure_deviation(CALL, make_array(ONES), make_array(ONES)) == 0
    assert 5 < measure_deviation(CALL, make_array(ONES), make_array(ONES * np.float32(1.001))) < 15
    assert measure_deviation(CALL, make_array(ONES), make_array(ONES.T)) == np.inf


def list_shapes(data: Data) -> list[tuple[int, ...]]:
    contents = list_objects(data.node).values()
    return [array.shape for content in contents if (array := read_array(content, data.blobs)) is not None]


@pytest.mark.parametrize(("name", "size"), [("one", 1), ("empty", 0), ("shorter", 4), ("longer", 6), ("double", 10)])
def test_equal_sizes_change_together(name, size):
    call = make_call(np.ones((5, 5)), np.arange(5))
    assert list_shapes(vary(name, call, [call], 0)) == [(size, size), (size,)]


def test_time_of_today_does_not_make_a_recording_another_one():
    def call(text: str) -> Data:
        return make_call(np.ones(2), items=(text, "2001-02-03 04:05:06"))

    now = datetime.now()
    first, second = (call(str(now + timedelta(seconds=more))).without_clock() for more in (0, 7))
    assert first.digest == second.digest
    assert call("2001-02-03 04:05:06").without_clock().digest == call("2001-02-03 04:05:06").digest


@pytest.mark.parametrize("name", list(MUTATORS))
def test_variations_are_deterministic_and_leave_the_recorded_call_alone(name):
    call = make_call(np.linspace(0, 2, 6).reshape(2, 3), np.arange(3), items=(True, 2, 0.5, "text"))
    before, other = call.digest, make_call(np.ones((2, 3)), np.arange(3), items=(False, 3, 0.5, "other"))
    first, second = (vary(name, call, [call, other], 3) for _ in range(2))
    assert (first is None) == (second is None)
    assert first is None or first.digest == second.digest
    assert call.copy().digest == before


def test_values_keep_what_the_recorded_ones_promise():
    probabilities = np.array([[0.2, 0.8], [0.5, 0.5]])
    ordered = np.array([0.1, 0.4, 0.4, 2.5])
    varied = vary("values", make_call(probabilities, ordered), [], 1)
    shares, sorted_again = (read_array(one, varied.blobs) for one in list(list_objects(varied.node).values())[:2])
    assert np.allclose(shares.sum(-1), 1)
    assert (np.diff(sorted_again) >= 0).all()
    assert not np.array_equal(sorted_again, ordered)


def test_records_are_read_back(tmp_path):
    record = PlusRecord(instance=SCALE, inputs=(str(InputKey("a", "nan", 3, "b", 2.0)),), calls=1, dropped={"why": 2})
    write_plus(tmp_path, record)
    write_plus(tmp_path, PlusRecord(instance=STEP, reason="none"))
    assert read_plus(tmp_path)[SCALE] == record
    assert set(read_plus(tmp_path)) == {SCALE, STEP}
    assert record.parse() == [InputKey("a", "nan", 3, "b", 2.0)]


@pytest.mark.parametrize("row", [{"instance": SCALE, "inputs": ["nonsense"]}, {"instance": SCALE, "more": 1}])
def test_broken_record_names_file_and_line(tmp_path, row):
    (tmp_path / "plus").mkdir()
    (tmp_path / "plus/toy.jsonl").write_text(json.dumps(row))
    with pytest.raises(DLBenchError, match="not a plus record") as caught:
        read_plus(tmp_path)
    assert caught.value.where.endswith("toy.jsonl:1")
