"""Answers of several files are read in every form that models use, and what cannot be read is said."""

import json

import pytest

from dlbench.extraction.definitions import is_whole, merge_definitions
from dlbench.extraction.edits import Edit, place, read_diff
from dlbench.extraction.file_answer import FileAnswer, Given, extract_files
from dlbench.extraction.file_paths import resolve_path
from dlbench.extraction.syntax import is_stub, parse
from dlbench.runs.verdict import Status
from tests.execution.file_task_toy import CORE, TABLES
from tests.extraction.file_answers import (
    CORE_PATH,
    TABLES_PATH,
    Shape,
    cut_out,
    diff,
    fence,
    give,
    list_shapes,
    replacement,
)

GIVEN = give()
SHAPES = list_shapes()


def read(text: str, given: Given = GIVEN) -> FileAnswer:
    return extract_files(text, given)


@pytest.mark.parametrize("shape", [one for one in SHAPES if one.is_exact], ids=lambda shape: shape.name)
def test_files_are_those_of_the_answer(shape: Shape) -> None:
    found = read(shape.text)
    assert (found.status, found.unplaced, found.truncated) == (None, (), False), found
    texts = {path: (text or "").rstrip() for path, text in found.files.items()}
    assert texts == {CORE_PATH: CORE.rstrip(), TABLES_PATH: TABLES.rstrip()}


@pytest.mark.parametrize("shape", [one for one in SHAPES if not one.is_exact], ids=lambda shape: shape.name)
def test_definitions_replace_those_asked_for(shape: Shape) -> None:
    found = read(shape.text)
    assert (found.status, found.unplaced, found.truncated) == (None, (), False), found
    core, tables = found.files[CORE_PATH] or "", found.files[TABLES_PATH] or ""
    names = ("scale", "normalize", "clip", "Counter.step", "Counter.reset")
    assert not [name for name in names if is_stub(core, name)]
    assert not [name for name in ("Table.scaled", "Table.total", "Table.__eq__") if is_stub(tables, name)]
    assert "from .core import scale" in tables


MERGED = '''"""A module."""

import a
from b import c

TABLE = {}


@c
def first(x):
    raise NotImplementedError


def other(x):
    return a.f(x)


class Last(a.Base):

    size = 1

    @property
    def width(self):
        raise NotImplementedError

    @width.setter
    def width(self, value):
        raise NotImplementedError

    def kept(self):
        return 1
'''


def merge(code: str, *, asked: tuple[str, ...] = (), everything: bool = False) -> str:
    text, _ = merge_definitions(MERGED, code, asked=asked, everything=everything)
    assert parse(text) is not None, text
    return text


def test_a_definition_keeps_decorators_that_the_answer_leaves_out() -> None:
    assert "@c\ndef first(x):\n    return x\n" in merge("def first(x):\n    return x")
    assert "@d\ndef first(x):" in merge("@d\ndef first(x):\n    return x")
    assert "@c" not in merge("@d\ndef first(x):\n    return x")


def test_helpers_and_imports_come_along_and_examples_do_not() -> None:
    code = "import a\nimport math\nimport pickle as c\n\nSCALE = 2\n\ndef _help(x):\n    return SCALE * x\n\n"
    code += "def first(x):\n    return _help(math.pi)\n\nTABLE = {...}\nresult = first(1)\nprint(result)\n"
    text = merge(code)
    for part in ("import math\n", "SCALE = 2\n", "def _help(x):"):
        assert text.count(part) == 1
    assert text.index("def _help") < text.index("@c")
    assert "TABLE = {}" in text
    assert not [part for part in ("pickle", "result", "{...}") if part in text]


def test_a_table_of_the_answer_is_filled() -> None:
    text = merge("RULES = {}\nRULES['a'] = 1\nRULES.update(b=2)\n\ndef first(x):\n    return RULES[x]")
    assert "RULES['a'] = 1\n" in text
    assert "RULES.update(b=2)" in text


def test_what_is_left_out_of_an_answer_stays() -> None:
    code = "def other(x):\n    ...\n\nclass Last:\n    # ... existing code ...\n    @width.setter\n"
    code += "    def width(self, value):\n        self.size = value\n\n    def more(self):\n        return 2\n"
    text = merge(code, asked=("Last",))
    for part in ("return a.f(x)", "def kept", "size = 1", "def more", "self.size = value", "@property"):
        assert part in text
    assert text.count("raise NotImplementedError") == 2


def test_a_class_that_is_asked_for_is_replaced_as_a_whole() -> None:
    text = merge("class Last:\n    def width(self):\n        return 3\n", asked=("Last",))
    assert ("def kept" in text, "class Last:" in text, text.count("def width")) == (False, True, 1)


