"""Label Studio tasks are complete, and imports are all or nothing."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from dlbench.cli.construct import construct
from dlbench.construction.labelling.catalogue import read_catalogue
from dlbench.construction.labelling.label_studio import import_votes, read_export, write_configuration, write_task
from dlbench.construction.labelling.review_api import AnnotationApi
from dlbench.construction.labelling.votes import cast_vote, read_votes, votes_of
from dlbench.dataset.labels import AXES
from dlbench.errors import DLBenchError
from tests.construction.labelling import CLIP, FLIP, SHARE, make_trees, make_work, read_from


def annotate(by: object, stage: str, task: str, data: str, note: str = "", **more: object) -> dict:
    """A result as Label Studio exports it for the configuration."""
    result = [
        {"from_name": axis, "to_name": "code", "type": "choices", "value": {"choices": [value]}}
        for axis, value in (("stage", stage), ("task", task), ("data", data))
    ]
    if note:
        result.append({"from_name": "note", "to_name": "code", "type": "textarea", "value": {"text": [note]}})
    moments = {"created_at": "2026-02-01T09:00:00.5Z", "updated_at": "2026-02-01T09:00:00.5Z"}
    return {"id": 1, "completed_by": by, "result": result, "was_cancelled": False, **moments, **more}


@pytest.fixture
def work(tmp_path):
    return make_work(tmp_path / "work")


@pytest.fixture
def export(tmp_path, work):
    """An export of annotated tasks; the numbers are Label Studio's own."""
    read = read_from(work, make_trees(tmp_path / "trees"))
    tasks = [write_task(entry, entry.draft, read(key)) for key, entry in read_catalogue(work).items()]

    def write(*annotations: list[dict], name: str = "export.json") -> Path:
        path = tmp_path / name
        filled = [
            {"id": 100 + number, **task, "annotations": given, "predictions": []}
            for number, (task, given) in enumerate(zip(tasks, [*annotations, [], [], []], strict=False))
        ]
        path.write_text(json.dumps(filled))
        return path

    return write


def test_configuration_has_every_label_and_task_field(work, tmp_path):
    view = ElementTree.fromstring(write_configuration())
    offered = {c.get("name"): [choice.get("value") for choice in c] for c in view.iter("Choices")}
    assert offered == {axis: list(labels) for axis, labels in AXES.items()}
    entry = read_catalogue(work)[CLIP]
    task = write_task(entry, entry.draft, read_from(work, make_trees(tmp_path / "trees"))(CLIP))
    used = {text for part in view.iter() for text in part.attrib.values() if text.startswith("$")}
    assert used == {f"${name}" for name in task["data"]}
    names = {part.get("name") for part in view.iter("Text")}
    assert {part.get("toName") for part in view.iter() if part.get("toName")} <= names


def test_exported_tasks_return_as_votes(work, export):
    path = export(
        [
            annotate({"id": 4, "email": "Anna.B@lab.example"}, "training", "general", "others", "gradients"),
            annotate(7, "model_construction", "general", "others"),
        ],
        [annotate(7, "evaluation_metrics", "classification", "structured_array")],
    )
    assert import_votes(read_export(path), read_catalogue(work), votes_of(work)) == 3
    votes = {(vote.annotator, vote.id): vote for vote in read_votes(work)}
    assert votes["anna-b-lab-example", CLIP].labels == {"stage": "training", "task": "general", "data": "others"}
    assert votes["anna-b-lab-example", CLIP].note == "gradients"
    assert votes["annotator-7", SHARE].labels["task"] == "classification"
    assert len(votes) == 3


def test_importing_twice_adds_nothing_and_a_later_export_replaces(work, export):
    first = export([annotate(7, "training", "general", "others")])
    assert import_votes(read_export(first), read_catalogue(work), votes_of(work)) == 1
    assert import_votes(read_export(first), read_catalogue(work), votes_of(work)) == 0
    second = export(
        [annotate(7, "inference", "general", "others", updated_at="2026-02-01T10:00:00Z")], name="later.json"
    )
    assert import_votes(read_export(second), read_catalogue(work), votes_of(work)) == 1
    assert [vote.labels["stage"] for vote in read_votes(work)] == ["inference"]


def test_import_does_not_undo_newer_votes_of_the_review_page(work, export, tmp_path):
    path = export([annotate(7, "training", "general", "others")])
    assert import_votes(read_export(path), read_catalogue(work), votes_of(work)) == 1
    api = AnnotationApi(work, read_from(work, make_trees(tmp_path / "trees")))
    api.vote("annotator-7", CLIP, {"stage": "inference"}, None)
    api.reveal("annotator-7", CLIP)
    assert import_votes(read_export(path), read_catalogue(work), votes_of(work)) == 0
    assert [vote.labels["stage"] for vote in read_votes(work)] == ["inference"]


def test_newer_label_studio_vote_replaces_the_pages_vote(work, export, tmp_path):
    api = AnnotationApi(work, read_from(work, make_trees(tmp_path / "trees")))
    api.vote("annotator-7", CLIP, {"stage": "inference"}, None)
    old = export([annotate(7, "training", "general", "others")])
    assert import_votes(read_export(old), read_catalogue(work), votes_of(work)) == 0
    new = export([annotate(7, "training", "general", "others", updated_at="2999-02-01T10:00:00+02:00")])
    assert import_votes(read_export(new), read_catalogue(work), votes_of(work)) == 1
    assert [vote.labels["stage"] for vote in read_votes(work)] == ["training"]


