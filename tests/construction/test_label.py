"""Labels are decided by majority or settlement, and agreement is measured correctly."""

import csv
import json
import math
import random
from collections import Counter
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from dlbench.cli.construct import construct as group
from dlbench.construction import WorkFolder
from dlbench.construction.labelling import Outcome, Settlement, decide, measure_alpha, read_settlements
from dlbench.construction.labelling.votes import (
    Sheets,
    Vote,
    cast_vote,
    read_reviews,
    read_votes,
    reviews_of,
    votes_of,
    write_review,
)
from dlbench.dataset.labels import AXES, Data, Stage, Task
from dlbench.dataset.records import Labels, Votes
from dlbench.errors import DLBenchError
from tests.construction.labelling import CLIP, FLIP, SHARE, make_trees, make_work

DOCS = Path(__file__).parents[2] / "docs" / "labelling.md"
TRAINING, INFERENCE, MODEL = Stage.TRAINING, Stage.INFERENCE, Stage.MODEL_CONSTRUCTION


def cast(function: str, annotator: str, stage: Stage, task: Task = Task.GENERAL, data: Data = Data.OTHERS) -> Vote:
    return Vote(function, annotator, {"stage": stage, "task": task, "data": data})


def stages(*values: Stage, function: str = "p/m.f") -> list[Vote]:
    return [cast(function, f"person{number}", value) for number, value in enumerate(values)]


# ---- reading ---------------------------------------------------------------------------------------------------------


def test_last_vote_of_each_annotator_counts(tmp_path):
    (tmp_path / "votes").mkdir()
    rows = [("training", "first"), ("inference", "second thoughts")]
    lines = [{"id": "p/m.f", "stage": s, "task": "general", "data": "text", "note": n} for s, n in rows]
    (tmp_path / "votes/anna.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "votes/ben.jsonl").write_text(json.dumps({"id": "p/m.f", "stage": "training"}) + "\n")
    anna, ben = read_votes(WorkFolder(tmp_path))
    assert (anna.annotator, anna.labels["stage"], anna.note) == ("anna", INFERENCE, "second thoughts")
    assert (ben.labels, ben.is_complete) == ({"stage": TRAINING}, False)


def test_folder_without_votes_is_empty(tmp_path):
    assert read_votes(WorkFolder(tmp_path)) == []


def test_votes_are_read_from_jsonl_and_csv_files(tmp_path):
    table, lines = tmp_path / "all.csv", tmp_path / "cleo.jsonl"
    with table.open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "annotator", "stage", "task", "data", "note"])
        writer.writerow(["p/m.f", "anna", "training", "general", "others", "a, comma\nand a line"])
        writer.writerow(["p/m.f", "ben", "training", "", "others", ""])
    lines.write_text(json.dumps({"id": "p/m.f", "stage": "inference", "task": "general", "data": "text"}))
    votes = {vote.annotator: vote for vote in read_votes([table, lines])}
    assert votes["anna"].note == "a, comma\nand a line"
    assert votes["ben"].labels == {"stage": TRAINING, "data": Data.OTHERS}
    assert votes["cleo"].labels["stage"] is INFERENCE


@pytest.mark.parametrize(
    ("line", "what", "allowed"),
    [
        ({"id": "p/m.f", "stage": "trainig"}, "stage cannot be 'trainig'", "training"),
        ({"id": "p/m.f", "data": "general"}, "data cannot be 'general'", "structured_array"),
        ({"id": "p/m.f", "task": ["general"]}, "task cannot be", "recommendation"),
        ({"id": "p/m.f", "stge": "training"}, "unknown keys: stge", "stage"),
        ({"stage": "training"}, "`id` is missing", "id"),
        ({"id": 7, "stage": "training"}, "`id` is missing", "id"),
        ({"id": "p/m.f", "note": 3}, "`note` is not a string", "quotation"),
    ],
)
def test_invalid_vote_is_reported_with_file_and_line(tmp_path, line, what, allowed):
    path = tmp_path / "anna.jsonl"
    path.write_text('{"id": "p/m.g"}\n' + json.dumps(line) + "\n")
    with pytest.raises(DLBenchError) as refusal:
        read_votes([path])
    assert refusal.value.where == f"{path}:2"
    assert what in refusal.value.what
    assert allowed in refusal.value.fix


