"""A person can look at a benchmark, theirs or ours, and a broken one is named piece by piece."""

import json
import os
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from dlbench.dataset import Selection, load, select


def test_help_and_version_answer(dlbench):
    told = dlbench("--help").out
    order = ["Look at the tasks:", "  list ", "Score models and answers:", "  run ", "Read and compare", "  report "]
    assert sorted(order, key=told.index) == order
    assert "Other commands" not in told
    assert dlbench("--version").out.startswith("dlbench ")


def test_import_is_light():
    """`import dlbench` pulls in nothing that costs a second."""
    report = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "import dlbench, dlbench.cli"],
        capture_output=True,
        text=True,
        check=True,
    ).stderr
    loaded = {line.rpartition("|")[2].strip().split(".")[0] for line in report.splitlines()}
    assert "dlbench" in loaded
    assert not loaded & {"torch", "openai", "pandas", "plotly", "pydantic", "libcst", "numpy", "requests", "rich"}


def test_list_filters_by_label_and_prints_json(dlbench, toy_root):
    everything = json.loads(dlbench("list", "--benchmark", toy_root, "--json").out)
    assert [record["id"] for record in everything] == ["toy/toy.core.Counter.step", "toy/toy.core.scale"]
    assert {(record["project"], record["framework"]) for record in everything} == {("toy", "numpy")}
    assert "scale" in dlbench("list", "--benchmark", toy_root, "--split", "demo").out
    none = dlbench("list", "--benchmark", toy_root, "--stage", "training")
    assert none.status == 1
    assert "no instance matches" in none.err


@pytest.mark.parametrize("track", ["optimise", "release"])
def test_track_without_tasks_is_named_as_the_reason(dlbench, toy_root, track):
    ended = dlbench("list", "--benchmark", toy_root, "--track", track)
    assert ended.status == 1
    assert f"there are no {track} tasks" in ended.err


def test_prompt_refuses_the_track_of_another_task(dlbench, toy_root):
    ended = dlbench("prompt", "toy/toy.core.scale", "--benchmark", toy_root, "--track", "rebuild")
    assert ended.status == 1
    assert "toy/toy.core.scale is a function task" in ended.err


def print_on_terminal(columns: int, *arguments: str) -> list[str]:
    """The lines that a command prints on a terminal of this width."""
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (24, columns))
    environment = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
    command = [sys.executable, "-m", "dlbench", *arguments]
    with subprocess.Popen(command, stdout=theirs, env=environment) as started:
        os.close(theirs)
        said = b""
        try:
            while more := os.read(ours, 65536):
                said += more
        except OSError:  # the command has closed its end
            pass
    os.close(ours)
    assert started.returncode == 0
    return said.decode().splitlines()


def test_list_prints_one_whole_id_a_line_into_a_pipe(dlbench):
    wanted = [instance.id for instance in select(load(), Selection(split="demo"))]
    assert max(map(len, wanted)) > 80
    assert dlbench("list", "--split", "demo", env={"COLUMNS": "80"}).out.splitlines() == wanted


@pytest.mark.parametrize("columns", [80, 200])
def test_list_never_breaks_an_id_on_a_terminal(columns):
    lines = print_on_terminal(columns, "list", "--split", "demo")
    for instance in select(load(), Selection(split="demo")):
        rest = [line.removeprefix(instance.id) for line in lines if line.split()[0] == instance.id]
        below = [lines[lines.index(instance.id) + 1]] if columns == 80 else rest
        labels = instance.labels
        assert below[0].split()[:3] == [labels.stage, labels.task, labels.data]
        assert len(below[0]) <= columns
    assert lines[-1] == "17 instances"


def test_list_knows_the_split_of_a_month_and_says_when_there_is_none(dlbench, toy_root):
    listed = dlbench("list", "--benchmark", toy_root, "--split", "live-2026-01")
    assert listed.status == 0
    assert "scale" in listed.out
    late = dlbench("list", "--benchmark", toy_root, "--split", "live-2026-02")
    assert late.status == 1
    assert "nothing first appeared in that month or later" in late.err
    made = dlbench("construct", "split", "live-2026-01", "--size", 1, "--benchmark", toy_root)
    assert made.status == 1
    assert "not a valid name for a split" in made.err


def test_show_gives_prompt_tests_and_on_request_the_reference(dlbench, toy_root):
    shown = dlbench("show", "toy/toy.core.scale", "--benchmark", toy_root)
    assert "each number of `values`" in shown.out
    assert "test_scale_zero" in shown.out
    assert "OFFSET" not in shown.out
    assert "OFFSET" in dlbench("show", "toy/toy.core.scale", "--benchmark", toy_root, "--source").out


