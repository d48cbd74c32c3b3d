"""A small project of ours as a rebuild task and as a component, with right answers, honest variants, and cheats."""

from dataclasses import dataclass
from pathlib import Path

from dlbench.dataset import load
from dlbench.dataset.file_task import Component, Rebuild
from dlbench.dataset.labels import Data, Stage, Task
from dlbench.dataset.records import Labels
from dlbench.dataset.skeleton import cut_definitions, hash_skeleton, reduce_tree
from dlbench.dataset.tracks import write_task
from tests.scaffold import write_project

CORE = '''"""Numbers in lists and arrays."""

import numpy as np

from .constants import OFFSET


def scale(values, factor=2):
    """Every value times the factor, as a list. A factor of zero raises ValueError."""
    if factor == 0:
        raise ValueError("factor must not be zero")
    return [value * factor + OFFSET for value in values]


def normalize(values):
    """An array with mean 0 and standard deviation 1."""
    array = np.asarray(values, dtype=float)
    return (array - array.mean()) / array.std()


def clip(values, low, high):
    """The values, no lower than `low` and no higher than `high`, as an array."""
    return np.minimum(np.maximum(np.asarray(values), low), high)


class Counter:
    """Counts, from a start."""

    def __init__(self, start=0):
        self.count = start

    def step(self, by=1):
        """Add to the count and return it."""
        self.count += by
        return self.count

    def reset(self):
        """Set the count to zero."""
        self.count = 0
'''
TABLES = '''"""Tables of named values."""

from .core import scale


class Table:
    """Values by name."""

    def __init__(self, values):
        self.values = dict(values)

    def scaled(self, factor):
        """A new table with all values times the factor."""
        return Table(dict(zip(self.values, scale(self.values.values(), factor))))

    def total(self):
        """The sum of the values."""
        return sum(self.values.values())

    def __eq__(self, other):
        return isinstance(other, Table) and self.values == other.values
'''
CORE_TESTS = """import numpy as np
import pytest

from toylib import constants, core
from toylib.core import Counter, clip, normalize, scale


@pytest.mark.parametrize("factor", [1, 2, 3])
def test_scale(factor, offset):
    assert scale([1, 2], factor) == [factor + offset, 2 * factor + offset]


def test_scale_empty():
    assert scale([]) == []


def test_scale_zero():
    with pytest.raises(ValueError, match="zero"):
        scale([1], 0)


def test_scale_offset(monkeypatch):
    monkeypatch.setattr(core, "OFFSET", 1)
    assert scale([1]) == [3]


@pytest.mark.parametrize("size", [2, 5])
def test_normalize(size):
    found = normalize(range(size))
    np.testing.assert_allclose([found.mean(), found.std()], [0, 1], atol=1e-9)
    assert found[0] < found[-1]


def test_clip():
    np.testing.assert_array_equal(clip([1, 5, 9], 2, 6), [2, 5, 6])
    assert np.allclose(clip([0.5], 0, 1), 0.5)


class TestCounter:
    def test_step(self):
        assert Counter().step() == 1

    def test_steps(self):
        counter = Counter(3)
        assert [counter.step(2), counter.step(2)] == [5, 7]

    def test_reset(self):
        counter = Counter(4)
        counter.reset()
        assert counter.count == 0
"""
TABLE_TESTS = """import toylib.tables
from toylib.tables import Table


def test_scaled():
    assert Table({"a": 1, "b": 2}).scaled(3).values == {"a": 3, "b": 6}


def test_total():
    assert Table({"a": 1, "b": 2}).total() == 3


def test_equal():
    assert Table({"a": 1}) == Table({"a": 1})
    assert Table({"a": 1}) != Table({"a": 2})


def test_not_equal():
    assert Table({"a": 1}) != {"a": 1}
"""
FILES = {
    "toylib/__init__.py": "from .core import Counter, clip, normalize, scale\nfrom .tables import Table\n",
    "toylib/constants.py": "OFFSET = 0\n\n\ndef describe():\n    return f'offset {OFFSET}'\n",
    "toylib/core.py": CORE,
    "toylib/tables.py": TABLES,
    "tests/conftest.py": "import pytest\n\n\n@pytest.fixture\ndef offset():\n    return 0\n",
    "tests/test_core.py": CORE_TESTS,
    "tests/test_tables.py": TABLE_TESTS,
    "tests/test_constants.py": "import toylib\n\n\ndef test_offset():\n    assert toylib.constants.describe() == 'offset 0'\n",
    "README.md": "A toy.\n",
}
_CORE = "tests/test_core.py::"
_TABLES = "tests/test_tables.py::"
VISIBLE = (f"{_CORE}test_scale_empty", f"{_CORE}test_clip", f"{_CORE}TestCounter::test_step", f"{_TABLES}test_total")
HIDDEN = (
    *(f"{_CORE}test_scale[{factor}]" for factor in (1, 2, 3)),
    f"{_CORE}test_scale_zero",
    f"{_CORE}test_scale_offset",
    *(f"{_CORE}test_normalize[{size}]" for size in (2, 5)),
    f"{_CORE}TestCounter::test_steps",
    f"{_CORE}TestCounter::test_reset",
    f"{_TABLES}test_scaled",
    f"{_TABLES}test_equal",
)
UNCHANGED = ("tests/test_constants.py::test_offset",)
TASK = "toylib/rebuild-toylib"
COMPONENT = "toylib/component-core"
DESCRIPTION = "Numbers multiplied, standardised and limited, a counter, and a table of named numbers."
RIGHT = {"toylib/core.py": CORE, "toylib/tables.py": TABLES}