@pytest.mark.parametrize(
    ("content", "what"),
    [("id,stage\np/m.f,none\n", "stage cannot be 'none'"), ("id,stage\np/m.f,training,x\n", "without a heading")],
)
def test_malformed_csv_row_is_reported_with_its_line(tmp_path, content, what):
    path = tmp_path / "anna.csv"
    path.write_text(content)
    with pytest.raises(DLBenchError, match=what) as refusal:
        read_votes([path])
    assert refusal.value.where == f"{path}:2"


@pytest.mark.parametrize("name", ["Anna.jsonl", "anna.csv", "..jsonl.bak", "an na.jsonl"])
def test_unknown_file_among_the_votes_is_rejected(tmp_path, name):
    folder = tmp_path / "votes"
    folder.mkdir()
    (folder / name).write_text("")
    if name.startswith("."):
        assert read_votes(WorkFolder(tmp_path)) == []
        return
    with pytest.raises(DLBenchError, match="not an annotator's file"):
        read_votes(WorkFolder(tmp_path))


@settings(max_examples=50)
@given(st.text(max_size=60) | st.none() | st.integers())
def test_annotator_name_cannot_escape_the_folder(name):
    sheets = Sheets(Path("votes"))
    try:
        path = sheets.path(name)
    except DLBenchError:
        return
    assert path.parent == Path("votes")
    assert path.name == f"{name}.jsonl"


def test_truncated_row_is_ignored_and_then_removed(tmp_path):
    sheets = votes_of(WorkFolder(tmp_path))
    cast_vote(sheets, "anna", {"id": "p/m.f", "stage": "training"})
    with sheets.path("anna").open("ab") as file:
        file.write(b'{"id": "p/m.f", "sta')
    assert read_votes(WorkFolder(tmp_path))[0].labels == {"stage": TRAINING}
    cast_vote(sheets, "anna", {"id": "p/m.f", "task": "general"})
    assert read_votes(WorkFolder(tmp_path))[0].labels == {"stage": TRAINING, "task": Task.GENERAL}


def test_vote_is_final_after_seeing_the_others(tmp_path):
    sheets = votes_of(WorkFolder(tmp_path))
    cast_vote(sheets, "anna", {"id": "p/m.f", "stage": "training", "task": "general", "data": "text"})
    cast_vote(sheets, "anna", {"id": "p/m.f", "seen": True})
    cast_vote(sheets, "anna", {"id": "p/m.f", "note": "a note is still welcome"})
    with pytest.raises(DLBenchError, match="is final"):
        cast_vote(sheets, "anna", {"id": "p/m.f", "stage": "inference"})
    (vote,) = read_votes(WorkFolder(tmp_path))
    assert (vote.labels["stage"], vote.seen, vote.note) == (TRAINING, True, "a note is still welcome")


def test_unchanged_vote_is_not_written_again(tmp_path):
    sheets = votes_of(WorkFolder(tmp_path))
    for _ in range(3):
        cast_vote(sheets, "anna", {"id": "p/m.f", "stage": "training"})
    assert len(sheets.read("anna")) == 1


# ---- deciding --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("votes", dict.fromkeys(permutations([TRAINING, TRAINING, INFERENCE])))
def test_majority_is_independent_of_order(votes):
    (labelled,) = decide(stages(*votes))
    assert labelled.axes["stage"].outcome is Outcome.MAJORITY
    assert labelled.axes["stage"].value is TRAINING
    assert labelled.axes["stage"].votes == votes
    assert labelled.is_decided


@pytest.mark.parametrize(
    "votes",
    [
        (TRAINING, INFERENCE, MODEL),
        (TRAINING, TRAINING, INFERENCE, INFERENCE),
        (TRAINING, TRAINING, INFERENCE, MODEL),
    ],
)
def test_tie_is_not_decided(votes):
    (labelled,) = decide(stages(*votes))
    decision = labelled.axes["stage"]
    assert (decision.outcome, decision.value) == (Outcome.TIE, None)
    assert not labelled.is_decided


