"""Official files are parsed, repaired where no guess is needed, and every repair is recorded."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dlbench.analysis.official import find_files, make_record, parse, read_files, repair_all, write_folder
from dlbench.dataset import load
from dlbench.dataset.validation import check_records
from dlbench.errors import DLBenchError
from tests.analysis.official import DEFAULTS, FILE, write_official


@pytest.fixture
def fix(tmp_path):
    def run(name="toyhalve1.txt", **fields):
        write_official(tmp_path / "files", name, **fields)
        (one,) = repair_all(read_files(find_files(tmp_path / "files")))
        return one

    return run


def list_repairs(one):
    return [(repair.field, repair.was, repair.now) for repair in one.repairs]


def test_valid_file_needs_no_repair(fix):
    one = fix()
    assert (one.stage, one.task, one.data) == ("training", "general", "image")
    assert (one.id, one.project, one.path, one.qualname) == ("toy/toyhalve1", "toy", "toy/core.py", "halve")
    assert one.tests == ("tests/test_core.py::test_halve",)
    assert one.repairs == one.defects == ()


def test_prompt_keeps_lines_that_look_like_keys(fix):
    assert fix().prompt == DEFAULTS["prompt"]


@pytest.mark.parametrize(
    ("stage", "data", "found"),
    [
        ("Image", "pre-post process", ("pre_post_processing", "image")),
        ("Tabular", "Evaluation/metrics", ("evaluation_metrics", "structured_array")),
        ("", "Model construction", ("model_construction", "others")),
    ],
)
def test_swapped_stage_and_data_are_repaired(fix, stage, data, found):
    one = fix(stage=stage, data=data)
    assert (one.stage, one.data) == found
    assert list_repairs(one) == [("stage, data", f"{stage}, {data}", f"{data}, {stage}")]


@pytest.mark.parametrize("data", ["Timeseries", "Training"])
def test_unknown_data_label_is_a_defect(fix, data):
    one = fix(data=data)
    assert one.stage == "training"
    assert one.data is None
    assert one.repairs == ()
    assert any(data in defect for defect in one.defects)


@pytest.mark.parametrize("typo", ["classififcation", "Classificatoin"])
def test_misspelt_label_is_repaired(fix, typo):
    one = fix(task=typo)
    assert one.task == "classification"
    assert list_repairs(one) == [("task", typo, "classification")]


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("toy/core.py#L39", "toy/core.py"),
        ("toy/core.py#L39C1-L40C2", "toy/core.py"),
        ("blob/master/toy/toy/core.py", "toy/core.py"),
    ],
)
def test_parts_of_a_web_address_are_removed(fix, was, now):
    one = fix(path=was)
    assert one.path == now
    assert list_repairs(one) == [("ground truth", was, now)]


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("tests\n/test_a.py::test_b", "tests/test_a.py::test_b"),
        ('tests/test_a.py::test_b\n"', "tests/test_a.py::test_b"),
        ("tests/test_a::test_b", "tests/test_a.py::test_b"),
    ],
)
def test_broken_test_ids_are_repaired(fix, was, now):
    one = fix(rest=f"test_cases:{was}")
    assert one.tests == (now,)
    assert list_repairs(one) == [("test_cases", was, now)]


def test_alternative_key_is_repaired(fix):
    one = fix(key="f_name")
    assert one.function == "halve"
    assert [repair.field for repair in one.repairs] == ["function"]


@pytest.mark.parametrize(
    ("fields", "defect"),
    [
        ({"rest": "test_cases:?"}, "no tests are named"),
        ({"rest": ""}, "no tests are named"),
        ({"rest": "test_cases:tests/test_core.py"}, "a whole file of tests is named"),
        ({"rest": "test_cases:tests/"}, "a whole folder of tests is named"),
        ({"path": "tests/helpers.py"}, "the target is test code"),
        ({"path": ""}, "no file of the target is named"),
        ({"path": "../../etc/passwd"}, "no file of the target is named"),
        ({"function": ""}, "no function is named"),
        ({"repo": ""}, "no project is named"),
        ({"repo": "pytorch/vision"}, "repo is 'pytorch/vision', not the name of a project"),
        ({"repo": "../../toy"}, "repo is '../../toy', not the name of a project"),
        ({"function": "halve(x)"}, "function is 'halve(x)', not a name"),
        ({"rest": "class:A B"}, "class is 'A B', not a name"),
        ({"name": "classes-toyforward1.txt"}, "the class of the method is not named"),
    ],
)
def test_defects_that_only_authors_can_fix_are_recorded(fix, fields, defect):
    one = fix(**fields)
    assert defect in one.defects
    assert one.repairs == ()


def test_repeated_target_and_other_spelling_of_a_project_are_found(tmp_path):
    write_official(tmp_path, "a.txt")
    write_official(tmp_path, "b.txt")
    write_official(tmp_path, "c.txt", repo="Toy", function="other")
    first, second, third = repair_all(read_files(find_files(tmp_path)))
    assert first.defects == ()
    assert second.defects == ("the same target as a.txt",)
    assert third.project == "toy"
    assert list_repairs(third) == [("repo", "Toy", "toy")]


def test_written_folder_loads_and_has_nothing_to_run(tmp_path):
    write_official(tmp_path / "in", "classes-toy init 6.txt", stage="Text", data="Inference", rest="class:Half")
    repaired = repair_all(read_files(find_files(tmp_path / "in")))
    write_folder(repaired, tmp_path / "out")
    benchmark = load(tmp_path / "out")
    assert benchmark.instances == {}
    (one,) = benchmark.unrunnable.values()
    assert one.id == "toy/classes-toy_init_6"
    assert one.why
    assert one.prompt.strip() == DEFAULTS["prompt"]
    assert (one.qualname, one.labels.stage, one.labels.data) == ("Half.halve", "inference", "text")
    assert one.defects == ("no tests are named",)
    assert check_records(tmp_path / "out")[1] == []
    (repair,) = map(json.loads, (tmp_path / "out/repairs.jsonl").read_text().splitlines())
    assert repair["was"] == "Text, Inference"


def test_existing_folder_is_left_alone(tmp_path):
    write_official(tmp_path / "in")
    repaired = repair_all(read_files(find_files(tmp_path / "in")))
    (tmp_path / "out").mkdir()
    (tmp_path / "out/mine").write_text("mine")
    with pytest.raises(DLBenchError, match="exists already"):
        write_folder(repaired, tmp_path / "out")
    assert (tmp_path / "out/mine").read_text() == "mine"


def test_repeated_ids_are_rejected_before_writing(tmp_path):
    for name in ("a b.txt", "a_b.txt"):
        write_official(tmp_path / "in", name)
    with pytest.raises(DLBenchError, match="same id"):
        write_folder(repair_all(read_files(find_files(tmp_path / "in"))), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_all_unreadable_files_are_listed(tmp_path):
    write_official(tmp_path, "good.txt")
    (tmp_path / "latin.txt").write_bytes("stage: Größe\n".encode("latin-1"))
    (tmp_path / "short.txt").write_text("stage: Training\n")
    with pytest.raises(DLBenchError) as caught:
        read_files(find_files(tmp_path))
    assert "2 of 3" in caught.value.what
    assert "latin.txt: not UTF-8" in caught.value.what
    assert "short.txt" in caught.value.what


@given(st.text())
def test_any_text_is_parsed_or_rejected(text):
    try:
        parse("x.txt", text)
    except DLBenchError:
        pass


WORDS = st.text(st.characters(exclude_characters=":\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029", codec="utf-8"))


@example(prompt="", stage="", path="", repo="", function="A", rest="²", name="")
@given(prompt=WORDS, stage=WORDS, path=WORDS, repo=WORDS, function=WORDS, rest=WORDS, name=WORDS)
def test_any_field_values_become_a_valid_record(prompt, stage, path, repo, function, rest, name):
    fields = DEFAULTS | {"prompt": f"x{prompt}", "stage": stage, "path": path, "repo": repo, "function": function}
    one = parse(f"{name}.txt", FILE.format(**(fields | {"rest": f"class:{rest}\n test_cases:{rest}"})))
    (repaired,) = repair_all([one])
    record = make_record(repaired)
    assert record.prompt.startswith("x")
    assert record.project in {repo.strip(), "unknown"}


def test_method_with_invalid_class_has_no_qualname(fix):
    one = fix(rest="class:A B")
    assert one.function == "halve"
    assert one.qualname is None
