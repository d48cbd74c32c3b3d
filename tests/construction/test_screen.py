"""Screening gives the right reason, in the right order, and keeps what can be an instance."""

import ast
import hashlib
import json
import textwrap
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlbench.construction import Row, WorkFolder
from dlbench.construction.screening import FEWEST_TESTS, REASONS, screen, screen_project
from dlbench.construction.screening.parsed_module import classify_path, name_module, read_known, split_words
from dlbench.dataset.target import Function
from dlbench.errors import DLBenchError
from dlbench.validation.mutation_operators import OPERATORS

GOOD = """def soften(x, eps):
    y = x - x.max()
    y = np.exp(y)
    total = y.sum() + eps
    return y / total
"""
FILLING = "".join(f"    x = x + {number}\n" for number in range(130))
TABLE = "def table():\n    return {\n" + "".join(f"        'k{n}': [{n}, -{n}],\n" for n in range(10)) + "    }\n"


def list_functions(path: str, source: str, project: str = "toy", tests: int = 5) -> list[Row]:
    """Rows as the step extract writes them, for every function and method of a module."""
    lines = source.split("\n")
    found = []

    def enter(body: list[ast.stmt], names: tuple[str, ...]) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                enter(node.body, (*names, node.name))
            elif isinstance(node, Function):
                first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                text = "\n".join(lines[first - 1 : node.end_lineno])
                qualname = ".".join([*names, node.name])
                place = {"path": path, "qualname": qualname, "first": first, "last": node.end_lineno}
                digest = hashlib.sha256(text.encode()).hexdigest()
                counts = {"tests": tests, "direct_tests": tests}
                found.append({"id": f"{project}/{name_module(path)}.{qualname}", "sha256": digest, **place, **counts})

    enter(ast.parse(source).body, ())
    return found


def screen_files(files: dict[str, str], tests: int = 5) -> dict[str, Row]:
    rows = [row for path, source in files.items() for row in list_functions(path, source, tests=tests)]
    screened = screen(rows, files.__getitem__, files)
    assert [row["id"] for row in screened] == [row["id"] for row in rows]
    return {row["qualname"]: row for row in screened}


def screen_one(source: str, path: str = "toy/core.py", head: str = "import numpy as np\n\n", tests: int = 5) -> Row:
    return next(iter(screen_files({path: head + source}, tests).values()))


def method(source: str, header: str = "class A(Base):") -> str:
    return f"{header}\n" + textwrap.indent(textwrap.dedent(source).strip(), "    ") + "\n"


def test_nontrivial_function_is_kept_with_its_measures():
    row = screen_one(GOOD)
    assert (row["kept"], row["reason"], row["reasons"]) == (True, "", [])
    assert row["measures"]["loc"] == 5
    assert list(row["measures"]["libraries"]) == ["numpy"]


def test_existing_measures_are_reused():
    files = {"toy/core.py": f"import numpy as np\n\n{GOOD}"}
    (row,) = list_functions("toy/core.py", files["toy/core.py"])
    known = screen_one(GOOD)["measures"] | {"loc": 121}
    (screened,) = screen([json.loads(json.dumps(row | {"measures": known}))], files.__getitem__, files)
    assert (screened["reason"], screened["figure"]) == ("too_long", 121)