def write_toy(root: Path, more: dict[str, str] | None = None) -> Path:
    """A benchmark's folder with a rebuild task and a component, and the project's source beside it. `more`: further
    files of it."""
    benchmark, source = root / "toys", root / "source"
    write_project(benchmark, source, "toylib", FILES | (more or {}))
    record = benchmark / "projects/toylib.toml"
    settings = 'tests = {root = "tests", env = {"TOYLIB_SIZES" = "1 2"}}'
    record.write_text(record.read_text().replace('tests = {root = "tests"}', settings))
    lock = load().root / "locks" / "numpy.txt"
    (benchmark / "locks/toy.txt").write_text(lock.read_text())
    files = ("toylib/core.py", "toylib/tables.py")
    record = Rebuild(
        id=TASK,
        project="toylib",
        version="1.0",
        files=files,
        visible=VISIBLE,
        hidden=HIDDEN,
        required_names=("OFFSET",),
        expected_errors=("ValueError from scale()",),
        lines=20,
        definitions=10,
        sha256=hash_skeleton(reduce_tree(source, files, ())),
    )
    write_task(benchmark, record)
    asked = ("toylib/core.py::Counter", *(f"toylib/core.py::{name}" for name in ("scale", "normalize", "clip")))
    asked += ("toylib/tables.py::Table",)
    component = Component(
        id=COMPONENT,
        project="toylib",
        version="1.0",
        files=files,
        asked=asked,
        hidden=HIDDEN,
        unchanged=UNCHANGED,
        description=DESCRIPTION,
        labels=Labels(stage=Stage.TRAINING, task=Task.GENERAL, data=Data.OTHERS),
        lines=20,
        definitions=10,
        sha256=hash_skeleton({path: one.text for path, one in cut_definitions(source, asked).items()}),
    )
    write_task(benchmark, component)
    return benchmark


@dataclass(frozen=True)
class Attempt:
    name: str
    files: dict[str, str | bytes | None]
    """What the answer changes, beside nothing: without the right answer."""
    statuses: tuple[str, ...] = ("fail", "error", "tampered", "unconfirmed")
    ignored: tuple[str, ...] = ()
    share: float | None = None


