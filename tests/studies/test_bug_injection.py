"""Injected bugs are real, cover every category, are reproducible, and are recorded without code."""

import ast
import json

import pytest
from bug_injection.inject import UNSTATED, inject_bugs
from bug_injection.names import rename_locals
from bug_injection.records import BUILDING, MEASURING, choose_half, make_record, measure_accuracy, read_records
from bug_injection.run import main

from dlbench.analysis.bugs.evidence import mentions
from dlbench.analysis.bugs.taxonomy import read_categories
from dlbench.dataset.target import find_target
from dlbench.errors import DLBenchError
from tests.conftest import MODULE

SCALE = "toy/toy.core.scale"


@pytest.fixture(scope="module")
def bugs(toy):
    return [bug for seed in range(12) for bug in inject_bugs(toy.instances[SCALE], MODULE, 3, seed)]


def test_every_category_can_be_injected(bugs):
    # The toy has no constant that its prompt mentions, and no arrays.
    assert {bug.category for bug in bugs} >= set(read_categories()) - {"constant_error"}


def test_injected_bug_differs_from_the_reference(bugs):
    assert all("def scale(values, factor=2)" in bug.code or bug.category == "syntax_error" for bug in bugs)
    reference = ast.dump(ast.parse(find_target(MODULE, "scale").text))
    parsed = [ast.dump(ast.parse(bug.code)) for bug in bugs if bug.category != "syntax_error"]
    assert reference not in parsed


def test_only_syntax_errors_do_not_compile(bugs):
    for bug in bugs:
        if bug.category == "syntax_error":
            with pytest.raises(SyntaxError):
                compile(bug.code, "candidate", "exec")
        else:
            compile(bug.code, "candidate", "exec")


def test_same_seed_injects_the_same(toy):
    instance = toy.instances["toy/toy.core.Counter.step"]
    assert inject_bugs(instance, MODULE, 2, 5) == inject_bugs(instance, MODULE, 2, 5)


def test_renamed_locals_keep_parameters():
    function = ast.parse("def f(a):\n    total = a\n    return total\n").body[0]
    assert ast.unparse(rename_locals(function)) == "def f(a):\n    tot_0 = a\n    return tot_0"


def test_unstated_requirement_is_cut_from_the_prompt(bugs, toy):
    unstated = [bug for bug in bugs if bug.category == UNSTATED]
    assert unstated
    for bug in unstated:
        assert len(bug.prompt) < len(toy.instances[SCALE].prompt)
        assert not mentions(bug.prompt, "ValueError")


def test_all_bugs_of_an_instance_are_in_one_half(bugs):
    halves = {make_record("toy/x", number, bug, 0).half for number, bug in enumerate(bugs)}
    assert len(halves) == 1
    drawn = [choose_half(f"toy/{number}", 0) for number in range(200)]
    assert 70 < drawn.count(BUILDING) < 130
    assert set(drawn) == {BUILDING, MEASURING}


def test_record_has_no_code(bugs, tmp_path):
    path = tmp_path / "injected.jsonl"
    records = [make_record("toy/x", number, bug, 0) for number, bug in enumerate(bugs)]
    path.write_text("".join(json.dumps(record.as_record()) + "\n" for record in records))
    assert "def scale" not in path.read_text()
    assert list(read_records(path).values()) == records


@pytest.mark.parametrize("change", [None, {"category": "nonsense"}], ids=["incomplete", "unknown category"])
def test_invalid_record_is_rejected_with_its_line(change, tmp_path):
    whole = {
        "instance": "x",
        "sample": 0,
        "category": "performance",
        "kind": "other",
        "operator": "o",
        "half": BUILDING,
        "sha256": "",
    }
    path = tmp_path / "injected.jsonl"
    path.write_text(json.dumps({"instance": "x"} if change is None else whole | change) + "\n")
    with pytest.raises(DLBenchError) as rejected:
        read_records(path)
    assert rejected.value.where.endswith(":1")


def test_accuracy_matches_a_table_computed_by_hand():
    pytest.importorskip("sklearn")
    found = measure_accuracy([("a", "a"), ("a", "a"), ("a", "b"), ("b", "b")])
    assert found.accuracy == 0.75
    assert [row["f1"] for row in found.by_category.values()] == [pytest.approx(0.8), pytest.approx(2 / 3)]
    assert found.macro_f1 == pytest.approx((0.8 + 2 / 3) / 2)
    assert found.confusions == (("a", "b", 1),)


@pytest.mark.slow
def test_injected_bugs_are_judged_and_the_rules_are_measured(toy_root, tmp_path, capsys):
    pytest.importorskip("sklearn")
    out, benchmark = tmp_path / "out", ["--benchmark", str(toy_root)]
    assert main(["inject", "--out", str(out), "--instance", SCALE, "--seed", "3", *benchmark]) == 0
    records = [json.loads(line) for line in (out / "injected.jsonl").read_text().splitlines()]
    assert len((out / "run/verdicts.jsonl").read_text().splitlines()) == len(records) >= 5
    capsys.readouterr()
    assert main(["measure", str(out), "--half", "all", *benchmark]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("rules: ")
    assert "macro-F1" in printed
