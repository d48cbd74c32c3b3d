"""Write a small project with targets and tests of every shape; verdicts on it must be the same in every mode."""

import hashlib
from pathlib import Path

from dlbench.dataset.target import find_target
from tests.scaffold import write_project

MODULE = '''"""Targets of every shape."""

import functools
from contextlib import contextmanager

BASE = 10


def traced(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


def bare(function):
    return lambda *args, **kwargs: function(*args, **kwargs)


def plain(x, y=1):
    """Adds."""
    return x + y + BASE


def default_of_the_module(x, scale=BASE * 2):
    return x * scale


@traced
def decorated(x):
    return x - 1


@bare
def hidden(x):
    return x * 3


@functools.lru_cache(maxsize=None)
def cached(x):
    return x ** 2


def generator(n):
    for value in range(n):
        yield value * value


@contextmanager
def manager(log):
    log.append("in")
    yield len(log)
    log.append("out")


def used_at_import(x):
    return x + 5


AT_IMPORT = used_at_import(1)


class Parent:
    def area(self):
        return 2

    def hook(self):
        return "parent"


class Shape(Parent):
    __secret = 4
    kind = "shape"

    def __init__(self, side=1):
        super().__init__()
        self.side = side

    def area(self):
        return super().area() * self.side

    def mangled(self):
        return self.__secret + self.side

    @property
    def double(self):
        return 2 * self.side

    @staticmethod
    def still(x):
        return x + 100

    @classmethod
    def named(cls, side):
        return cls(side), cls.kind

    def default_of_the_class(self, kind=kind):
        return kind + str(self.side)

    class Inner:
        def deep(self, x):
            return [x] * 2


class Square(Shape):
    kind = "square"


alias = plain
'''

OTHER = """from shapes.core import Shape, plain

alias_elsewhere = plain
bound = {"plain": plain, "area": Shape.area}


def through(x):
    return plain(x, y=2)
"""

