"""Exports contain no solution unless requested, and are written completely or not at all."""

import json

import pytest
import yaml
from typer.testing import CliRunner

from dlbench.bridges import Format
from dlbench.cli import app
from dlbench.dataset import load
from dlbench.generation.sources import Sources, make_prompt_builder
from tests.conftest import MODULE, write_toy

SCALE, STEP = "toy/toy.core.scale", "toy/toy.core.Counter.step"
SECRET = "value * factor + OFFSET"
CANARY = "0c9f2b7e-toy-canary"
FUNCTIONS = [one for one in Format if not one.is_of_file_tasks]


def command(*arguments: object):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exports")
    benchmark = write_toy(folder)
    (folder / "source/LICENSE").write_text("Everybody may use the toy, with this line beside it.\n")
    (benchmark / "CANARY").write_text(f"{CANARY}\n")
    return benchmark


@pytest.fixture
def export(root, tmp_path):
    def write(shape, *options, split="full"):
        out = tmp_path / f"{shape}-{split}"
        ended = command("export", "--format", shape, "--split", split, "--out", out, "--benchmark", root, *options)
        assert ended.exit_code == 0, ended.output
        return out, ended.output

    return write


def texts(folder):
    """All that a reader of the folder could find, tables read as rows."""
    from pyarrow import parquet

    found = [path.read_text() for path in folder.rglob("*") if path.suffix in {".jsonl", ".md", ".yaml", ".py"}]
    return "\n".join(found + [json.dumps(parquet.read_table(path).to_pylist()) for path in folder.rglob("*.parquet")])


def read_lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("shape", FUNCTIONS, ids=str)
def test_export_has_prompts_but_no_project_code(shape, export):
    folder, _ = export(shape)
    content = texts(folder)
    assert "is multiplied by `factor`" in content
    assert SECRET not in content
    assert CANARY not in content
    assert not (folder / "NOTICE.md").exists()


@pytest.mark.parametrize("shape", FUNCTIONS, ids=str)
def test_references_are_exported_with_their_licences(shape, export):
    folder, output = export(shape, "--with-reference")
    assert SECRET in texts(folder)
    assert "toy 1.0: Apache-2.0" in output
    assert "Everybody may use the toy, with this line beside it." in (folder / "NOTICE.md").read_text()


@pytest.mark.parametrize("shape", FUNCTIONS, ids=str)
def test_canary_option_adds_it_to_every_prompt(shape, export):
    folder, _ = export(shape, "--canary")
    assert texts(folder).count(f"Canary: {CANARY}") == 2


def test_reference_without_licence_text_is_left_out(tmp_path):
    benchmark = write_toy(tmp_path)
    out = tmp_path / "out"
    ended = command("export", "--format", "jsonl", "--with-reference", "--out", out, "--benchmark", benchmark)
    assert ended.exit_code == 0, ended.output
    assert "LEFT OUT" in ended.output
    assert [row["reference"] for row in read_lines(out / "full.jsonl")] == [None, None]


def test_jsonl_rows_have_the_zero_shot_messages_of_the_selection(root, export):
    folder, _ = export("jsonl", split="demo")
    (row,) = read_lines(folder / "demo.jsonl")
    benchmark = load(root)
    (system, user), *_ = (
        make_prompt_builder(Sources(benchmark), "zero-shot", 3, 0, 6000).build(benchmark.instances[SCALE]).turns
    )
    assert (row["id"], row["system"], row["prompt"]) == (SCALE, system["content"], user["content"])
    assert row["tests"] == list(benchmark.instances[SCALE].tests)
    assert (row["license"], row["stage"], row["kind"]) == ("Apache-2.0", "pre_post_processing", "function")


def test_parquet_rows_equal_jsonl_rows(export):
    from pyarrow import parquet

    lines, _ = export("jsonl", "--with-reference")
    table, _ = export("parquet", "--with-reference")
    assert parquet.read_table(table / "full.parquet").to_pylist() == read_lines(lines / "full.jsonl")


def test_hugging_face_card_has_licence_and_splits(export):
    folder, _ = export("hf")
    _, header, words = (folder / "README.md").read_text().split("---\n", 2)
    content = yaml.safe_load(header)
    assert content["license"] == "apache-2.0"
    assert content["configs"][0]["data_files"] == [{"split": "test", "path": "data/test-*.parquet"}]
    assert "2 instances of 1 projects" in words
    folder, _ = export("hf", "--with-reference", split="demo")
    assert yaml.safe_load((folder / "README.md").read_text().split("---\n")[1])["license"] == "other"


