"""Values survive the way to another process and back; made-up data gives an error, never an object that does harm."""

import collections
import functools
import json
import unittest
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from dlbench.execution.inside.plain_data import Codec
from dlbench.execution.inside.plain_values import Unreplayable


@dataclass
class Point:
    x: object
    y: object = None

    def norm(self) -> float:
        return 0.0


@pytest.fixture
def sides():
    """The tests' side, which trusts no module of a project, and the candidate's side."""
    return Codec(is_trusted=lambda name: False), Codec(is_trusted=None)


def send(value, writer: Codec, reader: Codec):
    node, changed, blobs = writer.write(value)
    return reader.read(*json.loads(json.dumps([node, changed])), blobs)


VALUES = [
    None, True, 10**30, -0.0, float("inf"), "\ud800 text", b"bytes", (1, (2, "x")), [1, [2]], {"a": {1, 2}, (1, 2): None},
    frozenset([1]), slice(1, None), range(3), 1 + 2j, collections.OrderedDict(b=1, a=2), collections.Counter("aab"),
    collections.deque([1, 2]), np.float32(1.5), np.dtype("int16"), ValueError("no", 3), int, len,
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_value_arrives(value, sides):
    tests, candidate = sides
    arrived = send(value, tests, candidate)
    assert type(arrived) is type(value)
    assert repr(arrived) == repr(value)
    candidate.reset()
    tests.reset()
    if value is not len:
        assert repr(send(arrived, candidate, tests)) == repr(value)


def test_arrays_arrive_with_type_and_shape(sides):
    for array in (np.arange(6.0).reshape(2, 3), np.array([], np.int8), np.array([[1, "x"], [None, 2]], object)):
        arrived = send(array, *sides)
        assert (arrived.dtype, arrived.shape) == (array.dtype, array.shape)
        assert arrived.tolist() == array.tolist()


def test_aliases_stay_aliases_and_changes_are_applied_in_place(sides):
    tests, candidate = sides
    shared, array = [1], np.zeros(2)
    arguments = (shared, {"again": shared}, array)
    first, second, third = send(arguments, tests, candidate)
    assert second["again"] is first
    first.append(first)
    third[:] = 7
    returned = send(first, candidate, tests)
    assert returned is shared
    assert shared[1] is shared
    assert array.tolist() == [7, 7]


def test_functions_without_a_name_become_handles(sides):
    tests, candidate = sides
    candidate.make_proxy = lambda number: lambda *arguments: tests.handles[number](*arguments)
    proxy = send(lambda x: x + 1, tests, candidate)
    assert proxy(2) == 3
    assert send(proxy, candidate, tests) is tests.handles[0]


class Model:
    """A class that the candidate's process cannot import, as those of tests."""

    rate = 2

    def __init__(self, offset):
        self.offset = offset

    def predict(self, value):
        return value * self.rate + self.offset


@pytest.fixture
def connected(sides):
    """Both sides, with functions of the tests' side that the candidate's side can call."""
    tests, candidate = sides

    def make_proxy(number):
        def proxy(*arguments):
            return send(tests.handles[number](*send(arguments, candidate, tests)), tests, candidate)

        return proxy

    candidate.make_proxy = make_proxy
    return sides


def test_objects_of_the_tests_run_their_methods_on_the_side_of_the_tests(connected):
    tests, candidate = connected
    model = Model(1)
    received = send(model, tests, candidate)
    assert type(received) is not Model
    assert (received.rate, received.predict(3)) == (2, 7)
    received.offset = 5
    assert received.predict(3) == 11
    assert model.offset == 5
    assert send(received, candidate, tests) is model
    made = send(type(received)(4), candidate, tests)
    assert (type(made), made.offset) == (Model, 4)


def test_class_of_the_tests_that_decides_equality_makes_no_new_object(connected):
    tests, candidate = connected
    received = send(Point(1), tests, candidate)
    with pytest.raises(Unreplayable, match="a new object of"):
        send(type(received)(1), candidate, tests)


@pytest.mark.parametrize(("name", "base"), [("TestModel", Model), ("Case", unittest.TestCase)])
def test_objects_that_hold_tests_are_not_sent(name, base, sides):
    with pytest.raises(Unreplayable, match="holds tests"):
        send(object.__new__(type(name, (base,), {})), *sides)


def test_tables_arrive(sides):
    tests, candidate = sides
    dates = pd.date_range("2026-01-01", periods=3, freq="D", name="day")
    table = pd.DataFrame(
        {"text": ["a", None, "c"], "count": pd.array([1, None, 3], dtype="Int64"), "x": 0.5}, index=dates
    )
    arrived = send(send(table, tests, candidate), candidate, tests)
    pd.testing.assert_frame_equal(arrived, table)
    assert arrived.index.freq == dates.freq
    assert send(pd.offsets.Day(2), candidate, tests) == pd.offsets.Day(2)


def test_distribution_of_scipy_arrives_and_does_not_return(sides):
    tests, candidate = sides
    arrived = send(scipy.stats.randint(2, 9), tests, candidate)
    assert arrived.mean() == 5
    with pytest.raises(Unreplayable):
        send(scipy.stats.randint(2, 9), candidate, tests)


FORGED = {
    "a module below another": ["function", ["numpy.testing", "np.add"]],
    "eval": ["function", ["builtins", "eval"]],
    "an exception of unittest": ["error", ["unittest.case", "SkipTest"], [], []],
    "an exit": ["error", ["builtins", "SystemExit"], [], []],
    "a pickle": ["new", 0, ["pickled", 0]],
    "an array of objects in bytes": ["new", 0, ["array", "O", [1], 0]],
    "an unknown tag": ["surprise", 1],
    "an unknown reference": ["ref", 5],
    "a class of the tests": ["class", [__name__, "Point"]],
    "a partial with made-up keywords": ["value", "functools.partial", [["class", ["builtins", "int"]], ["tuple", []], ["new", 0, ["list", []]]]],
    "a weak reference with a callback": ["value", "weakref.ReferenceType", [["class", ["builtins", "int"]], ["class", ["builtins", "int"]]]],
    "a column of an object": ["value", "pandas.Series", [["class", ["builtins", "int"]], "str", None, None]],
    "a new object of a library": ["new", 0, ["object", ["logging", "Formatter"], None, []]],
    "a value of a made-up kind": ["value", "os.system", ["true"]],
    "a path to nowhere": ["value", "torch.dtype", ["load"]],
}  # fmt: skip


CONTENTS = {
    "a list for an object": ["list", []],
    "random state for an object": ["random", "Generator", None],
    "a tensor for an object": ["tensor", "Tensor", "float32", [0], 0, False, None, -1, [], []],
    "another class": ["object", ["builtins", "object"], None, []],
}


@pytest.mark.parametrize("name", CONTENTS)
def test_content_of_another_kind_is_refused(name, sides):
    """Otherwise the reader would call methods that the candidate chose as attributes."""
    tests, _ = sides
    tests.write(Point(1))
    with pytest.raises(Unreplayable):
        tests.read(["ref", 0], [[0, CONTENTS[name]]], [b""])


@pytest.mark.parametrize("function", [np.loadtxt, functools.partial(np.loadtxt, "x"), np.random.RandomState(0).seed])
def test_function_of_a_library_arrives_as_a_handle_that_runs_on_the_other_side(function, sides):
    tests, candidate = sides
    node, _, _ = candidate.write(function)
    assert node == ["handle", 0]
    with pytest.raises(Unreplayable):
        tests.read(["function", ["numpy", "loadtxt"]], [], [])


@pytest.mark.parametrize("name", FORGED)
def test_forged_data_is_refused(name, sides):
    with pytest.raises(Unreplayable):
        sides[0].read(FORGED[name], [], [b"\x80\x04N."])


@pytest.mark.parametrize("name", ["norm", "__array__"])
def test_attributes_cannot_replace_methods(name, connected):
    tests, candidate = connected
    point = Point(1)
    received = send(point, tests, candidate)
    received.__dict__[name] = 1
    with pytest.raises(Unreplayable, match="in place of a method"):
        send(received, candidate, tests)
    assert vars(point) == {"x": 1, "y": None}


def test_partial_functions_and_errors_of_python_arrive(sides):
    tests, candidate = sides
    arrived = send(functools.partial(int, base=2), tests, candidate)
    assert arrived("11") == 3
    assert isinstance(send(KeyError("k"), candidate, tests), KeyError)
    with pytest.raises(Unreplayable):
        send(unittest.SkipTest("x"), candidate, tests)