TESTS = """import unittest

import pytest

import shapes.other
from shapes import core
from shapes.core import Shape, Square, alias, decorated, plain
from shapes.other import alias_elsewhere, bound, through

SEEN = []


@pytest.fixture(scope="session")
def counter():
    return {"count": 0}


@pytest.fixture(autouse=True)
def note(request):
    SEEN.append(request.node.name)


@pytest.mark.parametrize("name", ["own", "alias", "elsewhere", "dictionary", "through", "module"])
def test_plain(name, counter):
    counter["count"] += 1
    call = {"own": plain, "alias": alias, "elsewhere": alias_elsewhere, "dictionary": bound["plain"], "module": core.plain}
    assert (through(1) if name == "through" else call[name](1, 2)) == 13


def test_plain_in_order(counter):
    assert plain(0) == 11


def test_plain_patched(monkeypatch, capsys, tmp_path, recwarn):
    monkeypatch.setattr(core, "BASE", 0)
    print(plain(1))
    assert capsys.readouterr().out == "2\\n"
    (tmp_path / "x").write_text(str(plain(2)))
    assert (tmp_path / "x").read_text() == "3"


def test_plain_keywords():
    assert plain(x=1, y=5) == 16
    assert plain.__name__ == "plain" and plain.__module__ == "shapes.core"


@pytest.mark.parametrize("x", [0, 3])
def test_default(x):
    assert core.default_of_the_module(x) == 20 * x + (0 if x else core.default_of_the_module(0))
    assert core.default_of_the_module(x, 2) == 2 * x and core.default_of_the_module(1) == 20


@pytest.mark.parametrize("x", [1, 5])
def test_decorated(x):
    assert decorated(x) == core.decorated(x) == x - 1


@pytest.mark.parametrize("x", [1, 5])
def test_hidden(x):
    assert core.hidden(x) == 3 * x


@pytest.mark.parametrize("x", [2, 3])
def test_cached(x):
    core.cached.cache_clear()
    assert [core.cached(x), core.cached(x)] == [x * x] * 2
    assert core.cached.cache_info().hits == 1


def test_generator():
    assert list(core.generator(4)) == [0, 1, 4, 9]
    assert next(core.generator(1)) == 0


def test_manager():
    log = []
    with core.manager(log) as count:
        assert count == 1
    assert log == ["in", "out"]


def test_used_at_import():
    assert core.AT_IMPORT == 6 and core.used_at_import(2) == 7


class TestShape(unittest.TestCase):
    def setUp(self):
        self.square = Square(3)

    def test_area(self):
        self.assertEqual(self.square.area(), 6)
        self.assertEqual(bound["area"](Shape(2)), 4)

    def test_mangled(self):
        for side in (1, 2):
            with self.subTest(side=side):
                self.assertEqual(Shape(side).mangled(), 4 + side)

    def test_double(self):
        self.assertEqual(self.square.double, 6)

    def test_still(self):
        self.assertEqual([Square.still(1), self.square.still(2)], [101, 102])

    def test_named(self):
        shape, kind = Square.named(7)
        self.assertEqual((shape.side, kind, type(shape)), (7, "square", Square))

    def test_default_of_the_class(self):
        self.assertEqual(self.square.default_of_the_class(), "shape3")
        self.assertEqual(self.square.default_of_the_class("x"), "x3")

    def test_deep(self):
        self.assertEqual(Shape.Inner().deep(1), [1, 1])

    def test_init(self):
        self.assertEqual(Shape().side + Square(4).side, 5)
"""
_FILE = "tests/test_shapes.py::"
TARGETS = {
    "plain": [f"test_plain[{name}]" for name in ("own", "alias", "elsewhere", "dictionary", "through", "module")]
    + ["test_plain_in_order", "test_plain_patched", "test_plain_keywords"],
    "default_of_the_module": ["test_default[0]", "test_default[3]"],
    "decorated": ["test_decorated[1]", "test_decorated[5]"],
    "hidden": ["test_hidden[1]", "test_hidden[5]"],
    "cached": ["test_cached[2]", "test_cached[3]"],
    "generator": ["test_generator"],
    "manager": ["test_manager"],
    "used_at_import": ["test_used_at_import"],
    "Shape.__init__": ["TestShape::test_init"],
    "Shape.area": ["TestShape::test_area"],
    "Shape.mangled": ["TestShape::test_mangled"],
    "Shape.double": ["TestShape::test_double"],
    "Shape.still": ["TestShape::test_still"],
    "Shape.named": ["TestShape::test_named"],
    "Shape.default_of_the_class": ["TestShape::test_default_of_the_class"],
    "Shape.Inner.deep": ["TestShape::test_deep"],
}
INSTANCE = """id = "shapes/shapes.core.{name}"
path = "shapes/core.py"
qualname = "{name}"
sha256 = "{sha256}"
introduced = 2026-01-02
prompt = '''Write {name} so that the tests of this small project of ours pass.'''
tests = [{tests}]
labels = {{stage = "training", task = "general", data = "others"}}
"""


def write_shapes(root: Path, *, tests: str = TESTS, targets: dict[str, list[str]] = TARGETS) -> Path:
    files = {
        "shapes/__init__.py": "",
        "shapes/core.py": MODULE,
        "shapes/other.py": OTHER,
        "tests/test_shapes.py": tests,
    }
    benchmark = root / "shapes"
    write_project(benchmark, root / "source", "shapes", files)
    for name, ids in targets.items():
        target = find_target(MODULE, name)
        listed = ", ".join(f'"{_FILE}{test}"' for test in ids)
        sha256 = hashlib.sha256(target.text.encode()).hexdigest()
        text = INSTANCE.format(name=name, sha256=sha256, tests=listed)
        (benchmark / f"instances/shapes/{name}.toml").write_text(text)
    return benchmark