PLANTED = [
    ("too_short", "def f(x):\n    y = x + 1\n    return y * 2\n", 3),
    ("too_long", f"def f(x):\n{FILLING}    return x\n", 132),
    ("generated_or_data", TABLE, 1.0),
    ("trivial_delegation", "def f(x):\n    return g(\n        x,\n        axis=0,\n    )\n", "it only forwards its parameters"),
    ("trivial_delegation", "def f(x):\n    warnings.warn('old')\n    out = m.g(x)\n    return out\n", "it only forwards its parameters"),
    ("trivial_delegation", method("@property\ndef size(self):\n    return self._size"), "it only returns an existing value"),
    ("trivial_delegation", method("@size.setter\ndef size(self, v):\n    self._size = v"), "it only collects attributes"),
    ("trivial_delegation", method("def __init__(self, x):\n    super().__init__(x)"), "it only forwards its parameters"),
    ("trivial_delegation", method("def __repr__(self):\n    a = self.a + 1\n    b = a + 1\n    c = b + 1\n    return f'{c}'"), "it formats an object as text"),
    ("trivial_delegation", method("def f(self, x):\n    '''Words.'''\n    raise NotImplementedError('no')"), "it only raises"),
    ("trivial_delegation", method("@abc.abstractmethod\ndef f(self, x):\n    y = x\n    y += 1\n    y += 2\n    return y"), "it is abstract"),
    ("trivial_delegation", "def f(x):\n    pass\n", "its body is empty"),
    ("trivial_delegation", "def f(x):\n    ...\n", "its body is empty"),
    ("trivial_delegation", "def f(x):\n    if is_symbolic(x):\n        return Mean(axis=0).call(x)\n    return backend.mean(x)\n", "it only chooses a function to forward its parameters to"),
    ("trivial_delegation", method("def get_config(self):\n    config = super().get_config()\n    config.update({'a': self.a, 'b': save(self.b)})\n    return config"), "it only collects attributes"),
    ("constructor_of_attributes", method("def __init__(self, a, b=None):\n    super().__init__()\n    self.a = a\n    self.b = b if b is not None else 1\n    self.c = int(a)\n    self.d = []"), 5),
]  # fmt: skip


@pytest.mark.parametrize(("reason", "source", "figure"), PLANTED)
def test_excluded_function_has_a_reason_sentence_and_figure(reason, source, figure):
    row = screen_one(source)
    assert (row["kept"], row["reason"], row["figure"]) == (False, reason, figure)
    assert row["why"].endswith(".")
    assert row["reasons"][0] == {"reason": reason, "why": row["why"], "figure": figure}


@pytest.mark.parametrize(
    "source",
    [
        method("def __init__(self, a):\n    super().__init__()\n    self.a = nn.Linear(a, a)\n    self.b = nn.Linear(a, 1)\n    self.c = a"),
        method("def forward(self, x):\n    x = self.one(x)\n    x = self.two(x)\n    x = self.three(x)\n    return x"),
        "def f(x):\n    return g(\n        x + 1,\n        axis=0,\n        n=2,\n    )\n",
        "def f(x):\n    if x:\n        return g(x)\n    elif x.y:\n        return h(x)\n    return i(x)\n",
        "def f(x):\n    kernel = [[1, 2, 1], [2, 4, 2], [1, 2, 1]]\n    y = convolve(x, kernel)\n    y = y / 16\n    y = y.clip(0, 1)\n    return y\n",
    ],
)  # fmt: skip
def test_nontrivial_code_is_not_trivial(source):
    assert screen_one(source)["kept"]


def test_generated_file_is_left_out():
    row = screen_one(GOOD, head="# Generated by protoc. DO NOT EDIT.\nimport numpy as np\n\n")
    assert (row["reason"], row["figure"]) == ("generated_or_data", "generated")


@pytest.mark.parametrize(
    ("tests", "reason"), [(0, "too_few_tests"), (FEWEST_TESTS - 1, "too_few_tests"), (FEWEST_TESTS, "")]
)
def test_function_with_too_few_tests_is_left_out(tests, reason):
    assert screen_one(GOOD, tests=tests)["reason"] == reason


@pytest.mark.parametrize(
    "path",
    [
        "tests/test_core.py", "toy/tests/helpers.py", "toy/core_test.py", "toy/conftest.py", "setup.py",
        "toy/testing/cases.py", "examples/train.py", "benchmarks/speed.py", "docs/conf.py", "scripts/release.py",
        "toy/_vendor/six.py", "third_party/lib/a.py", "toy/external/b.py", "toy/test_utils.py",
    ],
)  # fmt: skip
def test_code_outside_the_project_is_left_out_unread(path):
    row = screen([{"id": "toy/x", "path": path, "qualname": "x", "first": 1, "last": 9, "tests": 9}], {}.__getitem__)[0]
    assert row["reason"] == "test_code"
    assert row["figure"] == classify_path(path) != ""
    assert "measures" not in row


@pytest.mark.parametrize("path", ["toy/core.py", "src/toy/contest.py", "toy/attest/latest.py", "toy/documents.py"])
def test_similar_names_are_project_code(path):
    assert classify_path(path) == ""


