"""A task of two releases is valid, and its newer release judges."""

from pathlib import Path

import pytest

from dlbench.dataset import load
from dlbench.dataset.tracks import read_tasks
from dlbench.errors import DLBenchError
from dlbench.execution.engine import Engine
from dlbench.execution.file_task import judge_files, open_task, validate_task
from dlbench.workspace import prepare
from tests.execution.file_task_toy import write_toy
from tests.execution.release_toy import NAME, NEXT, write_release


def test_a_release_task_is_valid_and_passed_by_the_newer_release(engine: Engine, tmp_path: Path) -> None:
    root = write_toy(tmp_path)
    write_release(root)
    task = open_task(read_tasks(root)[NAME], prepare(load(root).projects["toylib"], root), root)
    assert list(validate_task(engine, task)) == []
    verdict = judge_files(engine, task, {path: text.encode() for path, text in NEXT.items()})
    assert (verdict.status, verdict.share, list(verdict.ignored)) == ("pass", 1, ["tests/test_core.py"])


def test_a_release_of_another_project_is_refused(tmp_path: Path) -> None:
    root = write_toy(tmp_path)
    write_release(root)
    [record] = root.glob("releases/*.json")
    record.write_text(record.read_text().replace('"version": "1.1"', '"version": "1.0"'))
    with pytest.raises(DLBenchError, match=r"newer is toylib 1\.0, no other release of toylib"):
        read_tasks(root)
