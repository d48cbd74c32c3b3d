"""Selection gives a reason for every rejected package and runs none of its code."""

import ast
import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from dlbench.cli.construct import construct
from dlbench.construction import Row, WorkFolder
from dlbench.construction.selection import criteria, releases
from dlbench.construction.selection.case_counts import ProjectNames, count_cases
from dlbench.construction.selection.criteria import Candidate, find_candidates, render_selection, select
from dlbench.construction.selection.releases import (
    PERMISSIVE,
    choose_release,
    find_license,
    find_wheels,
    fits,
    recognize,
)
from dlbench.construction.selection.source_layout import (
    find_layout,
    find_libraries,
    find_tests_root,
    parse,
    read_module,
)
from dlbench.errors import DiskFull, DLBenchError
from dlbench.workspace.package_index import Package, Release

from ..workspace.parts import Index
from .fake_index import GOOD, MIT, MODULE, TESTS, isolate, publish

ARRAYS = GOOD | {
    "tiny_net/core.py": MODULE.replace("import torch", "import numpy").replace("torch.nn.Module", "object")
}


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(tmp_path, monkeypatch)


def one(work: WorkFolder, name: str = "tiny-net") -> Row:
    [row] = select(work, [name])
    return row


def without(*names: str) -> dict[str, str]:
    return {name: text for name, text in GOOD.items() if name not in names}