def test_evalplus_prompt_is_completed_by_the_reference(export):
    folder, _ = export("evalplus", "--with-reference")
    tasks = {task["task_id"]: task for task in read_lines(folder / "full.jsonl")}
    for task in tasks.values():
        compile(task["prompt"], "prompt", "exec")
        compile(task["prompt"] + task["canonical_solution"], "solved", "exec")
        assert task["base_input"] is None
    assert tasks[SCALE]["entry_point"] == "scale"
    assert tasks[STEP]["entry_point"] == "Counter"
    names: dict = {"toy": None}
    exec(
        (tasks[SCALE]["prompt"] + tasks[SCALE]["canonical_solution"]).replace(
            "from toy.base import OFFSET", "OFFSET = 0"
        ),
        names,
    )
    assert names["scale"]([1, 2], 3) == [3, 6]


def test_existing_folder_is_not_overwritten(root, tmp_path):
    out = tmp_path / "mine"
    out.mkdir()
    ended = command("export", "--format", "jsonl", "--out", out, "--benchmark", root)
    assert (ended.exit_code, "exists already" in ended.output) == (1, True)
    assert list(out.iterdir()) == []


def test_failed_export_leaves_no_files(tmp_path):
    benchmark = write_toy(tmp_path)
    out = tmp_path / "out"
    ended = command("export", "--format", "jsonl", "--canary", "--out", out, "--benchmark", benchmark)
    assert (ended.exit_code, "no canary" in ended.output) == (1, True)
    assert not out.exists()
    assert not list(tmp_path.glob(".out*"))


def test_files_of_an_export_are_named(export):
    folder, said = export("jsonl", "--with-reference")
    assert f"2 instances written to {folder}: NOTICE.md, full.jsonl\n" in said
    folder, said = export("hf", split="demo")
    assert f"{folder}: README.md, data/test-00000-of-00001.parquet\n" in said


def test_missing_options_are_named(root):
    for given, missing in (((), "--format, --out"), (("--format", "jsonl"), "--out"), (("--out", "x"), "--format")):
        ended = command("export", "--benchmark", root, *given)
        assert (ended.exit_code, f"missing: {missing}\n" in ended.output) == (1, True)


def test_secret_is_part_of_the_toy_code():
    assert SECRET in MODULE


def test_evalplus_solutions_become_samples_in_order(root, export, tmp_path):
    folder, _ = export("evalplus")
    solutions = tmp_path / "solutions.jsonl"
    lines = [
        {"task_id": SCALE, "solution": "a"},
        {"task_id": STEP, "solution": "b"},
        {"task_id": SCALE, "completion": "c"},
    ]
    solutions.write_text("".join(json.dumps(line) + "\n" for line in lines))
    ended = command("import", "evalplus", solutions, "--out", tmp_path / "none.jsonl", "--benchmark", root)
    assert (ended.exit_code, "--tasks" in ended.output, "solutions.jsonl:3" in ended.output) == (1, True, True)
    options = ["--tasks", folder / "full.jsonl", "--benchmark", root]
    ended = command("import", "evalplus", solutions, "--out", tmp_path / "samples.jsonl", *options)
    assert ended.exit_code == 0, ended.output
    first, second, third = read_lines(tmp_path / "samples.jsonl")
    assert [(one["instance"], one["sample"]) for one in (first, second, third)] == [(SCALE, 0), (STEP, 0), (SCALE, 1)]
    assert (first["answer"], second["answer"]) == ("a", "b")
    assert third["answer"].startswith("# toy")
    assert third["answer"].endswith("c")


@pytest.mark.parametrize("line", ['{"task_id": "toy/none", "solution": "x"}', '{"solution": "x"}', "{", ""], ids=str)
def test_invalid_evalplus_line_is_reported(line, root, tmp_path):
    solutions = tmp_path / "solutions.jsonl"
    solutions.write_text(f"{line}\n")
    ended = command("import", "evalplus", solutions, "--out", tmp_path / "samples.jsonl", "--benchmark", root)
    assert (ended.exit_code, "solutions.jsonl" in ended.output, "fix:" in ended.output) == (1, True, True)
    assert not (tmp_path / "samples.jsonl").exists()