def test_show_names_axes_measures_and_blind_attempts(dlbench, toy_root):
    shown = dlbench("show", "albucore/albucore.lut.apply_uint8_lut").out
    assert "labels         stage pre_post_processing, task general, data image\n" in shown
    assert "framework      numpy\n  lines of code  17\n  mutation score 0.917\n" in shown
    assert "solved blind   in 1 of 1 attempts\n" in shown
    untried = dlbench("show", "toy/toy.core.scale", "--benchmark", toy_root).out
    assert "solved blind" not in untried
    assert "mutation score" not in untried
    (toy_root / "solving.jsonl").write_text('{"id": "toy/toy.core.Counter.step", "attempt": 1, "status": "pass"}\n')
    assert "solved blind   not tried" in dlbench("show", "toy/toy.core.scale", "--benchmark", toy_root).out


def test_stats_counts_by_label(dlbench, toy_root):
    counts = json.loads(dlbench("stats", "--benchmark", toy_root, "--json").out)
    assert counts["instances"] == 2
    assert counts["stage"] == {"pre_post_processing": 2}
    assert counts["methods"] == 1
    wanted = {"instances", "projects", "stage", "task", "data", "methods", "tests_median", "mutation_score_median"}
    assert wanted | {"alpha", "after_2025_06"} <= set(counts)
    assert counts["mutation_score_median"] is None
    assert counts["alpha"]["stage"] is None


def test_stats_leaves_out_alpha_where_the_selection_fixes_the_label(dlbench):
    alpha = json.loads(dlbench("stats", "--stage", "training", "--json").out)["alpha"]
    assert alpha["stage"] is None
    assert min(alpha["task"], alpha["data"], alpha["all"]) > 0.5
    alpha = json.loads(dlbench("stats", "--project", "scikit-image", "--json").out)["alpha"]
    assert alpha["stage"] is None
    assert alpha["data"] > 0.5


def test_prompt_shows_what_a_model_would_be_asked(dlbench, toy_root):
    asked = dlbench("prompt", "toy/toy.core.Counter.step", "--benchmark", toy_root).out
    assert "def step(self, by=1):" in asked
    assert "# sets self.count" in asked
    assert "self.count += by" not in asked
    assert "Adds to the count" not in asked


def test_doctor_names_sandboxes_and_projects(dlbench, toy_root):
    findings = json.loads(dlbench("doctor", "--benchmark", toy_root, "--json").out)
    names = {finding["name"] for finding in findings}
    assert {"python", "uv", "sandbox bubblewrap", "sandbox sandlock", "project toy"} <= names


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "toy/toy.core.scael"], "did you mean toy/toy.core.scale"),
        (["prompt", "nothing"], "there is no instance 'nothing'"),
        (["list", "--project", "toi"], "there is no project 'toi'"),
        (["list", "--split", "dmeo"], "there is no split 'dmeo'"),
        (["validate", "--sandbox", "paper"], "there is no sandbox 'paper'"),
    ],
)
def test_an_unknown_name_gets_a_clear_message(dlbench, toy_root, arguments, message):
    ended = dlbench(*arguments, "--benchmark", toy_root)
    assert ended.status == 1
    assert message in ended.err
    assert "Traceback" not in ended.said


def test_a_project_unlike_every_other_gets_no_suggestion(dlbench):
    assert "did you mean" not in dlbench("list", "--project", "jax").err


def test_a_project_like_another_may_be_one_of_an_own_benchmark(dlbench):
    assert "did you mean zuko? Otherwise name a benchmark of your own" in dlbench("list", "--project", "zukoo").err


@pytest.mark.parametrize(("value", "near"), [("train", "training"), ("metrics", "evaluation_metrics"), ("zzz", None)])
def test_a_wrong_label_is_answered_with_close_ones(dlbench, value, near):
    ended = dlbench("list", "--stage", value)
    assert ended.status == 2
    assert ended.err.rstrip().endswith(f"Did you mean {near}?" if near else "'evaluation_metrics'.")


def test_a_folder_that_is_no_benchmark_gets_a_clear_message(dlbench, tmp_path):
    ended = dlbench("list", "--benchmark", tmp_path / "absent")
    assert ended.status == 1
    assert "no benchmark folder" in ended.err


BREAKS = [
    ("instances/toy/scale.toml", 'sha256 = "', 'sha256 = "0000', "malformed_record"),
    ("instances/toy/scale.toml", "test_scale_zero", "test_scale_nought", "missing_test"),
    ("instances/toy/scale.toml", "test_scale[3]", "test_scale[4]", "missing_test"),
    ("instances/toy/scale.toml", "Give back a list", "value * factor + OFFSET for value in values: return [value * factor + OFFSET for value in values]", "prompt_leaks_code"),
    ("instances/toy/scale.toml", "Give back a list", "Multiplies every one of the given values by a factor and returns them all as a new list", "prompt_leaks_docstring"),
    ("instances/toy/scale.toml", 'stage = "pre_post_processing"', 'stage = "cooking"', "unknown_label"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "old", "new", "kind"), BREAKS, ids=[f"{b[3]} {n}" for n, b in enumerate(BREAKS)])