def test_full_disk_ends_the_selection_and_is_no_reason_against_a_package(
    work: WorkFolder, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill(*_: object) -> None:
        raise DiskFull("the disk is full")

    publish(index)
    monkeypatch.setattr(criteria, "open_release", fill)
    with pytest.raises(DiskFull):
        select(work, ["tiny-net"])


def test_good_package_is_selected_without_running_it(work: WorkFolder, index: Index) -> None:
    publish(index)
    row = one(work)
    sha256 = row.pop("sha256")
    assert row == {
        "name": "tiny-net", "selected": True, "reasons": [], "repository": "", "version": "1.0", "uploaded": "2026-01-01",
        "filename": "tiny_net-1.0.tar.gz", "kind": "dl", "framework": "torch", "import_root": ".", "packages": ["tiny_net"],
        "tests_root": "tests", "test_files": 1, "test_functions": 2, "test_cases": 7, "tested_functions": 2, "ratio": 3.5,
        "public_functions": 3, "documented": 0.333, "words": 250, "license": "MIT",
    }  # fmt: skip
    assert work.read("select") == [row | {"sha256": sha256}]
    assert (releases.home() / "archives" / sha256 / "tiny_net-1.0.tar.gz").is_file()
    assert list((releases.home() / "sources").iterdir()) == []


LEFT_OUT: dict[str, tuple[dict[str, Any], str]] = {
    "no library": (
        {"files": GOOD | {"tiny_net/core.py": MODULE.replace("import torch", "").replace("torch.nn.Module", "object")},
         "requires_dist": ["requests"]},
        "code: no deep-learning or array library (depends on no known library; of 2 modules none imports one)",
    ),
    "arrays only": (
        {"files": ARRAYS, "requires_dist": ["numpy"]},
        "code: arrays only, and summary, keywords and classifiers do not mention machine learning "
        "(depends on numpy; of 2 modules 1 import array)",
    ),
    "another framework": (
        {"files": GOOD | {"tiny_net/core.py": MODULE.replace("torch", "paddle")}, "requires_dist": ["paddlepaddle"]},
        "code: built on a framework without a benchmark environment "
        "(depends on paddle; of 2 modules 1 import other)",
    ),
    "no package": (
        {"files": {name: text for name, text in GOOD.items() if not name.startswith("tiny_net")}},
        "code: no Python package in tiny_net-1.0.tar.gz",
    ),
    "no tests": ({"files": without("tests/test_core.py")}, "tests: none in the archive (0 files have test names)"),
    "empty tests": (
        {"files": GOOD | {"tests/test_core.py": "def helper():\n    pass\n"}},
        "tests: none in the archive (1 files have test names)",
    ),
    "few cases": (
        {"files": GOOD | {"tests/test_core.py": TESTS.replace("range(4)", "[1]").replace("[1, 2, 3]", "[1, 2]")}},
        "cases: 1.5 test cases for each of 2 tested functions, fewer than 3 (estimate; 3 cases)",
    ),
    "tests of nothing": (
        {"files": GOOD | {"tests/test_core.py": "def test_nothing():\n    assert 1 + 1 == 2\n"}},
        "cases: 0.0 test cases for each of 0 tested functions, fewer than 3 (estimate; 1 cases)",
    ),
    "no documents": (
        {"files": GOOD | {"README.md": "word " * 199, "tiny_net/core.py": MODULE.replace('"""Twice as much."""', "")}},
        "documents: 0% of 3 public functions have a docstring, less than 30%, and README and docs have 199 words, "
        "fewer than 200",
    ),
    "agpl": (
        {"license_expression": "AGPL-3.0-only"},
        "license: AGPL is not permissive (the metadata)",
    ),
    "gpl classifier": (
        {"classifiers": ["License :: OSI Approved :: GNU General Public License v3 (GPLv3)"]},
        "license: GPL is not permissive "
        "(the classifier 'License :: OSI Approved :: GNU General Public License v3 (GPLv3)')",
    ),
    "file against metadata": (
        {"files": GOOD | {"LICENSE": "GNU LESSER GENERAL\n PUBLIC LICENSE\nVersion 3"}},
        "license: LGPL is not permissive (the file LICENSE)",
    ),
    "no commerce": (
        {"license_expression": "CC-BY-NC-4.0"},
        "license: non-commercial is not permissive (the metadata)",
    ),
    "proprietary": (
        {"license_expression": None, "classifiers": ["License :: Other/Proprietary License"]},
        "license: proprietary is not permissive (the classifier 'License :: Other/Proprietary License')",
    ),
    "no license": (
        {"files": without("LICENSE"), "license_expression": None},
        "license: unknown: the metadata says nothing, and there is no classifier or license file",
    ),
    "odd license": (
        {"files": GOOD | {"LICENSE": "Do as you like on Sundays."}, "license_expression": None, "license": "Sunday"},
        "license: unknown: the metadata says 'Sunday', the file LICENSE not recognized",
    ),
    "another python": (
        {"versions": {"1.0": ">=3.12", "1.1": ">=3.13"}},
        "release: none of its 2 source archives is for Python 3.11: 1.1 requires >=3.13",
    ),
    "wheels only": ({"kind": "bdist_wheel"}, "release: none of its 1 releases has a source archive"),
}  # fmt: skip


@pytest.mark.parametrize("case", LEFT_OUT)
def test_reason_against_a_package_has_its_figure(work: WorkFolder, index: Index, case: str) -> None:
    options, reason = LEFT_OUT[case]
    publish(index, **options)
    row = one(work)
    assert not row["selected"]
    assert row["reasons"][0] == reason
    assert len(row["reasons"]) == (2 if case == "no package" else 1)  # Without a package its tests test nothing either.


@pytest.mark.parametrize(
    ("changes", "options"),
    [
        ({"README.md": ""}, {}),
        ({"README.md": "word " * 200, "tiny_net/core.py": MODULE.replace('"""Twice as much."""', "")}, {}),
        ({"README.md": "", "docs/deep/guide.rst": "word " * 200, "tiny_net/core.py": MODULE.replace('"""', "#")}, {}),
        ({"README.md": "", "tiny_net/core.py": MODULE.replace('"""', "#")}, {"description": "word " * 200}),
    ],
    ids=["docstrings", "README", "docs", "description"],
)
def test_one_kind_of_documentation_is_enough(
    work: WorkFolder, index: Index, changes: dict[str, str], options: dict[str, Any]
) -> None:
    publish(index, files=GOOD | changes, **options)
    assert one(work)["reasons"] == []


def test_all_reasons_are_listed(work: WorkFolder, index: Index) -> None:
    publish(index, files={"tiny_net/__init__.py": ""}, license_expression="GPL-3.0", requires_dist=[])
    kinds = [reason.partition(":")[0] for reason in one(work)["reasons"]]
    assert kinds == ["code", "tests", "documents", "license"]


@pytest.mark.parametrize(
    "spoken",
    [
        {"summary": "Metrics for named-entity recognition"},
        {"keywords": "machine-learning,stuff"},
        {"classifiers": ["Topic :: Scientific/Engineering :: Artificial Intelligence"]},
    ],
)
def test_array_package_about_machine_learning_is_selected(
    work: WorkFolder, index: Index, spoken: dict[str, Any]
) -> None:
    publish(index, files=ARRAYS, **{"requires_dist": ["numpy"], **spoken})
    row = one(work)
    assert (row["selected"], row["kind"], row["framework"]) == (True, "array", "numpy")


def test_failed_package_is_left_out_and_the_rest_continues(work: WorkFolder, index: Index) -> None:
    publish(index, "broken")
    (index.files / "broken-1.0.tar.gz").write_bytes(b"not what was pinned")
    publish(index, "escaping", {"../../out.py": "import torch\n"})
    publish(index, "gone")
    (index.files / "gone-1.0.tar.gz").unlink()
    index.list("gone")
    publish(index)
    rows = {row["name"]: row for row in select(work, ["none-such", "broken", "escaping", "gone", "a b", "tiny-net"])}
    assert [name for name, row in rows.items() if row["selected"]] == ["tiny-net"]
    assert rows["none-such"]["reasons"] == ["index: no configured index has this package"]
    assert "not the one that was pinned" in rows["broken"]["reasons"][0]
    assert "outside its folder" in rows["escaping"]["reasons"][0]
    assert rows["gone"]["reasons"][0].startswith("archive: ")
    assert rows["a b"]["reasons"] == ["index: not a package name"]
    assert not list(index.folder.parent.rglob("out.py"))


def test_file_name_with_a_path_is_rejected(work: WorkFolder) -> None:
    release = Release("1.0", date(2026, 1, 1), "../../x.tar.gz", "0" * 64, "sdist", "", 1)
    with pytest.raises(DLBenchError, match="invalid file name"):
        choose_release(package_of(release))


def package_of(*releases: Release, **facts: Any) -> Package:  # noqa: ANN401 - whatever a package may say
    empty: dict[str, Any] = {"name": "tiny-net", "summary": "", "license": "", "classifiers": (), "requires": ()}
    return Package(**(empty | {"keywords": "", "description": "", "releases": releases} | facts))


def release_of(version: str, python: str = "", kind: str = "sdist", size: int = 1) -> Release:
    return Release(version, date(2026, 1, 1), f"t-{version}.tar.gz", "0" * 64, kind, python, size)


def test_newest_fitting_source_release_is_chosen() -> None:
    offered = [("1.9", ""), ("1.10", ">=3.8"), ("2.0", ">=3.12"), ("1.11rc1", ""), ("odd version", "")]
    releases = [release_of(*facts) for facts in offered] + [release_of("1.12", kind="bdist_wheel")]
    assert choose_release(package_of(*releases)).version == "1.10"
    assert choose_release(package_of(release_of("1.0a1"))).version == "1.0a1"


def test_oversized_archive_is_not_fetched() -> None:
    with pytest.raises(DLBenchError, match="300 MiB"):
        choose_release(package_of(release_of("1.0", size=300 << 20)))


def test_wheels_of_a_compiled_release_are_found() -> None:
    def wheel_of(tag: str, version: str = "1.0", size: int = 1) -> Release:
        name = f"t-{version}-{tag}.whl"
        return Release(version, date(2026, 1, 1), name, "1" * 64, "bdist_wheel", "", size)

    source, linux, stable = release_of("1.0"), "cp311-cp311-manylinux_2_17_x86_64", "cp39-abi3-macosx_11_0_arm64"
    others = [
        wheel_of(tag) for tag in ("cp311-cp311-win_amd64", "cp312-cp312-linux_x86_64", "pp311-pypy311_pp73-any_x")
    ]
    given = [*others, wheel_of(linux), wheel_of(stable), wheel_of(linux, "0.9"), wheel_of(linux, size=300 << 20)]
    assert [one.file for one in find_wheels(package_of(source, *given), source)] == [
        f"t-1.0-{linux}.whl",
        f"t-1.0-{stable}.whl",
    ]
    assert find_wheels(package_of(source, *given, wheel_of("py3-none-any")), source) == ()
    assert find_wheels(package_of(source, wheel_of("nonsense")), source) == ()


@pytest.mark.parametrize(
    ("python", "fitting"),
    [("", True), (">=3.8,<3.12", True), (">=3.11.4", True), ("!=3.11.*", False), ("<3.11", False), ("~=3.9", True), ("??", True)],
)  # fmt: skip
def test_release_fits_if_some_patch_version_does(python: str, fitting: bool) -> None:
    assert fits(python) is fitting


def test_killed_selection_resumes_without_repeating_work(work: WorkFolder, index: Index) -> None:
    for name in ("first", "second"):
        publish(index, name)

    def interrupted(row: Row) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        select(work, ["first", "second"], on_row=interrupted)
    assert not work.has("select")
    index.requests.clear()
    rows = select(work, ["first", "second"])
    assert [row["name"] for row in rows] == ["first", "second"]
    assert not any("first" in request for request in index.requests)
    assert [path.name for path in work.root.iterdir()] == ["select.jsonl"]


def test_index_failures_are_retried_after_a_kill(work: WorkFolder, index: Index) -> None:
    def interrupted(row: Row) -> None:
        if row["name"] == "tiny-net":
            raise KeyboardInterrupt

    publish(index)
    with pytest.raises(KeyboardInterrupt):
        select(work, ["late", "tiny-net"], on_row=interrupted)
    publish(index, "late", GOOD | {"late/__init__.py": ""})
    assert [row["version"] for row in select(work, ["late", "tiny-net"])] == ["1.0", "1.0"]


def test_archive_is_fetched_once(work: WorkFolder, index: Index) -> None:
    publish(index)
    one(work)
    index.requests.clear()
    one(work)
    assert index.requests == ["/pypi/tiny-net/json"]


def test_earlier_rows_stay_unless_judged_again(work: WorkFolder, index: Index) -> None:
    publish(index)
    publish(index, "other")
    select(work, ["tiny-net", "other"])
    publish(index, versions={"1.0": "", "1.1": ""})
    one(work)
    assert {row["name"]: row["version"] for row in work.read("select")} == {"tiny-net": "1.1", "other": "1.0"}


def test_requested_release_is_judged_instead_of_the_newest(work: WorkFolder, index: Index) -> None:
    publish(index, versions={"1.0": "", "1.1": ""})
    assert one(work, "tiny-net==1.0")["version"] == "1.0"
    assert one(work, "tiny-net==3.0")["reasons"][0].startswith("release: ")
    assert find_candidates(work, ["us/tiny-net==1.0"]) == [Candidate("tiny-net", ("us/tiny-net",), "1.0")]


def test_candidates_are_the_discovered_packages(work: WorkFolder) -> None:
    names = ["us/tiny-net", "them/Tiny_Net", "us/other", "other", "us/third", "third"]
    work.write("discover", [{"name": name} for name in names])
    found = {candidate.name: candidate.repositories for candidate in find_candidates(work)}
    assert found == {"Tiny_Net": ("us/tiny-net", "them/Tiny_Net"), "other": (), "third": ()}


def test_missing_discovery_is_reported_with_a_fix(work: WorkFolder) -> None:
    with pytest.raises(DLBenchError, match="construct discover"):
        find_candidates(work)


@pytest.mark.parametrize(("repository", "selected"), [("us/tiny-net", True), ("them/tiny-net", False)])
def test_package_must_name_its_repository(work: WorkFolder, index: Index, repository: str, selected: bool) -> None:
    publish(index)
    row = one(work, repository)
    assert row["selected"] is selected
    if selected:
        assert row["repository"] == repository
    else:
        assert row["reasons"] == ["repository: the package does not name them/tiny-net"]


KNOWN = ProjectNames(
    frozenset({"pkg"}),
    frozenset({"double", "halve"}),
    {"Net": frozenset({"forward", "step"}), "Other": frozenset({"step"})},
)
COUNTED = {
    "from pkg import double\ndef test_a():\n    double(1)\n": (1, 1, {"double": 1}),
    "from elsewhere import double\ndef test_a():\n    double(1)\n": (1, 1, {}),
    "import pkg.mod as m\ndef test_a():\n    m.inner.halve(m.Net)\n": (1, 1, {"halve": 1, "Net": 1}),
    "from pkg import double as twice\n@pytest.mark.parametrize('x', VALUES)\ndef test_a(x):\n    twice(x)\nVALUES = [1, 2, *[3, 4]]\n": (1, 4, {"double": 4}),
    "@pytest.mark.parametrize('x', range(2, 8, 2))\n@pytest.mark.parametrize('y', argvalues=('a', 'b'))\ndef test_a(x, y): pass\n": (1, 6, {}),
    "@pytest.mark.parametrize('x', make())\n@given(z)\ndef test_a(x): pass\n": (1, 1, {}),
    "@pytest.mark.parametrize('x', range(1000000000))\ndef test_a(x): pass\n": (1, 1000, {}),
    "@pytest.mark.parametrize('x', list(itertools.product([1, 2], T.items())))\ndef test_a(x): pass\nT = {1: 2, 3: 4}\n": (1, 4, {}),
    "@pytest.mark.parametrize('x', A)\ndef test_a(x): pass\nA = B\nB = A\n": (1, 1, {}),
    "from pkg import Net\nclass TestNet:\n    def test_a(self):\n        Net().step()\n": (1, 1, {"Net": 1, "Net.step": 1}),
    "from pkg import Net\nclass NetTest(parameterized.TestCase):\n    @parameterized.parameters((1, 2), (3, 4))\n    def test_a(self): pass\n": (1, 2, {}),
    "class NetTest(TestCase):\n    @parameterized.parameters((1, 2))\n    @parameterized.product(a=[1, 2], b=[1, 2])\n    def test_a(self): pass\n": (1, 4, {}),
    "class Base(unittest.TestCase): pass\nclass Deep(Base):\n    def test_a(self): pass\n": (1, 1, {}),
    "class Helper:\n    def test_a(self): pass\nclass TestMade:\n    def __init__(self): pass\n    def test_a(self): pass\n": (0, 0, {}),
    "from pkg import double\nclass TestIt:\n    def setUp(self):\n        double(1)\n    def test_a(self): pass\n    def test_b(self): pass\n": (2, 2, {"double": 2}),
    "from pkg import double, Net\n@pytest.fixture\ndef net():\n    return Net()\ndef check(x):\n    double(check(x))\ndef test_a(net):\n    check(net)\n": (1, 1, {"double": 1, "Net": 1}),
    "from pkg import *\nif True:\n    def test_a():\n        halve(2)\n": (1, 1, {"halve": 1}),
    "from .core import halve\nasync def test_a():\n    halve(2)\n": (1, 1, {"halve": 1}),
}  # fmt: skip


@pytest.mark.parametrize("text", COUNTED)
def test_cases_and_tested_functions_are_counted(text: str) -> None:
    found = count_cases(ast.parse(text), KNOWN)
    assert (found.functions, found.cases, dict(found.by_function)) == COUNTED[text]


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_bytes_can_be_parsed_or_skipped(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.py"
    path.write_bytes(content)
    read_module(path)


@pytest.mark.parametrize("text", ["(" * 5000, "1" + "+1" * 100_000, "print 'old'", "\0", "# coding: none-such\n"])
def test_unparsable_file_is_skipped(tmp_path: Path, text: str) -> None:
    (tmp_path / "odd.py").write_text(text)
    assert parse(tmp_path / "odd.py") is None


def test_huge_file_is_not_parsed(tmp_path: Path) -> None:
    (tmp_path / "huge.py").write_text("x = 1\n" * 500_000)
    assert parse(tmp_path / "huge.py") is None


def test_public_functions_in_conditionals_are_counted(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(
        "try:\n    def a():\n        'doc'\nexcept E:\n    def b(): pass\ndef _c(): pass\n"
        "class D:\n    def e(self):\n        'doc'\n    def __init__(self): pass\nclass _F:\n    def g(self): pass\n"
    )
    module = read_module(tmp_path / "m.py")
    assert module is not None
    assert (module.public, module.documented) == (3, 2)


LAYOUTS: dict[str, tuple[list[str], str, list[str], list[str]]] = {
    "flat": (["tiny_net/a.py", "tiny_net/__init__.py", "docs/conf.py", "setup.py", "tests/__init__.py"], ".", ["tiny_net"], ["tiny_net/__init__.py", "tiny_net/a.py"]),
    "src": (["src/tiny_net/__init__.py", "tools/__init__.py", "other/__init__.py"], "src", ["tiny_net"], ["src/tiny_net/__init__.py"]),
    "src of C": (["src/fast.c", "tiny_net/__init__.py"], ".", ["tiny_net"], ["tiny_net/__init__.py"]),
    "one module": (["tiny_net.py", "conftest.py", "test_tiny_net.py"], ".", ["tiny_net"], ["tiny_net.py"]),
    "namespace": (["tiny/net/__init__.py", "more/x/__init__.py"], ".", ["tiny"], ["tiny/net/__init__.py"]),
    "tests inside": (["tiny_net/__init__.py", "tiny_net/tests/helper.py", "tiny_net/a_test.py", "tiny_net/conftest.py"], ".", ["tiny_net"], ["tiny_net/__init__.py"]),
    "own name first": (["aaa/__init__.py", "tiny_net/__init__.py"], ".", ["tiny_net", "aaa"], ["aaa/__init__.py", "tiny_net/__init__.py"]),
    "built": (["tiny_net/__init__.py", "build/lib/tiny_net/test_x.py", ".hidden/test_x.py"], ".", ["tiny_net"], ["tiny_net/__init__.py"]),
}  # fmt: skip


@pytest.mark.parametrize("case", LAYOUTS)
def test_packages_and_modules_are_found_in_common_layouts(tmp_path: Path, case: str) -> None:
    files, import_root, packages, modules = LAYOUTS[case]
    write(tmp_path, dict.fromkeys(files, ""))
    layout = find_layout(tmp_path, "Tiny-Net")
    assert (layout.import_root, list(layout.packages), list(layout.modules)) == (import_root, packages, modules)
    assert not any(file.startswith(("build", ".hidden")) for file in layout.tests)


def test_build_metadata_overrides_the_guess(tmp_path: Path) -> None:
    files = {"net/__init__.py": "", "extra/__init__.py": "", "tiny.egg-info/top_level.txt": "net\ntests\n"}
    write(tmp_path, files | {"tests/__init__.py": ""})
    assert find_layout(tmp_path, "tiny").packages == ("net",)


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.parametrize(
    ("counts", "root"),
    [
        ({}, ""),
        ({"tests/test_a.py": 1, "tests/deep/test_b.py": 2}, "tests"),
        ({"src/pkg/tests/test_a.py": 5, "examples/test_b.py": 1}, "src/pkg/tests"),
        ({"pkg/_src/a_test.py": 1, "pkg/losses/b_test.py": 1}, "pkg"),
        ({"test_a.py": 1}, "."),
    ],
)
def test_tests_root_is_where_most_tests_are(counts: dict[str, int], root: str) -> None:
    assert find_tests_root(counts) == root


def imports(**modules: int) -> list[frozenset[str]]:
    return [frozenset({name}) for name, count in modules.items() for _ in range(count)]


@pytest.mark.parametrize(
    ("requires", "packages", "modules", "kind", "framework"),
    [
        (["torch>=2"], ["p"], imports(torch=1, numpy=9), "dl", "torch"),
        ([], ["p"], imports(torch=5, jax=2), "dl", "torch"),
        (["jax", "torch; extra == 'x'"], ["p"], imports(jax=2), "dl", "jax"),
        (["dm-haiku"], ["p"], imports(), "dl", "jax"),
        (["tensorflow-cpu", "keras"], ["p"], imports(keras=3, tensorflow=1), "dl", "keras"),
        (["numpy"], ["keras"], imports(keras=9, tensorflow=3, torch=3), "dl", "keras"),
        (["numpy"], ["p"], imports(numpy=15, torch=2), "dl", "numpy"),
        (["numpy"], ["p"], imports(os=30, keras=1), "array", "numpy"),
        (["tqdm"], ["p"], imports(os=30, keras=1), "", ""),
        (["not a requirement!!"], ["p"], imports(os=1), "", ""),
    ],
)
def test_framework_is_detected(
    requires: list[str], packages: list[str], modules: list[frozenset[str]], kind: str, framework: str
) -> None:
    found = find_libraries(requires, packages, modules)
    assert (found.kind, found.framework) == (kind, framework)


TEXTS = {
    MIT: "MIT",
    "Apache License\n   Version 2.0, January 2004": "Apache-2.0",
    "Redistribution and use in\nsource and binary forms": "BSD-2-Clause",
    "Redistribution and use in source and binary forms. Neither the name of": "BSD-3-Clause",
    "Permission to use, copy, modify, and/or distribute this software for any purpose": "ISC",
    "This is free and unencumbered software": "Unlicense",
    "GNU AFFERO GENERAL PUBLIC LICENSE. See the GNU General Public License": "AGPL",
    "Mozilla Public License Version 2.0 … GNU General Public License": "MPL-2.0",
    MIT + "Parts of it: GNU GENERAL PUBLIC LICENSE": "MIT",
    MIT + "for non-commercial use only": "non-commercial",
    '"Commons Clause" License Condition. ' + MIT: "Commons-Clause",
    "Attribution-NonCommercial 4.0 International": "non-commercial",
    "All rights reserved.": "",
}


@pytest.mark.parametrize("text", TEXTS)
def test_license_text_is_recognized(text: str) -> None:
    assert recognize(text) == TEXTS[text]


SAID: dict[str, str] = {
    "MIT": "MIT", "mit license": "MIT", "Apache 2.0": "Apache-2.0", "Apache License, Version 2.0": "Apache-2.0",
    "BSD": "BSD", "3-Clause BSD License": "BSD-3-Clause", "BSD-2-Clause": "BSD-2-Clause", "PSF-2.0": "PSF-2.0",
    "MIT AND Apache-2.0": "MIT", "GPL-3.0-only OR MIT": "MIT", "(MIT OR Apache-2.0)": "MIT", "Zlib": "Zlib",
    "Apache-2.0 WITH LLVM-exception": "Apache-2.0", "The Unlicense (Unlicense)": "Unlicense", "ISC": "ISC",
    "MIT AND GPL-3.0-only": "", "LGPL-2.1": "", "GPLv3": "", "MPL-2.0": "", "Business Source License 1.1": "",
    "CC BY-NC-SA 4.0": "", "Proprietary": "", "CC-BY-4.0": "", "OpenRAIL": "", "see file": "", "UNKNOWN": "", "": "",
}  # fmt: skip


@pytest.mark.parametrize("text", SAID)
def test_only_permissive_licenses_are_accepted(tmp_path: Path, text: str) -> None:
    license = find_license(package_of(license=text), tmp_path)
    assert bool(license.problem) is not bool(SAID[text])
    if SAID[text]:
        assert license.name == SAID[text]
        assert license.name in PERMISSIVE


def test_license_text_in_the_metadata_field_is_recognized(tmp_path: Path) -> None:
    assert find_license(package_of(license=MIT + "More words. " * 30), tmp_path).name == "MIT"


def test_bsd_variant_comes_from_the_more_specific_source(tmp_path: Path) -> None:
    (tmp_path / "LICENSE.txt").write_text("Redistribution and use in source and binary forms. Neither the name of")
    classifiers = ("License :: OSI Approved", "License :: OSI Approved :: BSD License")
    license = find_license(package_of(license="BSD", classifiers=classifiers), tmp_path)
    assert (license.name, license.problem) == ("BSD-3-Clause", "")


def test_table_has_a_row_and_reasons_for_each_project(work: WorkFolder, index: Index) -> None:
    publish(index)
    publish(index, "wheels", kind="bdist_wheel")
    rows = select(work, ["wheels", "tiny-net"])
    rows[0]["reasons"].append("odd | sign")
    lines = render_selection(rows).splitlines()
    assert len(lines) == 4
    assert lines[2].startswith("| tiny-net | 1.0 | 2026-01-01 | torch | MIT | 7 | 2 | 3.5 | 33% | selected |")
    assert lines[3].endswith("| release: none of its 1 releases has a source archive; odd \\| sign |")


def run(*arguments: object) -> Any:  # noqa: ANN401 - typer does not name its result's type
    return CliRunner().invoke(construct, [str(argument) for argument in arguments])


def test_select_command_prints_table_and_counts(work: WorkFolder, index: Index) -> None:
    publish(index)
    publish(index, "wheels", kind="bdist_wheel")
    ended = run("select", "tiny-net", "wheels", "--work", work.root)
    assert ended.exit_code == 0
    assert "| tiny-net |" in ended.stdout
    assert "2 packages in, 1 selected, 1 left out (reasons: release 1)" in ended.stdout
    ended = run("select", "wheels", "--work", work.root)
    assert ended.exit_code == 1, "nothing is selected"


def test_select_command_prints_json(work: WorkFolder, index: Index) -> None:
    assert run("select", "--work", work.root).exit_code == 1
    publish(index)
    assert run("discover", "--index", "tiny-net", "--work", work.root).exit_code == 0
    ended = run("select", "--work", work.root, "--json")
    assert [row["name"] for row in json.loads(ended.stdout)] == ["tiny-net"]