def test_times_are_compared_across_time_zones(export):
    path = export(
        [
            annotate(7, "inference", "general", "others", updated_at="2026-02-01T10:00:00Z"),
            annotate(7, "training", "general", "others", updated_at="2026-02-01T11:00:00.000001+02:00"),
        ]
    )
    assert [vote.labels["stage"] for vote in read_export(path)] == ["inference"]


def test_skipped_tasks_are_ignored_and_the_last_annotation_counts(export):
    path = export(
        [
            annotate(7, "inference", "general", "others", updated_at="2026-02-02T10:00:00Z"),
            annotate(7, "training", "general", "others", updated_at="2026-02-01T10:00:00Z"),
            {"completed_by": 8, "was_cancelled": True, "result": []},
        ]
    )
    assert [(vote.annotator, vote.labels["stage"]) for vote in read_export(path)] == [("annotator-7", "inference")]


def test_import_is_all_or_nothing(work, export):
    cast_vote(votes_of(work), "zoe", {"id": CLIP, "stage": "training", "task": "general", "data": "text", "seen": True})
    path = export([annotate("anna", "training", "general", "text"), annotate("zoe", "inference", "general", "text")])
    with pytest.raises(DLBenchError, match="is final"):
        import_votes(read_export(path), read_catalogue(work), votes_of(work))
    assert [vote.annotator for vote in read_votes(work)] == ["zoe"]


def test_votes_on_unknown_functions_are_rejected(work, export):
    path = export([annotate(7, "training", "general", "others")])
    with pytest.raises(DLBenchError, match="unknown function"):
        import_votes(read_export(path), [FLIP], votes_of(work))
    assert read_votes(work) == []


GOOD = annotate(7, "training", "general", "others")


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("not json", "not a JSON file"),
        ("{}", "not a list of tasks"),
        ("[1]", "`data` is missing or not a dict"),
        ('[{"id": 1, "annotator": 1, "annotation_id": 2, "stage": "training"}]', "JSON-MIN"),
        ('[{"data": {"text": "x"}, "annotations": []}]', "`function` is missing or not a str"),
        ('[{"data": {"function": "p/m.f"}}]', "`annotations` is missing or not a list"),
        ('[{"data": {"function": "p/m.f"}, "annotations": [5]}]', "`result` is missing or not a list"),
        ([GOOD | {"completed_by": None}], "`completed_by` is missing"),
        ([GOOD | {"completed_by": {"first_name": "A"}}], "`completed_by` is missing"),
        ([GOOD | {"completed_by": "…"}], "not a valid annotator name"),
        ([GOOD | {"updated_at": None, "created_at": None}], "`updated_at` is missing"),
        ([GOOD | {"updated_at": "yesterday"}], "'yesterday' is not a time"),
        ([GOOD | {"result": GOOD["result"][:2]}], "no choice for data"),
        (
            [GOOD | {"result": [{"from_name": "sentiment", "value": {"choices": ["x"]}}]}],
            "'sentiment' is not in the labelling configuration",
        ),
        ([GOOD | {"result": [{"from_name": "stage", "value": {"choices": []}}]}], "0 values for stage"),
        ([GOOD | {"result": [{"from_name": "stage", "value": {"rating": 3}}]}], "`choices` is missing or not a list"),
        ([annotate(7, "Training", "general", "others")], "stage cannot be 'Training'"),
        ([annotate("a.b", "training", "general", "text"), annotate("a-b", "training", "general", "text")], "both be"),
    ],
)
def test_malformed_export_is_rejected_with_a_message(tmp_path, content, what):
    if not isinstance(content, str):
        content = json.dumps([{"data": {"function": "p/m.f"}, "annotations": content}])
    path = tmp_path / "export.json"
    path.write_text(content)
    with pytest.raises(DLBenchError) as refusal:
        read_export(path)
    assert what in refusal.value.what
    assert str(path) in refusal.value.where
    assert refusal.value.fix


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.sampled_from(
                ["data", "function", "annotations", "result", "from_name", "value", "choices", "completed_by"]
            ),
            inner,
        )
    ),
)


@settings(max_examples=50)
@given(json_values)
def test_any_json_gives_votes_or_a_known_error(tmp_path_factory, value):
    path = tmp_path_factory.getbasetemp() / "export.json"
    path.write_text(json.dumps(value))
    try:
        read_export(path)
    except DLBenchError:
        pass


def test_label_command_imports_before_counting(work, export):
    path = export([annotate(number, "training", "general", "others") for number in (1, 2, 3)])
    arguments = ["label", "--work", str(work.root), "--import-label-studio", str(path)]
    ended = CliRunner().invoke(construct, arguments)
    assert ended.exit_code == 0, ended.output
    assert "1 of 3 functions are labelled" in ended.output
    path.write_text("[{}]")
    ended = CliRunner().invoke(construct, arguments)
    assert ended.exit_code == 1
    assert "`data` is missing or not a dict" in ended.output