def test_test_helper_imported_by_the_project_is_project_code():
    helper = f"import numpy as np\n\n{GOOD}"
    used = screen_files({"toy/testing/near.py": helper, "toy/core.py": "from .testing import near\n"})
    unused = screen_files({"toy/testing/near.py": helper, "tests/test_core.py": "from toy.testing import near\n"})
    assert used["soften"]["kept"]
    assert unused["soften"]["reason"] == "test_code"


PLAIN = "def join(parts, sep):\n    out = ''\n    for part in parts:\n        out += part + sep\n    return out\n"


@pytest.mark.parametrize(
    ("path", "head", "source", "kept"),
    [
        ("toy/paths.py", "", PLAIN, False),
        ("deep_learning/paths.py", "", PLAIN, False),  # a project's own name is no sign
        ("toy/paths.py", "import torch\n", PLAIN, True),
        ("toy/paths.py", "import os\n", PLAIN, False),
        ("torch/paths.py", "from torch import nothing\n", PLAIN, False),  # nor is importing itself
        ("toy/losses/paths.py", "", PLAIN, True),
        ("toy/paths.py", '"""Tools for training neural networks."""\n', PLAIN, True),
        ("toy/paths.py", '"""Tools for the training of staff."""\n', PLAIN, False),
        ("toy/paths.py", "", PLAIN.replace("join", "tokenize"), True),
        ("toy/paths.py", "from toy.layers import Dropout\n", PLAIN, True),
        ("toy/paths.py", "", PLAIN.replace("parts", "logits").replace("sep", "dtype"), True),
    ],
)
def test_machine_learning_is_detected_by_libraries_and_words(path, head, source, kept):
    row = screen_one(source, path=path, head=head)
    assert row["reason"] == ("" if kept else "not_deep_learning")


def test_word_list_is_normalized():
    known = read_known()
    assert all(split_words([word]) == {word} for word in known["words"])
    assert {"torch", "jax", "tensorflow", "keras", "numpy", "scipy", "sklearn", "pandas"} <= known["libraries"]
    assert split_words(["RandomCropLayer", "random_crop", "HTTPServer"]) == {
        "random",
        "crop",
        "layer",
        "http",
        "server",
    }


def test_copy_with_the_shortest_id_is_kept():
    head = "import numpy as np\n\n"
    rows = screen_files(
        {"toy/a.py": head + GOOD, "toy/b.py": head + GOOD.replace("soften", "soften_again").replace("eps", "tiny")}
    )
    assert rows["soften"]["kept"]
    assert (rows["soften_again"]["reason"], rows["soften_again"]["figure"]) == ("duplicate", "toy/toy.a.soften")


def test_copy_of_an_excluded_function_is_kept():
    files = {"toy/a.py": f"import numpy as np\n\n{GOOD}", "toy/long_name.py": f"import numpy as np\n\n{GOOD}"}
    rows = [row for path, source in files.items() for row in list_functions(path, source)]
    rows[0]["tests"] = 0
    screened = screen(rows, files.__getitem__, files)
    assert [row["reason"] for row in screened] == ["too_few_tests", ""]


def test_first_reason_counts_and_all_are_listed():
    row = screen_one("def f(x):\n    return g(x)\n", head="", tests=1)
    assert row["reason"] == "trivial_delegation"
    assert [each["reason"] for each in row["reasons"]] == [
        "trivial_delegation",
        "too_short",
        "not_deep_learning",
        "too_few_tests",
    ]
    stored = screen_one(method("def __init__(self, a):\n    self.a = a"))
    assert stored["reason"] == "constructor_of_attributes"