@pytest.mark.parametrize("count", [1, 2])
def test_fewer_than_three_votes_are_too_few_even_if_equal(count):
    (labelled,) = decide(stages(*[TRAINING] * count))
    assert (labelled.axes["stage"].outcome, labelled.axes["stage"].value) == (Outcome.TOO_FEW, None)


def test_settlement_decides_a_tie_with_its_reason_and_leaves_the_other_axes_alone():
    votes = stages(TRAINING, INFERENCE, MODEL)
    (labelled,) = decide(votes, [Settlement("p/m.f", "stage", MODEL, "it is a loss")])
    assert (labelled.axes["stage"].outcome, labelled.axes["stage"].value) == (Outcome.SETTLED, MODEL)
    assert labelled.axes["task"].outcome is Outcome.MAJORITY
    assert labelled.as_row()["votes"]["reason"] == "stage: it is a loss"


def test_settlement_does_not_replace_missing_votes():
    (labelled,) = decide(stages(TRAINING, INFERENCE), [Settlement("p/m.f", "stage", MODEL, "we thought so")])
    assert labelled.axes["stage"].outcome is Outcome.TOO_FEW


def test_settlement_against_the_majority_is_rejected():
    with pytest.raises(DLBenchError, match="majority voted for training") as refusal:
        decide(stages(TRAINING, TRAINING, MODEL), [Settlement("p/m.f", "stage", MODEL, "no", "settled.jsonl:4")])
    assert refusal.value.where == "settled.jsonl:4"


def test_settlement_without_votes_is_rejected():
    with pytest.raises(DLBenchError, match=r"there are no votes on p/m\.typo"):
        decide(stages(TRAINING, TRAINING, MODEL), [Settlement("p/m.typo", "stage", MODEL, "no")])


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ({"id": "p/m.f", "axis": "stage", "value": "training"}, "`reason` is missing"),
        ({"id": "p/m.f", "axis": "stage", "value": "training", "reason": "  "}, "`reason` is missing"),
        ({"id": "p/m.f", "axis": "stages", "value": "training", "reason": "x"}, "unknown axis 'stages'"),
        ({"id": "p/m.f", "axis": "task", "value": "training", "reason": "x"}, "task cannot be 'training'"),
        ({"axis": "stage", "value": "training", "reason": "x"}, "`id` is missing"),
    ],
)
def test_malformed_settlement_is_reported(tmp_path, row, what):
    path = tmp_path / "settled.jsonl"
    path.write_text(json.dumps(row) + "\n")
    with pytest.raises(DLBenchError, match=what) as refusal:
        read_settlements(path)
    assert refusal.value.where == f"{path}:1"


def test_later_settlement_replaces_the_earlier(tmp_path):
    path = tmp_path / "settled.jsonl"
    rows = [{"id": "p/m.f", "axis": "stage", "value": v, "reason": v} for v in ("training", "inference")]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert [settled.value for settled in read_settlements(path)] == [INFERENCE]
    assert read_settlements(tmp_path / "none.jsonl") == []


@settings(max_examples=50)
@given(st.lists(st.sampled_from(list(Stage)), min_size=1, max_size=7))
def test_what_is_decided_has_more_than_half_of_three_votes_or_more(values):
    (labelled,) = decide(stages(*values))
    decision = labelled.axes["stage"]
    counts = Counter(values)
    winners = [value for value, count in counts.items() if len(values) >= 3 and count > len(values) / 2]
    assert [decision.value] == (winners or [None])


def test_decided_row_is_what_an_instance_records(tmp_path):
    row = decide(stages(TRAINING, TRAINING, MODEL))[0].as_row()
    row = json.loads(json.dumps(row))
    assert Labels(**row["labels"]) == Labels(stage=TRAINING, task=Task.GENERAL, data=Data.OTHERS)
    assert Votes(**row["votes"]).stage == (TRAINING, TRAINING, MODEL)


# ---- agreement -------------------------------------------------------------------------------------------------------


def coincide(units: list[list[str]]) -> Counter[tuple[str, str]]:
    """Krippendorff's coincidence matrix: every ordered pair of values of a unit, weighted by 1 / (its values - 1)."""
    matrix: Counter[tuple[str, str]] = Counter()
    for values in units:
        for one, other in permutations(range(len(values)), 2):
            matrix[values[one], values[other]] += 1 / (len(values) - 1)
    return matrix


