"""Planted bugs are real, of every category, drawn the same every time, and kept without anybody's code."""

import ast
import json

import pytest
from dlbench.analysis.bugs.planting.sow import UNTOLD, inject_bugs
from dlbench.analysis.bugs.planting.truth import BUILDING, MEASURING, choose_half, read_truths, tell

from dlbench.analysis.bugs.agreement import measure
from dlbench.analysis.bugs.evidence import states
from dlbench.analysis.bugs.taxonomy import read_categories
from dlbench.dataset.target import find_target
from dlbench.errors import DLBenchError
from tests.conftest import MODULE


@pytest.fixture(scope="module")
def plants(toy):
    return [one for seed in range(12) for one in inject_bugs(toy.instances["toy/toy.core.scale"], MODULE, 3, seed)]


def test_every_category_can_be_planted(plants):
    # the toy takes no constant that its prompt states; nothing of it speaks of an array
    assert {one.category for one in plants} >= set(read_categories()) - {"constant_error"}


def test_a_plant_is_never_the_reference_itself(plants, toy):
    assert all("def scale(values, factor=2)" in one.code or one.category == "syntax_error" for one in plants)
    reference = ast.dump(ast.parse(find_target(MODULE, "scale").text))
    assert not [one for one in plants if one.category != "syntax_error" and ast.dump(ast.parse(one.code)) == reference]


def test_only_syntax_errors_do_not_compile(plants):
    for one in plants:
        if one.category == "syntax_error":
            with pytest.raises(SyntaxError):
                compile(one.code, "plant", "exec")
        else:
            compile(one.code, "plant", "exec")


def test_the_same_seed_plants_the_same(toy):
    instance = toy.instances["toy/toy.core.Counter.step"]
    assert inject_bugs(instance, MODULE, 2, 5) == inject_bugs(instance, MODULE, 2, 5)


def test_what_a_prompt_does_not_tell_is_cut_from_it(plants, toy):
    untold = [one for one in plants if one.category == UNTOLD]
    assert untold
    for one in untold:
        assert len(one.prompt) < len(toy.instances["toy/toy.core.scale"].prompt)
        assert not states(one.prompt, "ValueError")


def test_all_plants_of_an_instance_lie_in_one_half(plants):
    halves = {tell("toy/x", number, one, 0).half for number, one in enumerate(plants)}
    assert len(halves) == 1
    drawn = [choose_half(f"toy/{number}", 0) for number in range(200)]
    assert 70 < drawn.count(BUILDING) < 130
    assert set(drawn) == {BUILDING, MEASURING}


def test_what_is_kept_of_a_plant_is_no_code(plants, tmp_path):
    path = tmp_path / "planted.jsonl"
    truths = [tell("toy/x", number, one, 0) for number, one in enumerate(plants)]
    path.write_text("".join(json.dumps(one.as_record()) + "\n" for one in truths))
    assert "def scale" not in path.read_text()
    assert list(read_truths(path).values()) == truths


@pytest.mark.parametrize("record", [{"instance": "x"}, {"category": "nonsense"}], ids=["short", "unknown"])
def test_a_file_that_is_no_list_of_plants_is_refused_by_line(record, tmp_path):
    whole = {
        "instance": "x",
        "sample": 0,
        "category": "performance",
        "kind": "other",
        "operator": "o",
        "half": BUILDING,
        "sha256": "",
    }
    path = tmp_path / "planted.jsonl"
    path.write_text(json.dumps(record if len(record) == 1 and "instance" in record else whole | record) + "\n")
    with pytest.raises(DLBenchError) as refused:
        read_truths(path)
    assert refused.value.where.endswith(":1")


def test_measures_are_those_of_a_small_table_by_hand():
    a, b, c = "a", "b", "c"
    pairs = [((a, "x"), (a, "x")), ((a, "x"), (a, "y")), ((a, "x"), (b, "x")), ((b, "x"), (b, "x"))]
    found = measure(pairs, {a: 2, b: 1, c: 2})
    assert found.accuracy == 0.75
    assert [row.f1 for row in found.rows[:2]] == [pytest.approx(0.8), pytest.approx(2 / 3)]
    assert found.macro_f1 == pytest.approx((0.8 + 2 / 3) / 2)
    assert found.confusions == ((a, b, 1),)
    assert found.kinds == pytest.approx(1 / 2)  # of b there is but one kind, which nobody can miss