def test_definitions_in_branches_are_replaced() -> None:
    branches = "try:\n    import z\n\n    def f(x):\n        raise NotImplementedError\n"
    branches += "except ImportError:\n\n    def f(x):\n        raise NotImplementedError\n"
    text, names = merge_definitions(branches, "def f(x):\n    return 1")
    assert (names, text.count("    def f(x):\n        return 1")) == (["f"], 2)


def test_overloads_and_registered_functions_stay_apart() -> None:
    overloads = (
        "from typing import overload\n\n\n@overload\ndef f(x: int) -> int: ...\n@overload\ndef f(x: str) -> str: ...\n"
    )
    text, _ = merge_definitions(f"{overloads}def f(x):\n    raise NotImplementedError\n", "def f(x):\n    return x")
    assert (text.count("@overload"), "NotImplementedError" in text) == (2, False)
    registered = "@g.register\ndef _(x: int):\n    {}\n\n\n@g.register\ndef _(x: str):\n    {}\n"
    empty = registered.format(*["raise NotImplementedError"] * 2)
    text, _ = merge_definitions(empty, registered.format("return 1", "return 2"))
    assert text == registered.format("return 1", "return 2")
    text, _ = merge_definitions(empty, "@g.register\ndef _(x: str):\n    return 2")
    assert text == registered.format("raise NotImplementedError", "return 2")


def test_a_name_of_two_modules_goes_where_it_is_asked_for() -> None:
    stub = "def build(x):\n    {}\n"
    given = {"p/a.py": stub.format("return 0"), "p/b.py": stub.format("raise NotImplementedError")}
    found = read(fence(stub.format("return 1")), Given(given, ["p/a.py", "p/b.py"], ["p/b.py::build"]))
    assert found.files == {"p/b.py": stub.format("return 1")}


def test_a_decorated_helper_is_no_method() -> None:
    code = "@b\ndef _help(x):\n    return x\n\ndef kept(self):\n    return _help(self)\n"
    text = merge(code, asked=("Last.kept",))
    assert "\n@b\ndef _help(x):" in text
    assert "    def kept(self):\n        return _help(self)" in text


def test_a_list_of_files_names_no_block() -> None:
    both = fence(cut_out(CORE, "clip") + cut_out(TABLES, "Table"))
    found = read(f"I change:\n- `{CORE_PATH}`\n- `{TABLES_PATH}`\n\n{both}")
    assert sorted(found.files) == [CORE_PATH, TABLES_PATH]
    assert "class Table" not in (found.files[CORE_PATH] or "")


def test_a_fence_in_a_docstring_of_a_diff_does_not_end_it() -> None:
    given = 'def f(x):\n    raise NotImplementedError\n\n\ndef g():\n    """Example:\n\n    ```\n    g()\n    ```\n    """\n'
    after = given.replace("raise NotImplementedError", "return 1").replace("g()\n    ```", "g(1)\n    ```")
    text = fence(diff(given, after, "pkg/a.py", context=9), "diff")
    assert read(text, Given({"pkg/a.py": given}, ["pkg/a.py"])).files == {"pkg/a.py": after}