def disagreements(units: list[list[str]]) -> tuple[float, float]:
    """Observed and expected, both as sums over the matrix, for nominal data."""
    matrix = coincide(units)
    margin: Counter[str] = Counter()
    for (one, _), weight in matrix.items():
        margin[one] += weight
    total = sum(margin.values())
    observed = sum(weight for (one, other), weight in matrix.items() if one != other)
    expected = sum(margin[c] * margin[k] for c in margin for k in margin if c != k) / (total - 1) if total else 0
    return observed, expected


def write_alpha(units: list[list[str]]) -> float:
    observed, expected = disagreements(units)
    return 1 - observed / expected


def units_of(votes: list[Vote], axis: str) -> list[list[str]]:
    units: dict[str, list[str]] = {}
    for vote in votes:
        if axis in vote.labels:
            units.setdefault(vote.id, []).append(vote.labels[axis])
    return [values for values in units.values() if len(values) > 1]


def test_alpha_of_a_hand_computed_example():
    """Three units of three votes: T T T, T T I, I I I.

    The middle one holds pairs TT, TI, IT, TI, IT, TT, each of weight 1/2: TT 1, TI 1, IT 1. With the others, TT is
    3 + 1 = 4, II is 3, TI and IT are 1; margins are T 5 and I 4, n = 9. Observed disagreement 2, expected
    2 * 5 * 4 / 8 = 5, so alpha is 1 - 2/5.
    """
    votes = []
    for number, values in enumerate([[TRAINING] * 3, [TRAINING, TRAINING, INFERENCE], [INFERENCE] * 3]):
        votes += stages(*values, function=f"p/m.f{number}")
    assert measure_alpha(votes)["stage"] == pytest.approx(0.6)
    assert write_alpha(units_of(votes, "stage")) == pytest.approx(0.6)


def test_alpha_of_the_published_example():
    """Four observers, twelve units, some not seen by all: nominal alpha is 0.743 (Krippendorff 2011, example C)."""
    published = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
        [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
    ]
    labels = dict(enumerate(Stage, 1))
    votes = [
        Vote(f"p/m.f{unit}", f"person{observer}", {"stage": labels[value]})
        for observer, row in enumerate(published)
        for unit, value in enumerate(row)
        if value is not None
    ]
    assert measure_alpha(votes)["stage"] == pytest.approx(0.743, abs=5e-4)


def test_alpha_of_the_published_example_with_two_values():
    """Two observers, ten units: alpha is 0.095 (Krippendorff 2011, example B)."""
    meg, owen = "0100000010", "1110010000"
    votes = [
        Vote(f"p/m.f{unit}", name, {"data": Data.IMAGE if value == "1" else Data.TEXT})
        for name, row in (("meg", meg), ("owen", owen))
        for unit, value in enumerate(row)
    ]
    assert measure_alpha(votes)["data"] == pytest.approx(0.095, abs=5e-4)


some_votes = st.dictionaries(
    st.tuples(st.sampled_from(["p/m.a", "p/m.b", "p/m.c", "p/m.d"]), st.sampled_from(["ann", "bob", "cy", "di"])),
    st.fixed_dictionaries({}, optional={axis: st.sampled_from(list(labels)) for axis, labels in AXES.items()}),
).map(lambda found: [Vote(function, name, labels) for (function, name), labels in found.items()])


@settings(max_examples=50)
@given(some_votes)
def test_alpha_matches_the_coincidence_matrix(votes):
    alphas = measure_alpha(votes)
    sums = [0.0, 0.0]
    for axis in AXES:
        observed, expected = disagreements(units_of(votes, axis))
        sums = [sums[0] + observed, sums[1] + expected]
        if expected:
            assert alphas[axis] == pytest.approx(1 - observed / expected)
        else:
            assert math.isnan(alphas[axis])
    if sums[1]:
        assert alphas["all"] == pytest.approx(1 - sums[0] / sums[1])
    else:
        assert math.isnan(alphas["all"])


