"""A failing project does not stop the others, and its reason is recorded."""

import errno
import os
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dlbench.cli import app
from dlbench.construction import StepMissing, WorkFolder, describe_losses, for_each_project
from dlbench.construction.history import find_recent_projects
from dlbench.construction.pipeline import run_all
from dlbench.construction.project_spec import ProjectSpec
from dlbench.errors import DLBenchError
from dlbench.execution import Engine
from dlbench.jsonl import Journal
from dlbench.workspace.home import building, quiet

from ..workspace.parts import Index
from .fake_index import GOOD, describe, isolate, publish


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(tmp_path, monkeypatch)


def read_reasons(work: WorkFolder) -> dict[str, str]:
    return {row["project"]: row["why"] for row in work.read("left_out")}


def fail(error: BaseException) -> Callable[[ProjectSpec], None]:
    def do(spec: ProjectSpec) -> None:
        if spec.name == "bad":
            raise error

    return do


def test_internal_error_is_recorded_and_the_next_project_runs(work: WorkFolder, index: Index, engine: Engine) -> None:
    publish(index)
    publish(index, "untested", {name: text for name, text in GOOD.items() if "test" not in name})
    # a word that no file of projects could bring here, for an error that nobody has thought of
    strange = ProjectSpec("tiny-net", framework="pytorch")  # type: ignore[arg-type]
    failed = run_all(engine, work, [strange, ProjectSpec("untested"), ProjectSpec("nowhere")], quiet, workers=1)
    assert list(failed) == ["tiny-net", "untested", "nowhere"]
    reasons = read_reasons(work)
    assert "internal error: ValueError: 'pytorch' is not a valid Framework" in reasons["tiny-net"]
    assert reasons["untested"] == "the source contains no tests"
    assert reasons["nowhere"] == "no configured index has this package"


def test_fixed_project_is_no_longer_left_out(work: WorkFolder) -> None:
    specs = [ProjectSpec("bad"), ProjectSpec("good")]
    for_each_project(work, specs, fail(DLBenchError("no tests")), quiet)
    assert read_reasons(work) == {"bad": "no tests"}
    assert for_each_project(work, specs, lambda spec: None, quiet) == {}
    assert read_reasons(work) == {}


def test_missing_step_does_not_hide_the_original_reason(work: WorkFolder) -> None:
    missing = fail(StepMissing("the step collect has not been done"))
    for_each_project(work, [ProjectSpec("bad")], missing, quiet)
    assert read_reasons(work) == {"bad": "the step collect has not been done"}
    for_each_project(work, [ProjectSpec("bad")], fail(DLBenchError("no tests")), quiet)
    assert list(for_each_project(work, [ProjectSpec("bad")], missing, quiet)) == ["bad"]
    assert read_reasons(work) == {"bad": "no tests"}


def write_file(folder: Path) -> None:
    Path("/dev/full").write_text("x")


def build_folder(folder: Path) -> None:
    with building(folder / "target"):
        Path("/dev/full").write_text("x")


def append_line(folder: Path) -> None:
    def refuse(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.MonkeyPatch.context() as patch, Journal(folder / "measured.jsonl") as journal:
        patch.setattr(os, "fsync", refuse)
        journal.append({"id": "x"})


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device that is always full")
@pytest.mark.parametrize("fill", [write_file, build_folder, append_line])
def test_full_disk_stops_the_pass(work: WorkFolder, tmp_path: Path, fill: Callable[[Path], None]) -> None:
    tried = []

    def do(spec: ProjectSpec) -> None:
        tried.append(spec.name)
        fill(tmp_path)

    with pytest.raises((OSError, DLBenchError), match=r"No space left|the disk is full"):
        for_each_project(work, [ProjectSpec("one"), ProjectSpec("two")], do, quiet)
    assert tried == ["one"]
    assert not work.has("left_out")


def test_interrupt_stops_the_pass(work: WorkFolder) -> None:
    with pytest.raises(KeyboardInterrupt):
        for_each_project(work, [ProjectSpec("bad"), ProjectSpec("good")], fail(KeyboardInterrupt()), quiet)


def test_step_continues_after_a_failure_and_reports_it(index: Index, tmp_path: Path) -> None:
    publish(index, "untested", {name: text for name, text in GOOD.items() if "test" not in name})
    projects = tmp_path / "two.toml"
    projects.write_text('[[project]]\nname = "nowhere"\n[[project]]\nname = "untested"\n')
    work = WorkFolder(tmp_path / "work")
    for step in ("collect", "trace", "extract", "screen", "admit"):
        ended = CliRunner().invoke(app, ["construct", step, "--projects", str(projects), "--work", str(work.root)])
        assert ended.exit_code == 1, ended.output
        assert "nowhere: failed: " in ended.output
        assert "untested: failed: " in ended.output
        assert "fix: " in ended.output
    reasons = read_reasons(work)
    assert reasons["nowhere"] == "no configured index has this package"
    assert reasons["untested"] == "the source contains no tests"


def test_failed_lookup_does_not_affect_other_recent_projects(index: Index) -> None:
    publish(index, "strange")
    describe(index, "strange", {"info": {"name": "strange"}, "releases": {"1.0": []}})
    publish(index)
    fresh, left_out = find_recent_projects(
        [ProjectSpec("strange"), ProjectSpec("nowhere"), ProjectSpec("tiny-net")], date(2025, 1, 1), quiet
    )
    assert [spec.name for spec in fresh] == ["tiny-net"]
    assert [row["project"] for row in left_out] == ["strange", "nowhere"]


def test_user_is_told_which_test_fails_and_why_functions_are_left_out(tmp_path: Path) -> None:
    work = WorkFolder(tmp_path)
    tests = [("a", "passed", ""), ("b", "failed", "tests/t.py:3: in b\nE   assert 1 == 2\nE    +  where")]
    work.write("trace", ({"id": one, "outcome": outcome, "message": why} for one, outcome, why in tests), "mine")
    rows = [{"id": "f", "kept": True, "reason": ""}, {"id": "g", "kept": False, "reason": "too_short"}]
    work.write("screened", rows, "mine")
    assert list(describe_losses(work, "mine")) == [
        f"1 tests do not pass, such as b: assert 1 == 2 (all: {tmp_path}/mine/trace.jsonl)",
        f"left out when screened: too_short 1 (why: {tmp_path}/mine/screened.jsonl)",
    ]