def test_check_names_a_broken_instance(dlbench, toy_root, name, old, new, kind):
    assert dlbench("check", "--benchmark", toy_root).status == 0
    path = toy_root / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    ended = dlbench("check", "--benchmark", toy_root)
    assert ended.status == 1
    assert f"{name}: {kind}" in ended.out
    assert "fix:" in ended.out


def test_check_finds_a_function_that_changed_and_one_that_went(dlbench, toy_root):
    core = toy_root.parent / "source/toy/core.py"
    core.write_text(
        core.read_text().replace("value * factor + OFFSET", "factor * value + OFFSET").replace("def step", "def stride")
    )
    problems = json.loads(dlbench("check", "--benchmark", toy_root, "--json").out)
    assert {problem["kind"] for problem in problems} == {"hash_mismatch", "missing_target"}
    core.unlink()
    problems = json.loads(dlbench("check", "--benchmark", toy_root, "--json").out)
    assert "missing_path" in {problem["kind"] for problem in problems}


def put_into_checkout(root: Path) -> Path:
    """The toy benchmark inside a checkout of git, with the project beside it."""
    checkout = root.parent / "checkout"
    checkout.mkdir()
    subprocess.run(["git", "init", "-q", str(checkout)], check=True)
    root.rename(checkout / "benchmark")
    project = checkout / "benchmark/projects/toy.toml"
    project.write_text(project.read_text().replace("../source", "../../source"))
    return checkout


def test_check_finds_third_party_code_in_the_tree(dlbench, toy_root):
    """A file of a project's code beside the benchmark, in the same checkout, is found by its lines."""
    checkout = put_into_checkout(toy_root)
    assert dlbench("check", "--benchmark", checkout / "benchmark").status == 0
    lines = (toy_root.parent / "source/tests/test_core.py").read_text().splitlines()[4:20]
    (checkout / "helper.py").write_text("# ours\n" + "\n".join(lines) + "\n")
    ended = dlbench("check", "--benchmark", checkout / "benchmark")
    assert ended.status == 1
    assert "helper.py: third_party_code" in ended.out


def test_a_prompt_carries_the_canary_only_when_asked_to(dlbench, toy_root):
    (toy_root / "CANARY").write_text("nowhere-else-1234\n")
    asked = ("prompt", "toy/toy.core.scale", "--benchmark", toy_root)
    assert "nowhere-else-1234" not in dlbench(*asked).out
    assert "Canary: nowhere-else-1234" in dlbench(*asked, "--canary").out
    (toy_root / "CANARY").unlink()
    refused = dlbench(*asked, "--canary")
    assert refused.status != 0
    assert "has no canary" in refused.err


def test_the_card_is_made_of_the_records(dlbench, toy_root, tmp_path):
    attempt = {"id": "toy/toy.core.scale", "attempt": 1, "status": "fail", "fault": "solver"}
    (toy_root / "solving.jsonl").write_text(json.dumps(attempt) + "\n")
    said = dlbench("stats", "--benchmark", toy_root, "--card", "--plots", tmp_path / "plots").out
    assert "2 instances from 1 projects" in said
    assert "1 instances were tried: 0 (0%) were solved at the first try" in said
    assert "| pre_post_processing | 2 (100%) |" in said
    assert ">pre_post_processing</text>" in (tmp_path / "plots/stage.svg").read_text()


def test_the_packages_that_a_project_needs_are_facts_and_no_copy(dlbench, toy_root):
    """A list of requirements has one spelling; the same list anywhere but among the locks is still a copied file."""
    listed = "\n".join(f"some-long-package-{number}>=1.{number}" for number in range(8))
    (toy_root.parent / "source/requirements.txt").write_text(listed)
    (toy_root / "locks").mkdir(exist_ok=True)
    (toy_root / "locks/toy.in").write_text(listed)
    checkout = put_into_checkout(toy_root)
    ended = dlbench("check", "--benchmark", checkout / "benchmark")
    assert ended.status == 0, ended.out
    (checkout / "notes.txt").write_text(listed)
    ended = dlbench("check", "--benchmark", checkout / "benchmark")
    assert ended.status == 1
    assert "notes.txt: third_party_code: 5 lines" in ended.out


def test_a_file_that_our_record_lays_into_a_project_is_ours(dlbench, toy_root):
    helper = "".join(f"A_LONG_NAME_{number} = {number}\n" for number in range(8))
    project = toy_root / "projects/toy.toml"
    laid = f'tests = {{root = "tests", files = {{"tests/helper.py" = {json.dumps(helper)}}}}}'
    project.write_text(project.read_text().replace('tests = {root = "tests"}', laid))
    assert laid in project.read_text()
    checkout = put_into_checkout(toy_root)
    (checkout / "helper.txt").write_text(helper)
    ended = dlbench("check", "--benchmark", checkout / "benchmark")
    assert ended.status == 0, ended.out