def test_random_votes_have_alpha_near_zero():
    dice = random.Random(0)
    votes = [
        Vote(f"p/m.f{unit}", name, {axis: dice.choice(list(labels)) for axis, labels in AXES.items()})
        for unit in range(400)
        for name in ("ann", "bob", "cy")
    ]
    assert all(abs(alpha) < 0.06 for alpha in measure_alpha(votes).values())
    thrown_together = [units for axis in AXES for units in units_of(votes, axis)]
    assert write_alpha(thrown_together) > 0.1


def test_alpha_is_nan_without_variation_or_overlap():
    assert all(math.isnan(alpha) for alpha in measure_alpha([]).values())
    assert all(math.isnan(alpha) for alpha in measure_alpha(stages(TRAINING, TRAINING)).values())
    assert all(math.isnan(alpha) for alpha in measure_alpha(stages(TRAINING)).values())


def test_alpha_of_full_agreement_is_one():
    votes = stages(TRAINING, TRAINING, TRAINING) + stages(MODEL, MODEL, MODEL, function="p/m.g")
    assert measure_alpha(votes)["stage"] == 1
    assert measure_alpha(votes)["all"] == 1


# ---- reviews ---------------------------------------------------------------------------------------------------------


def test_last_prompt_counts_and_cancels_acceptance(tmp_path):
    sheets = reviews_of(WorkFolder(tmp_path))
    write_review(sheets, "zoe", {"id": "p/m.f", "action": "prompt", "prompt": "first"})
    write_review(sheets, "zoe", {"id": "p/m.f", "action": "accept"})
    assert read_reviews(sheets)["p/m.f"].verdict == "accepted"
    write_review(sheets, "anna", {"id": "p/m.f", "action": "prompt", "prompt": "second"})
    review = read_reviews(sheets)["p/m.f"]
    assert (review.prompt, review.prompt_by, review.accepted, review.verdict) == ("second", "anna", (), "open")


def test_rejection_holds_until_its_author_accepts(tmp_path):
    sheets = reviews_of(WorkFolder(tmp_path))
    write_review(sheets, "anna", {"id": "p/m.f", "action": "accept"})
    write_review(sheets, "ben", {"id": "p/m.f", "action": "reject", "reason": "no learning in it"})
    assert read_reviews(sheets)["p/m.f"].verdict == "rejected"
    write_review(sheets, "ben", {"id": "p/m.f", "action": "accept"})
    assert read_reviews(sheets)["p/m.f"].accepted == ("anna", "ben")


@pytest.mark.parametrize(
    "row",
    [
        {"id": "p/m.f", "action": "reject"},
        {"id": "p/m.f", "action": "reject", "reason": " "},
        {"id": "p/m.f", "action": "prompt", "prompt": ""},
        {"id": "p/m.f", "action": "delete"},
        {"id": "p/m.f", "action": ["accept"]},
        {"action": "accept"},
    ],
)
def test_incomplete_review_is_rejected_on_write_and_read(tmp_path, row):
    sheets = reviews_of(WorkFolder(tmp_path))
    with pytest.raises(DLBenchError):
        write_review(sheets, "anna", row)
    assert sheets.read("anna") == []
    sheets.append("anna", row)
    with pytest.raises(DLBenchError) as refusal:
        read_reviews(sheets)
    assert refusal.value.where.endswith("anna.jsonl:1")


# ---- the command -----------------------------------------------------------------------------------------------------


@pytest.fixture
def construct():
    return lambda *arguments: CliRunner().invoke(group, ["label", *map(str, arguments)])


def vote_all(work: WorkFolder) -> None:
    for name, stage in (("anna", "training"), ("ben", "training"), ("cleo", "inference")):
        cast_vote(votes_of(work), name, {"id": CLIP, "stage": stage, "task": "general", "data": "others"})
    for name, task in (("anna", "general"), ("ben", "regression"), ("cleo", "classification")):
        row = {"id": SHARE, "stage": "evaluation_metrics", "task": task, "data": "structured_array"}
        cast_vote(votes_of(work), name, row)
    cast_vote(votes_of(work), "anna", {"id": "gone/m.f", "stage": "training"})