MODULE = """import importlib

try:
    import scipy
except ImportError:
    scipy = None

SIZES = (1, 2)


def first(x):
    raise NotImplementedError


if scipy:

    def fast(x):
        raise NotImplementedError

else:

    def fast(x):
        raise NotImplementedError


class Other:
    @property
    def width(self):
        raise NotImplementedError


class Layer(Base):
    size = 1

    @property
    def width(self):
        raise NotImplementedError

    def make(self):
        raise NotImplementedError
"""
WIDTH = "class Layer(Base):\n    @property\n    def width(self):\n        return 8\n"
MAKE = "class Layer(Base):\n    size = 2\n\n    def make(self):\n        return 9\n"
PATCH = "*** Begin Patch\n*** Update File: pkg/m.py\n@@ class Layer\n@@ def width\n-        raise NotImplementedError\n"
PATCH += "+        return 8\n*** End Patch"
CORRECTION = replacement("def first(x):\n    return 7", "def first(x):\n    return 8")
WRITTEN = MODULE.replace("raise NotImplementedError", "return 7")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (fence("if scipy:\n    def fast(x):\n        return 1\nelse:\n    def fast(x):\n        return 2"), ["return 1", "return 2"]),
        (fence("SIZES: tuple[int, ...] = (3,)\n\ndef first(x):\n    return 1"), ["SIZES: tuple[int, ...] = (3,)"]),
        (fence("import importlib.util\n\ndef first(x):\n    return 1"), ["import importlib.util\n"]),
        (fence(f"{WIDTH}\n\n{MAKE}"), ["return 8", "return 9", "size = 2"]),
        (f"{fence(WIDTH)}\nand\n{fence(MAKE)}", ["return 8", "return 9", "size = 2"]),
        (f"# pkg/m.py\n{fence(MAKE)}\nA correction.\n# pkg/m.py\n{fence(WIDTH)}", ["return 8", "return 9", "size = 2"]),
        (fence("# pkg/m.py\n@final\nclass Other(kind=1):\n    def more(self):\n        return 1"), ["@final\nclass Other(kind=1):\n    @property"]),
        (fence("# pkg/m.py\nclass Layer:\n    # ... existing code ...\n    def more(self):\n        return 1"), ["class Layer(Base):", "size = 1"]),
        (f"# pkg/m.py\n{fence(WRITTEN)}\nA correction:\n{CORRECTION}", ["return 8", "return 7"]),
        (json.dumps({"name": "apply_patch", "arguments": {"input": PATCH}}), ["class Layer(Base):\n    size = 1\n\n    @property\n    def width(self):\n        return 8"]),
        (json.dumps({"cmd": ["apply_patch", PATCH]}), ["return 8"]),
        (json.dumps({"path": "pkg/m.py", "diff": "@@ -1 +1 @@\n def first(x):\n-    raise NotImplementedError\n+    return 7"}), ["return 7"]),
        (f"pkg/m.py\n{replacement('SIZES = (1, 2)', 'SIZES = 3')}".replace("SEARCH", "HEAD").replace("REPLACE", "main"), ["SIZES = 3"]),
        (f"### pkg/m.py\n{fence(WRITTEN, 'text')}", ["return 7"]),
        (fence(f"// pkg/m.py\n{WRITTEN}"), ["return 7"]),
        (f"<file><path>pkg/m.py</path><content><![CDATA[\n{WRITTEN}]]></content></file>", ["return 7"]),
    ],
)  # fmt: skip
def test_an_honest_answer_is_read(text: str, parts: list[str]) -> None:
    asked = [f"pkg/m.py::{name}" for name in ("first", "fast", "Layer")]
    found = read(text, Given({"pkg/m.py": MODULE, "pkg/n.py": ""}, ["pkg/m.py", "pkg/n.py"], asked))
    code = found.files.get("pkg/m.py") or ""
    assert (found.status, found.unplaced) == (None, ())
    assert (parse(code) is not None, code.count("class Layer")) == (True, 1)
    assert not [part for part in parts if part not in code], code


def test_strings_keep_their_lines_when_a_method_is_moved() -> None:
    code = "class Last(a.Base):\n  def kept(self):\n    return '''x\n  y'''\n"
    text = merge(code)
    assert "    def kept(self):\n      return '''x\n  y'''\n" in text


def test_only_a_whole_module_replaces_a_module() -> None:
    assert is_whole(MERGED, MERGED)
    assert is_whole(MERGED, "from ._rest import first, other, Last, TABLE\n")
    assert is_whole(MERGED, "from ._rest import *\n")
    assert not is_whole(MERGED, MERGED.replace("import a\n", ""))
    assert not is_whole(MERGED, MERGED.replace("def other", "def another"))
    assert not is_whole(MERGED, MERGED.replace("import a\n", "import a\n# ... existing code ...\n"))


def test_a_block_of_imports_does_not_replace_the_file() -> None:
    text = f"First the import:\n\n### {CORE_PATH}\n{fence('import math')}\n\n### {CORE_PATH}\n{fence(cut_out(CORE, 'clip'))}"
    core = read(text).files[CORE_PATH] or ""
    assert ("import math" in core, "class Counter" in core, "np.minimum" in core) == (True, True, True)


def test_files_are_added_and_removed() -> None:
    added = f"{fence('X = 1', 'python toylib/extra/__init__.py')}\n{fence('', 'python toylib/extra/__init__.py')}"
    removed = "diff --git a/toylib/constants.py b/toylib/constants.py\ndeleted file mode 100644\n"
    removed += "--- a/toylib/constants.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-OFFSET = 0\n"
    moved = "diff --git a/toylib/tables.py b/toylib/named.py\nsimilarity index 100%\nrename from toylib/tables.py\n"
    moved += "rename to toylib/named.py\n"
    assert read(added).files == {"toylib/extra/__init__.py": "X = 1\n"}
    assert read(fence(removed, "diff")).files == {"toylib/constants.py": None}
    assert read(fence(moved, "diff")).files == {TABLES_PATH: None, "toylib/named.py": GIVEN.texts[TABLES_PATH]}
    assert read(json.dumps({"files": {"toylib/constants.py": None}})).files == {"toylib/constants.py": None}


def test_python_that_holds_json_is_python() -> None:
    code = cut_out(CORE, "scale") + '\nRULES = {"path": "toylib/tables.py", "content": "x = 1"}\n'
    assert list(read(fence(code)).files) == [CORE_PATH]