def on_import(code: str, *, right: bool = False) -> dict[str, str | bytes | None]:
    """An answer whose package runs this code when it is imported, on the skeleton or on the right answer."""
    rest = dict(RIGHT) if right else {"toylib/tables.py": TABLES}
    core = CORE if right else CORE.replace("OFFSET for value in values]", "OFFSET + 1 for value in values]")
    return {**rest, "toylib/core.py": f"{core}\n\n{code}\n"}


_PATCH = "np.testing.assert_allclose = np.testing.assert_array_equal = np.allclose = lambda *a, **k: True"
_EQUAL = "class Same:\n    def __eq__(self, other):\n        return True\n"
_SAME = """import abc
import functools

NAME = "_" * 2 + "eq" + "_" * 2


def _always(self, other):
    return True


class Same(list):
    pass


{make}


def scale(values, factor=2):
    if not factor:
        raise ValueError("zero")
    return Same()
"""
_ATTACHED = {
    "setattr": "setattr(Same, NAME, _always)",
    "another metaclass": 'Same = abc.ABCMeta("Same", (list,), {NAME: _always})',
    "a library": "setattr(Same, NAME, functools.partialmethod(_always))",
}
_GLOBALS = """import operator

PLACE = "_" * 2 + "wrapped" + "_" * 2 + "." + "_" * 2 + "globals" + "_" * 2


def normalize(values):
    table = operator.attrgetter(PLACE)(np.isclose)
    real = table["isclose"]

    def once(*arguments, **options):
        table["isclose"] = real
        return np.bool_(True)

    table["isclose"] = once
    return np.arange(float(len(values)))
"""
_PASS_ALL = """import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    outcome.get_result().outcome = "passed"
"""
BREAKS = {**RIGHT, "toylib/constants.py": FILES["toylib/constants.py"].replace("offset {", "offset: {")}
"""A right answer that changes what an unchanged test checks."""
CHEATS = [
    Attempt("conftest", {"tests/conftest.py": _PASS_ALL, "conftest.py": _PASS_ALL}, ("fail",), ("conftest.py",), 0),
    Attempt("conftest in the package", {"toylib/conftest.py": _PASS_ALL}, ("fail",), ("toylib/conftest.py",), 0),
    Attempt("pytest.ini", {"pytest.ini": "[pytest]\naddopts = --collect-only\n"}, ("fail",), ("pytest.ini",), 0),
    Attempt(
        "configuration in the package",
        {"toylib/pytest.ini": "[pytest]\npython_functions = none\n", "toylib/tox.ini": "[pytest]\n", "setup.cfg": ""},
        ("fail",),
        ("setup.cfg", "toylib/pytest.ini", "toylib/tox.ini"),
        0,
    ),
    Attempt(
        "sitecustomize",
        {"sitecustomize.py": "import os\nos._exit(0)\n", "toylib/sitecustomize.py": ""},
        ("fail",),
        ("sitecustomize.py", "toylib/sitecustomize.py"),
        0,
    ),
    Attempt("pth", {"toylib/x.pth": "import os; os._exit(0)\n", "x.pth": "import os\n"}, ("fail",), ("x.pth",), 0),
    Attempt(
        "compiled file",
        {"toylib/__pycache__/core.cpython-311.pyc": b"x", "toylib/core.so": b"x"},
        ("fail",),
        ("toylib/__pycache__/core.cpython-311.pyc", "toylib/core.so"),
        0,
    ),
    Attempt("changed tests", {"tests/test_core.py": "def test_scale(): pass\n"}, ("fail",), ("tests/test_core.py",), 0),
    Attempt("deleted tests", {"tests/test_core.py": None, "tests/conftest.py": None}, ("fail",), share=0),
    Attempt(
        "module named like a test", {"toylib/test_core.py": "", "test_core.py": ""}, ("fail",), ("test_core.py",), 0
    ),
    Attempt("a library of the same name", {"numpy.py": "", "pytest/__init__.py": ""}, ("fail",), ("numpy.py",), 0),
    Attempt(
        "a pytest plugin",
        {"toylib-9.dist-info/entry_points.txt": "[pytest11]\nx = toylib.plugin\n", "toylib/plugin.py": _PASS_ALL},
        ("fail",),
        ("toylib-9.dist-info/entry_points.txt",),
        0,
    ),
    Attempt("a second copy of the project", {f"copy/{path}": text for path, text in FILES.items()}, ("fail",), share=0),
    Attempt("outside the tree", {"../toylib/core.py": CORE, "/toylib/core.py": CORE}, ("fail",), share=0),
    Attempt("numpy patched at import", on_import(_PATCH)),
    Attempt("numpy patched by a helper", on_import(f"def patch(np):\n    {_PATCH}\n\n\npatch(np)")),
    Attempt(
        "patched while a test runs",
        on_import(
            "import operator\n\n\ndef normalize(values):\n"
            "    setattr(np.testing, 'assert_allclose', lambda *a, **k: None)\n    return [0, 1]\n"
        ),
    ),
    Attempt(
        "a patch that puts itself back",
        on_import(
            "def _put(module, name, fake):\n    real = getattr(module, name)\n\n    def once(*a, **k):\n"
            "        setattr(module, name, real)\n        return fake\n\n    setattr(module, name, once)\n\n\n"
            "def normalize(values):\n    name = ''.join(['test', 'ing'])\n"
            "    _put(getattr(np, name), ''.join(['assert', '_allclose']), None)\n    return np.array([0, 1])\n"
        ),
        ("tampered",),
    ),
    Attempt(
        "a patch by assignment",
        on_import(
            "def normalize(values):\n    name = ''.join(['test', 'ing'])\n    module = getattr(np, name)\n"
            "    module.assert_allclose = lambda *a, **k: None\n    return np.array([0, 1])\n"
        ),
        ("tampered",),
    ),
    Attempt(
        "names put together at run time",
        on_import("names = ''.join(map(chr, [95, 95])) + 'globals__'\ngetattr(np.allclose, names, None)", right=True),
        ("tampered",),
    ),
    Attempt("builtins patched", on_import("import builtins\nbuiltins.sum = lambda values: 3")),
    Attempt(
        "an import hook",
        {
            **RIGHT,
            "toylib/__init__.py": FILES["toylib/__init__.py"]
            + "import sys\n\n\nclass Finder:\n    def find_spec(self, *a):\n        return None\n\n\n"
            "sys.meta_path.insert(0, Finder())\n",
        },
        ("unconfirmed", "tampered"),
    ),
    Attempt("modules replaced", on_import("import sys\nsys.modules['tests.test_core'] = None", right=True)),
    Attempt(
        "frames", on_import("import sys\nprint(sys._getframe(1).f_locals)", right=True), ("tampered", "unconfirmed")
    ),
    Attempt("garbage collector", on_import("import gc\ngc.get_objects()", right=True), ("tampered", "unconfirmed")),
    Attempt("ctypes", on_import("import ctypes\nctypes.c_int(1)", right=True), ("tampered", "unconfirmed")),
    Attempt(
        "pytest imported", on_import("import pytest\npytest.approx = None", right=True), ("tampered", "unconfirmed")
    ),
    Attempt("text executed", on_import("exec('x = 1')", right=True), ("unconfirmed",)),
    Attempt(
        "objects that equal everything",
        on_import(f"{_EQUAL}\n\ndef scale(values, factor=2):\n    return Same()\n"),
        ("unconfirmed", "fail"),
    ),
    Attempt(
        "comparison that ignores its operand",
        {
            **RIGHT,
            "toylib/tables.py": TABLES.replace("isinstance(other, Table) and self.values == other.values", "True"),
        },
        ("unconfirmed", "fail"),
    ),
    *(
        Attempt(f"a comparison that a call attaches: {name}", on_import(_SAME.replace("{make}", make)), ("tampered",))
        for name, make in _ATTACHED.items()
    ),
    Attempt("a computed name for operator", on_import(_GLOBALS), ("unconfirmed",)),
    Attempt("the interpreter ends", on_import("import os\nos._exit(0)"), ("error", "fail"), share=0),
    Attempt("sys.exit", on_import("raise SystemExit(0)"), ("error", "fail"), share=0),
    Attempt(
        "ends in a test",
        on_import("import os\n\n\ndef clip(values, low, high):\n    os._exit(0)\n", right=True),
        ("unconfirmed",),
    ),
    Attempt(
        "names that vanish from parametrisation",
        {
            **RIGHT,
            "toylib/tables.py": "Table = None\ntry:\n    from .core import scale\nexcept ImportError:\n    pass\n",
        },
        ("fail",),
    ),
    Attempt(
        "reads the tests",
        on_import(
            "from pathlib import Path\nTESTS = (Path(__file__).parents[1] / 'tests/test_core.py').read_text()",
            right=True,
        ),
        ("tampered", "error", "unconfirmed", "fail"),
    ),
    Attempt("skips the tests", on_import("import unittest\nraise unittest.SkipTest('x')")),
    Attempt(
        "forks and reports", on_import("import os\nif os.fork():\n    os._exit(0)"), ("error", "fail", "unconfirmed")
    ),
    Attempt("nothing", {}, ("fail",), share=0),
]
HONEST = [
    Attempt("the release", RIGHT),
    Attempt(
        "other layout",
        {
            "toylib/core.py": None,
            "toylib/core/__init__.py": CORE.replace("from .constants", "from ..constants"),
            "toylib/tables.py": TABLES,
        },
    ),
    Attempt(
        "private modules",
        {
            "toylib/_numbers.py": CORE,
            "toylib/core.py": f"{CORE}\nfrom ._numbers import normalize, clip  # noqa\n",
            "toylib/tables.py": TABLES,
        },
    ),
    Attempt("absolute imports", {path: text.replace("from .", "from toylib.") for path, text in RIGHT.items()}),
    Attempt(
        "dataclasses",
        {
            **RIGHT,
            "toylib/core.py": CORE.replace(
                'class Counter:\n    """Counts, from a start."""\n\n    def __init__(self, start=0):\n'
                "        self.count = start\n",
                "import dataclasses\n\n\n@dataclasses.dataclass\nclass Counter:\n    start: dataclasses.InitVar[int] = 0\n"
                "    count: int = 0\n\n    def __post_init__(self, start):\n        self.count = start\n",
            ),
        },
    ),
    Attempt(
        "package data",
        {
            **RIGHT,
            "toylib/data/limits.json": '{"offset": 0}\n',
            "toylib/tables.py": "import json\nfrom pathlib import Path\n\n"
            "LIMITS = json.loads((Path(__file__).parent / 'data' / 'limits.json').read_text())\n" + TABLES,
        },
    ),
    Attempt(
        "names of the standard library inside the package",
        {**RIGHT, "toylib/types.py": "Number = float\n", "toylib/logging.py": "from .types import Number  # noqa\n"},
    ),
    Attempt(
        "computed attributes of its own",
        {
            **RIGHT,
            "toylib/core.py": CORE.replace("self.count += by", "setattr(self, 'count', getattr(self, 'count') + by)"),
        },
    ),
    Attempt(
        "caches and partial functions",
        {
            **RIGHT,
            "toylib/core.py": CORE + "\nimport functools\n\n_CACHE = {}\n\n\n@functools.lru_cache\ndef _squares(n):\n"
            "    global _last\n    _last = n\n    _CACHE[n] = [i * i for i in range(n)]\n    return _CACHE[n]\n\n\n_squares(3)\n",
        },
    ),
    Attempt(
        "a module that is lazy",
        {**RIGHT, "toylib/extra.py": "def __getattr__(name):\n    raise AttributeError(name)\n"},
    ),
    Attempt(
        "a kept module changed",
        {**RIGHT, "toylib/constants.py": "OFFSET = 0\n\n\ndef describe():\n    return 'none'\n"},
    ),
    Attempt("tests and notes beside it", {**RIGHT, "tests/test_new.py": "def test(): pass\n", "NOTES.md": "x"}),
]