def test_label_prints_decisions_and_writes_decided_labels(tmp_path, construct):
    work = make_work(tmp_path / "work")
    vote_all(work)
    ended = construct("--work", work.root)
    assert ended.exit_code == 0, ended.output
    assert f"{CLIP}: stage training (majority), task general (majority), data others (majority)" in ended.output
    assert f"tie to discuss: {SHARE}: task: general, regression, classification" in ended.output
    assert f"no vote yet: {FLIP}" in ended.output
    assert "left out, no such admissible function: gone/m.f" in ended.output
    assert "1 of 3 functions are labelled" in ended.output
    assert "Krippendorff's alpha: stage 0." in ended.output
    assert [row["id"] for row in work.read("labels")] == [CLIP]


def test_label_prints_json_with_the_same_numbers(tmp_path, construct):
    work = make_work(tmp_path / "work")
    vote_all(work)
    settled = {"id": SHARE, "axis": "task", "value": "classification", "reason": "it compares classes"}
    work.path("settled").write_text(json.dumps(settled) + "\n")
    messages = json.loads(construct("--work", work.root, "--json").output)
    share = next(one for one in messages["functions"] if one["id"] == SHARE)
    assert share["outcomes"]["task"] == "settled"
    assert share["votes"]["reason"] == "task: it compares classes"
    assert messages["alpha"]["all"] == pytest.approx(
        measure_alpha([v for v in read_votes(work) if v.is_complete])["all"]
    )
    assert {row["id"] for row in work.read("labels")} == {CLIP, SHARE}


def test_label_reads_given_files(tmp_path, construct):
    files = []
    for name in ("anna", "ben", "cleo"):
        files += ["--votes", tmp_path / f"{name}.jsonl"]
        row = {"id": "p/m.f", "stage": "training", "task": "general", "data": "text"}
        files[-1].write_text(json.dumps(row) + "\n")
    ended = construct("--work", tmp_path / "work", *files)
    assert "1 of 1 functions are labelled" in ended.output
    assert "stage n/a" in ended.output


def test_label_reports_errors(tmp_path, construct):
    ended = construct("--work", tmp_path)
    assert ended.exit_code == 1
    assert "there are no votes yet" in ended.output
    (tmp_path / "votes").mkdir()
    (tmp_path / "votes/anna.jsonl").write_text('{"id": "p/m.f", "stage": "trainig"}\n')
    ended = construct("--work", tmp_path)
    assert ended.exit_code == 1
    assert "anna.jsonl:1: stage cannot be 'trainig'" in ended.output


def test_label_exports_tasks_with_the_code_of_the_given_tree(tmp_path, construct):
    work, trees = make_work(tmp_path / "work"), make_trees(tmp_path / "trees")
    write_review(reviews_of(work), "anna", {"id": FLIP, "action": "prompt", "prompt": "our better words"})
    ended = construct("--work", work.root, "--tree", trees, "--export-label-studio", tmp_path / "tasks.json")
    assert ended.exit_code == 0, ended.output
    tasks = {task["data"]["function"]: task["data"] for task in json.loads((tmp_path / "tasks.json").read_text())}
    assert list(tasks) == [CLIP, SHARE, FLIP]
    assert tasks[CLIP]["code"].startswith("def clip_by_norm(gradients, limit):")
    assert "test_the_norm_is_at_most_the_limit (2 cases)" in tasks[CLIP]["tests"]
    assert tasks[FLIP]["prompt"] == "our better words"
    assert (tmp_path / "tasks.xml").is_file()


def test_tree_of_another_version_is_rejected(tmp_path, construct):
    work, trees = make_work(tmp_path / "work"), make_trees(tmp_path / "trees")
    (trees / "prism/prism/flip.py").write_text("def flip_left_right(picture):\n    return picture\n")
    ended = construct("--work", work.root, "--tree", trees, "--export-label-studio", tmp_path / "tasks.json")
    assert ended.exit_code == 1
    assert "another version" in ended.output
    assert not (tmp_path / "tasks.json").exists()


# ---- the guidelines --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", [label for labels in AXES.values() for label in labels])
def test_guidelines_define_every_label(label):
    _, found, section = DOCS.read_text(encoding="utf-8").partition(f"\n#### `{label}`\n")
    assert found, f"docs/labelling.md has no section for {label}"
    assert "*Example.*" in section.split("\n#### ")[0].split("\n## ")[0]