@pytest.mark.parametrize(
    ("source", "change", "words"),
    [
        ("def broken(:\n", {}, "SyntaxError"),
        (GOOD, {"path": "toy/gone.py"}, "FileNotFoundError"),
        (GOOD, {"first": 2}, "line 2"),
        (GOOD, {"qualname": "other"}, "line 1"),
        (GOOD, {"qualname": "outer.<locals>.soften"}, "inside another"),
        (GOOD, {"sha256": "0" * 64}, "has changed"),
        ("\0", {}, "null"),
    ],
)  # fmt: skip
def test_unreadable_function_is_recorded(source, change, words):
    def read_source(path: str) -> str:
        if path == "toy/gone.py":
            raise FileNotFoundError(path)
        return source

    row = {"id": "toy/a", "path": "toy/core.py", "qualname": "soften", "first": 1, "last": 5, "tests": 5} | change
    screened = screen([row], read_source)[0]
    assert (screened["kept"], screened["reason"]) == (False, "cannot_read")
    assert words in screened["why"]


@pytest.mark.parametrize("change", [{"id": None}, {"first": "1"}, {"tests": None}])
def test_invalid_rows_are_rejected(change):
    row = {"id": "toy/a", "path": "a.py", "qualname": "a", "first": 1, "last": 1, "tests": 1} | change
    with pytest.raises(DLBenchError, match="missing or invalid"):
        screen([row], {}.__getitem__)


def test_duplicate_id_is_rejected():
    row = {"id": "toy/a", "path": "tests/a.py", "qualname": "a", "first": 1, "last": 1, "tests": 1}
    with pytest.raises(DLBenchError, match="two functions"):
        screen([row, row], {}.__getitem__)


BODIES = st.lists(
    st.sampled_from(
        ["pass", "x = x + 1", "return x", "self.x = x", "g(x)", "return g(x)", "raise E", "y = {'a': 1}", "'words'"]
    ),
    min_size=1,
    max_size=7,
)


@settings(max_examples=80)
@given(
    st.lists(st.tuples(st.sampled_from(["f", "g", "__init__", "__repr__"]), BODIES), min_size=1, max_size=5),
    st.integers(0, 5),
    st.sampled_from(["toy/core.py", "toy/losses.py", "tests/test_a.py"]),
)
def test_every_row_gets_one_verdict(functions, tests, path):
    source = "".join(
        f"class C{number}:\n    def {name}(self, x):\n" + "".join(f"        {line}\n" for line in body)
        for number, (name, body) in enumerate(functions)
    )
    rows = list_functions(path, source, tests=tests)
    screened = screen(rows, lambda _: source)
    assert len(screened) == len(rows)
    for before, after in zip(rows, screened, strict=True):
        assert before.items() <= after.items()
        assert after["kept"] == (not after["reason"]) == (not after["reasons"])
        given_reasons = [each["reason"] for each in after["reasons"]]
        assert given_reasons == sorted(given_reasons, key=REASONS.index)
        assert not given_reasons or given_reasons[0] == after["reason"]
    assert json.loads(json.dumps(screened, sort_keys=True))
    assert screen(rows, lambda _: source) == screened


@pytest.fixture
def work(tmp_path: Path) -> WorkFolder:
    tree = tmp_path / "tree"
    files = {
        "toy/core.py": f"import numpy as np\n\n{GOOD}\n\ndef f(x):\n    return x\n",
        "tests/test_core.py": "def test_a():\n    pass\n",
    }
    for path, source in files.items():
        (tree / path).parent.mkdir(parents=True)
        (tree / path).write_text(source)
    work = WorkFolder(tmp_path / "work")
    work.write("functions", [row for path, source in files.items() for row in list_functions(path, source)], "toy")
    return work


def test_project_is_screened_from_file_to_file(work: WorkFolder, tmp_path: Path):
    counts = screen_project(work, "toy", tmp_path / "tree")
    assert counts == {"kept": 1, "trivial_delegation": 1, "test_code": 1}
    assert [row["kept"] for row in work.read("screened", "toy")] == [True, False, False]


def test_tree_without_code_is_rejected(work: WorkFolder, tmp_path: Path):
    with pytest.raises(DLBenchError, match="no Python file"):
        screen_project(work, "toy", tmp_path / "work")


def test_documentation_lists_every_rule_and_operator():
    text = (Path(__file__).parents[2] / "docs/construction/screening.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1].strip().strip("`") for line in text.splitlines() if line.startswith("| ")]
    assert [name for name in rows if name in REASONS] == list(REASONS)
    words = " ".join(text.split())
    assert [name for name in OPERATORS if name not in words] == []
