"""Values survive the way to another process and back; made-up data gives an error, never an object that does harm."""

import collections
import functools
import json
import socket
import sys
import types
import unittest
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import scipy.stats
from sklearn.utils import Bunch

from dlbench.execution.inside.plain_checks import has_known_methods
from dlbench.execution.inside.plain_data import Codec
from dlbench.execution.inside.plain_values import Unreplayable
from dlbench.execution.inside.remote import Peer


class Unknown:
    def __eq__(self, other):
        return True

    __hash__ = None


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
    "an array larger than its data": ["new", 0, ["array", "<f8", [1000], 0]],
    "a shape whose product overflows": ["new", 0, ["array", "<f8", [2**32, 2**32], 0]],
    "a negative shape": ["new", 0, ["array", "|u1", [-1], 0]],
    "a boolean array with other values": ["new", 0, ["array", "|b1", [4], 0]],
    "a field with a title": ["new", 0, ["array", [[["title", "name"], "<f4"]], [1], 0]],
    "overlapping fields": ["new", 0, ["array", {"names": ["a", "b"], "formats": ["<f4", "<i4"], "offsets": [0, 0]}, [1], 0]],
    "a type given by a class": ["value", "numpy.scalar", [["class", ["builtins", "float"]], ["bytes", 0]]],
    "an array of objects without its objects": ["new", 0, ["objects", [3], []]],
    "a tensor without data": ["new", 0, ["tensor", "Tensor", "float32", [9], 1, False, None, -1, [], []]],
    "a boolean tensor with other values": ["new", 0, ["tensor", "Tensor", "bool", [4], 0, False, None, -1, [], []]],
    "a class of a closed module": ["class", ["sklearn.utils._mocking", "MockDataFrame"]],
    "an estimator that forwards every name": ["new", 0, ["object", ["sklearn.frozen._frozen", "FrozenEstimator"], None, [["estimator", 1]]]],
    "a named tuple with too few items": ["named", ["scipy.sparse.linalg._isolve.lsmr", "Missing"], []],
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
        sides[0].read(FORGED[name], [], [b"\x80\x04N.", b""])


@pytest.mark.parametrize("name", ["norm", "__array__"])
def test_attributes_cannot_replace_methods(name, connected):
    tests, candidate = connected
    point = Point(1)
    received = send(point, tests, candidate)
    received.__dict__[name] = 1
    with pytest.raises(Unreplayable, match=f"attribute {name}"):
        send(received, candidate, tests)
    assert vars(point) == {"x": 1, "y": None}


class Tolerant:
    """Compares with data of the class."""

    limit = 0.1
    unit = None
    fixed: ClassVar[float] = 0.1
    kept: float = 1.0
    later = 2.0

    def __init__(self, size):
        self.size, self.measure = size, lambda value: abs(value)

    def set_later(self, value):
        self.later = value

    def is_close(self, other):
        return self.measure(self.size - other) < self.limit


def test_attributes_that_a_class_provides_for_arrive(connected):
    tests, candidate = connected
    tests.make_proxy = lambda number: candidate.handles[number]
    received = send(Tolerant(1), tests, candidate)
    made = type(received)(4)
    made.kept, made.later, made.measure = 3.0, 4.0, lambda value: value
    found = send(made, candidate, tests)
    assert (found.kept, found.later, found.size) == (3.0, 4.0, 4)


@pytest.mark.parametrize("forged", [{"limit": 1e9}, {"fixed": 1e9}, {"equals": lambda other: True}])
def test_attributes_cannot_stand_for_data_of_the_class_or_for_functions_it_lacks(forged, connected):
    """A test would call what the candidate made with the value that it expects."""
    tests, candidate = connected
    tests.make_proxy = lambda number: candidate.handles[number]
    received = send(Tolerant(1), tests, candidate)
    received.__dict__.update(forged)
    with pytest.raises(Unreplayable, match=f"attribute {next(iter(forged))}"):
        send(received, candidate, tests)


SHARED = [1]