@pytest.mark.parametrize(
    ("text", "status", "reason"),
    [
        ("", Status.NO_CODE, "the answer is empty"),
        ("I cannot do that.", Status.NO_CODE, "no file, edit or definition"),
        ("<think>\nFirst", Status.NO_CODE, "the reasoning never ends"),
        (f"<think>\n{fence(CORE, f'python {CORE_PATH}')}\n</think>\n", Status.NO_CODE, "there is reasoning"),
        (fence("pytest tests", "bash"), Status.NO_CODE, "no file, edit or definition"),
        (fence("def scale(values:\n    return"), Status.SYNTAX_ERROR, "the code does not parse"),
        (fence("def rescale(values):\n    return values"), Status.MISSING_TARGET, "it defines rescale"),
        (f"{CORE_PATH}\n{replacement('def none():', 'x = 1')}", Status.MISSING_TARGET, "not in the file: toylib/core.py"),
        (f"toylib/none.py\n{replacement('x = 2', 'x = 1')}", Status.MISSING_TARGET, "there is no such file"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_has_a_status(text: str, status: Status, reason: str) -> None:
    found = read(text)
    assert (found.status, found.files) == (status, {})
    assert reason in found.reason


def test_an_answer_that_is_cut_off_keeps_whole_definitions() -> None:
    cut = fence(CORE, f"python {CORE_PATH}").partition("        self.count += by")[0]
    found = read(cut)
    core = found.files[CORE_PATH] or ""
    assert (found.status, found.truncated) == (None, True)
    assert not is_stub(core, "clip")
    assert is_stub(core, "Counter.step")


def test_one_edit_that_does_not_fit_leaves_the_others() -> None:
    old = "def scale(values, factor=2):\n    raise NotImplementedError"
    new = "def scale(values, factor=2):\n    return 1"
    found = read(f"{CORE_PATH}\n{replacement(old, new)}{replacement('nothing', 'x')}")
    assert (found.status, list(found.files), len(found.unplaced)) == (None, [CORE_PATH], 1)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("pkg/nn/layers.py", "src/pkg/nn/layers.py"),
        ("layers.py", "src/pkg/nn/layers.py"),
        ("/home/me/repo/src/pkg/nn/layers.py", "src/pkg/nn/layers.py"),
        ("a/src/pkg/nn/layers.py", "src/pkg/nn/layers.py"),
        ("pkg\\nn\\layers.py", "src/pkg/nn/layers.py"),
        ("pkg/nn/new.py", "src/pkg/nn/new.py"),
        ("new.py", "src/pkg/nn/new.py"),
        ("src/pkg/data/new.py", "src/pkg/data/new.py"),
        ("setup.py", "setup.py"),
    ],
)
def test_paths_are_found_in_the_tree(path: str, expected: str) -> None:
    known = ["src/pkg/__init__.py", "src/pkg/nn/layers.py", "setup.py"]
    assert resolve_path(path, ["src/pkg/nn/layers.py"], known) == expected


TEXT = "class A:\n    def f(self):\n        raise NotImplementedError\n\n\nclass B:\n    def f(self):\n        raise NotImplementedError\n"


@pytest.mark.parametrize(
    ("edit", "changed"),
    [
        (Edit(["    def f(self):", "        raise NotImplementedError"], ["    x"], line=6), 1),
        (Edit(["    def f(self):", "        raise NotImplementedError"], ["    x"], anchors=["class B"]), 1),
        (Edit(["    def f(self):", "        raise NotImplementedError"], ["    x"]), 0),
        (Edit(["class B:", "", "    def f(self):", "        raise NotImplementedError"], ["class B:", "    x"]), 1),
        (Edit(["wrong", "class B:", "    def f(self):"], ["wrong", "class B:", "    x"]), 1),
    ],
)
def test_an_edit_is_placed_where_it_says(edit: Edit, changed: int) -> None:
    parts = (place(TEXT, edit) or "").split("\n\n\n")
    assert ["    x" in part for part in parts] == [number == changed for number in range(2)]


def test_an_edit_whose_lines_are_not_there_is_not_placed() -> None:
    assert place(TEXT, Edit(["def g(self):"], ["x"])) is None


def test_a_diff_of_several_files_is_divided() -> None:
    text = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n--- /dev/null\n+++ b/y.py\n@@ -0,0 +1,2 @@\n+c\n+--- d\n"
    first, second = read_diff(text)
    assert (first.path, first.edits[0].old[:1], first.is_new) == ("x.py", ["a"], False)
    assert (second.path, second.is_new, second.edits[0].new[:2]) == ("y.py", True, ["c", "--- d"])
