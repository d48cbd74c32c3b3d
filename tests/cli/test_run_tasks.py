"""`run`, `evaluate` and `prompt` on tasks of many files, which a model writes in one answer."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dlbench.cli import app
from dlbench.jsonl import read_lines
from dlbench.runs import read_run
from tests.execution.file_task_toy import COMPONENT, CORE, DESCRIPTION, TABLES, TASK, write_toy
from tests.extraction.file_answers import CORE_PATH, TABLES_PATH, cut_out, fence
from tests.generation.endpoint import Endpoint, completion

BOTH = f"{fence(CORE, f'python {CORE_PATH}')}\n{fence(TABLES, f'python {TABLES_PATH}')}"
PART = fence(cut_out(CORE, "clip"))
OF_TRACK = ("--track", "component", "--workers", 1)


@pytest.fixture(scope="module")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_toy(tmp_path_factory.mktemp("toys"))


def invoke(toys: Path, *arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, [*map(str, arguments), "--benchmark", str(toys)])
    return done.exit_code, done.output


def write_answers(folder: Path, *answers: str, instance: str = COMPONENT) -> Path:
    lines = [{"instance": instance, "sample": number, "answer": text} for number, text in enumerate(answers)]
    (folder / "answers.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return folder / "answers.jsonl"


def list_statuses(folder: Path) -> list[tuple[int, str]]:
    return [(one["sample"], one["status"]) for one in read_run(folder).verdicts]


def test_the_baselines_pass_and_fail(toys: Path, tmp_path: Path) -> None:
    models = ("--model", "reference", "--model", "stub")
    status, output = invoke(toys, "run", *OF_TRACK, *models, "--out", tmp_path / "run")
    assert status == 0, output
    assert list_statuses(tmp_path / "run/reference") == [(0, "pass")]
    assert list_statuses(tmp_path / "run/stub") == [(0, "fail")]
    assert read_run(tmp_path / "run/stub").config["track"] == "component"
    status, output = invoke(toys, "compare", tmp_path / "run/reference", tmp_path / "run/stub")
    assert (status, "100.0 %" in output) == (0, True), output


def test_a_model_is_asked_and_a_run_is_extended(toys: Path, tmp_path: Path) -> None:
    """Answers that are there are neither requested nor judged again."""
    answers = [BOTH, PART]
    with Endpoint(lambda number, body: completion(answers[number])) as endpoint:
        ask = ("run", *OF_TRACK, "--model", "m", "--base-url", endpoint.url, "--out", tmp_path / "run")
        assert invoke(toys, *ask, "--samples", 1)[0] == 0
        first = (tmp_path / "run/verdicts.jsonl").read_text()
        assert invoke(toys, *ask, "--samples", 2)[0] == 0
    assert DESCRIPTION in endpoint.requests[0]["messages"][-1]["content"]
    assert len(endpoint.requests) == 2
    assert list_statuses(tmp_path / "run") == [(0, "pass"), (1, "fail")]
    assert (tmp_path / "run/verdicts.jsonl").read_text().startswith(first)
    record = read_run(tmp_path / "run").verdicts[1]
    assert (record["form"], record["changed"]) == ("definitions without a path", [CORE_PATH])
    assert list(record["tests"].values()).count("passed") == 0


def test_answers_of_a_file_are_judged_and_a_second_start_judges_the_rest(toys: Path, tmp_path: Path) -> None:
    answers, out = write_answers(tmp_path, BOTH, "nothing", PART), tmp_path / "run"
    status, output = invoke(toys, "evaluate", answers, *OF_TRACK, "--out", out)
    assert status == 0, output
    assert list_statuses(out) == [(0, "pass"), (1, "no_code"), (2, "fail")]
    lines = (out / "verdicts.jsonl").read_text().splitlines(keepends=True)
    kept = lines[0].replace('"seconds": ', '"seconds": 1')
    (out / "verdicts.jsonl").write_text(kept + lines[1][:50])
    assert invoke(toys, "evaluate", answers, *OF_TRACK, "--out", out)[0] == 0
    assert (out / "verdicts.jsonl").read_text().startswith(kept)
    assert list_statuses(out) == [(0, "pass"), (1, "no_code"), (2, "fail")]
    status, output = invoke(toys, "report", out, "--by", "stage")
    assert (status, "training" in output) == (0, True), output


@pytest.mark.slow
def test_a_run_that_is_killed_is_resumed(toys: Path, tmp_path: Path) -> None:
    answers, out = write_answers(tmp_path, *[f"{BOTH}\n{number}" for number in range(4)]), tmp_path / "run"
    command = ["evaluate", str(answers), *map(str, OF_TRACK), "--out", str(out), "--benchmark", str(toys)]
    process = subprocess.Popen([sys.executable, "-m", "dlbench", *command], stderr=subprocess.DEVNULL)
    while not (out / "verdicts.jsonl").is_file() or not (out / "verdicts.jsonl").stat().st_size:
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = [record for _, record in read_lines(out / "verdicts.jsonl")]
    status, output = invoke(toys, *command[:-2])
    assert status == 0, output
    assert list_statuses(out) == [(number, "pass") for number in range(4)]
    after = {one["sample"]: one for one in read_run(out).verdicts}
    assert before
    assert all(after[one["sample"]] == one for one in before)


def test_a_prompt_is_shown(toys: Path) -> None:
    status, output = invoke(toys, "prompt", COMPONENT)
    assert status == 0, output
    for part in (DESCRIPTION, "`toylib/core.py`: `Counter`", "def scale(values, factor=2):", "How to answer"):
        assert part in output
    assert "np.minimum" not in output
    assert "Rebuild" not in output
    assert invoke(toys, "prompt", TASK)[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--technique", "few-shot"), "--technique is for functions"),
        (("--technique", "repair", "--repair-rounds", 2), "--technique is for functions"),
        (("--model", "mutant"), "--model mutant is for functions"),
        (("--mode", "fresh"), "--mode is for functions"),
        (("--canary",), "the benchmark has no canary"),
        (("--instance", "toylib/component-cor"), "did you mean toylib/component-core"),
        (("--stage", "training"), "--stage is for functions"),
    ],
)
def test_wrong_options_are_named(toys: Path, tmp_path: Path, arguments: tuple[object, ...], message: str) -> None:
    model = () if "--model" in arguments else ("--model", "stub")
    status, output = invoke(toys, "run", *OF_TRACK, *model, *arguments, "--out", tmp_path / "run")
    assert (status, message in output) == (1, True), output


def test_answers_to_another_track_are_refused(toys: Path, tmp_path: Path) -> None:
    answers = write_answers(tmp_path, BOTH, instance=TASK)
    status, output = invoke(toys, "evaluate", answers, *OF_TRACK, "--out", tmp_path / "run")
    assert (status, f"there is no instance {TASK!r}" in output) == (1, True), output