def test_what_few_functions_do_is_noted(connected):
    """It counts only where the reference does it, too."""
    tests, candidate = connected
    tests.make_proxy, noted = lambda number: lambda value: candidate.handles[number](value), []
    tests.note = noted.append
    tests.globals, tests.module_count = {id(SHARED): ("toy.SHARED", SHARED)}, len(sys.modules)
    tolerant = Tolerant(SHARED)
    tolerant.measure = abs
    received = send(tolerant, tests, candidate)
    assert send(received, candidate, tests) is tolerant
    assert noted == []
    received.size.append(2)
    received.unit, received.measure = 1e9, [lambda value: 0]
    send(received, candidate, tests)
    assert SHARED == [1, 2]
    assert sorted(noted) == [
        "Tolerant.unit in place of data of the class",
        "a change of toy.SHARED",
        "a function as Tolerant.measure",
    ]


def test_objects_that_the_project_holds_have_a_name(monkeypatch):
    module = types.ModuleType("toy_held")
    module.TABLE, module.Kind = {}, type("Kind", (), {"__module__": "toy_held", "sizes": []})
    monkeypatch.setitem(sys.modules, "toy_held", module)
    tests = Codec(is_trusted=lambda name: name == "toy_held")
    assert [tests._name_global(one) for one in (module.TABLE, module.Kind.sizes, {})] == [
        "toy_held.TABLE",
        "toy_held.Kind.sizes",
        "",
    ]


def test_partial_functions_and_errors_of_python_arrive(sides):
    tests, candidate = sides
    arrived = send(functools.partial(int, base=2), tests, candidate)
    assert arrived("11") == 3
    assert isinstance(send(KeyError("k"), candidate, tests), KeyError)
    with pytest.raises(Unreplayable):
        send(unittest.SkipTest("x"), candidate, tests)


def forge_sparse(form: str, shape, **parts):
    """A message with a sparse array of these parts, each an array."""
    pairs, blobs = [["_shape", ["tuple", list(shape)]]], []
    for name, part in parts.items():
        content = (
            part
            if isinstance(part, bool)
            else ["new", len(blobs) + 1, ["array", part.dtype.str, list(part.shape), len(blobs)]]
        )
        pairs.append([name, content])
        blobs += [] if isinstance(part, bool) else [part.tobytes()]
    return ["new", 0, ["object", [f"scipy.sparse._{form}", f"{form}_array"], None, pairs]], [], blobs


ONES, STARTS = np.ones(2), np.array([0, 1, 2], np.int32)


def test_sparse_arrays_arrive(sides):
    for array in (
        scipy.sparse.random_array((3, 4), density=0.5, format=form) for form in ("csr", "csc", "coo", "bsr", "dia")
    ):
        tests, candidate = sides
        arrived = send(send(array, tests, candidate), candidate, tests)
        assert (arrived.toarray() == array.toarray()).all()
        new = send(array.copy(), candidate, tests)
        assert (new.toarray() == array.toarray()).all()


@pytest.mark.parametrize(
    "forged",
    [
        forge_sparse("csr", (2, 3), data=ONES, indices=np.array([0, 3], np.int32), indptr=STARTS),
        forge_sparse("csr", (2, 3), data=ONES, indices=np.array([-1, 0], np.int32), indptr=STARTS),
        forge_sparse("csc", (3, 2), data=ONES, indices=np.array([0, 1], np.int32), indptr=STARTS * 9),
        forge_sparse(
            "csr", (2, 3), data=ONES, indices=np.array([0, 1], np.int32), indptr=np.array([0, 9, 2], np.int32)
        ),
        forge_sparse("csr", (1 << 40, 3), data=ONES, indices=np.array([0, 1], np.int32), indptr=STARTS),
        forge_sparse("csr", (-2, 3), data=ONES, indices=np.array([0, 1], np.int32), indptr=STARTS),
        forge_sparse("coo", (2, 2), data=ONES, row=np.array([0, 1]), col=np.array([0, 7])),
        forge_sparse("dia", (2, 2), data=np.ones((1, 2)), offsets=np.array([1 << 40])),
        forge_sparse("lil", (2, 2), rows=ONES, data=ONES),
    ],
)
def test_sparse_array_with_indices_outside_its_shape_is_refused(forged, sides):
    with pytest.raises(Unreplayable):
        sides[0].read(*forged)


def test_what_a_sparse_array_claims_of_its_order_does_not_count(sides):
    twice = {"data": ONES, "indices": np.array([1, 1], np.int32), "indptr": np.array([0, 2, 2], np.int32)}
    found = sides[0].read(*forge_sparse("csr", (2, 3), **twice, _has_canonical_format=True, _has_sorted_indices=True))
    assert not found.has_canonical_format


def test_later_change_of_a_sparse_array_is_checked(sides):
    tests, candidate = sides
    arrived = send(scipy.sparse.csr_array(np.eye(2)), tests, candidate)
    arrived.indices[0] = 1 << 20
    with pytest.raises(Unreplayable, match="outside its shape"):
        send(None, candidate, tests)


@pytest.mark.parametrize("name", ["__array_interface__", "__len__", "keys", "a.b"])
def test_names_of_a_bunch_cannot_stand_for_methods(name, sides):
    tests, candidate = sides
    assert send(Bunch(data=1), candidate, tests) == {"data": 1}
    with pytest.raises(Unreplayable, match="with the name"):
        send(Bunch(**{name: {"data": (0, False)}}), candidate, tests)
    received = send(Bunch(data=1), tests, candidate)
    received[name] = 1
    with pytest.raises(Unreplayable, match="with the name"):
        send(None, candidate, tests)


@pytest.mark.parametrize("registry", ["_buffers", "_parameters", "_modules"])
def test_names_of_a_module_cannot_stand_for_methods(registry, sides):
    torch = pytest.importorskip("torch")
    tests, candidate = sides
    assert send(torch.nn.Linear(2, 1), candidate, tests).weight.shape == (1, 2)
    for name, value in (("__array_interface__", None), ("forward", None), ("a.b", None), ("x", {"data": 1})):
        module = torch.nn.Linear(2, 1)
        getattr(module, registry)[name] = value
        with pytest.raises(Unreplayable, match=r"with the name|with other"):
            send(module, candidate, tests)


def test_answer_without_requests_leaves_functions_that_can_be_called_later(connected):
    """The state of shared objects is still told when a returned function is called."""
    tests, candidate = connected
    tests.make_proxy = lambda number: setattr(tests, "is_awaited", True)
    tests.read(*candidate.write([1])[:2], [], is_last=True)
    assert not tests.marks
    tests.read(*candidate.write(lambda: None)[:2], [], is_last=True)
    assert tests.marks


def test_an_end_of_iteration_is_not_raised_in_the_tests(sides):
    """A loop of a test would end before its assertions."""

    class GivenUp(Exception):
        pass

    def give_up(why: str) -> None:
        raise GivenUp(why)

    ours, theirs = socket.socketpair()
    asking, answering = Peer(ours.fileno(), sides[0], give_up), Peer(theirs.fileno(), sides[1])
    answering.send("raised", StopIteration(1))
    with ours, theirs, pytest.raises(GivenUp, match="ends the iteration"):
        asking.request("call", ((), {}, None))


@pytest.mark.parametrize("dtype", ["b1", "<b1", "|b1", [["x", "b1"]]])
def test_booleans_that_are_neither_true_nor_false_are_refused(dtype, sides):
    tests, _ = sides
    nodes: list[object] = [["new", 0, ["array", dtype, [1], 0]]]
    nodes += [["value", "numpy.scalar", [dtype, ["bytes", 0]]]] if isinstance(dtype, str) else []
    for node in nodes:
        tests.reset()
        with pytest.raises(Unreplayable, match="boolean"):
            tests.read(node, [], [b"\7"])


def test_object_that_never_looks_at_what_it_is_compared_with_is_refused():
    assert has_known_methods(Point)
    assert not has_known_methods(Unknown)
