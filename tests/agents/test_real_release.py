"""An agent solves a release task of the benchmark, with a scripted model that replays the solution."""

import json
import shutil
from pathlib import Path

import pytest

from dlbench.cli.app import Chosen
from dlbench.cli.task import open_tasks
from dlbench.dataset.loading import default_root
from dlbench.dataset.tracks import name_file
from tests.agents.scripted import Call, bash, run_builtin

TASK = "mapie/release-1.6.0-base-controller-14ab"


@pytest.mark.slow
@pytest.mark.parametrize("left_out", [0, 1])
def test_a_real_release_task_is_solved_only_by_the_whole_change(tmp_path: Path, left_out: int) -> None:
    """With 20 of its 1,085 unchanged tests, which take more than a minute."""
    made = shutil.copytree(default_root(), tmp_path / "benchmark")
    place = made / "releases" / name_file(TASK)
    record = json.loads(place.read_text())
    place.write_text(json.dumps(record | {"unchanged": record["unchanged"][:20]}))
    [task] = open_tasks(Chosen(made, instance=[TASK]))
    files = {path: content.decode() for path, content in sorted(task.reference.items()) if content is not None}
    calls: list[Call] = [("edit", {"path": path, "old": "", "new": text}) for path, text in files.items()]
    visible = bash("python -m pytest -q -p no:cacheprovider @VISIBLE_TESTS.txt")
    done = run_builtin(made, tmp_path / "run", [*calls[left_out:], visible], "--task", TASK)
    [found] = done.records
    assert (found["status"], found["leaks"]) == ("fail" if left_out else "pass", []), done.text
    assert set(found["tests"]) == set(task.record.hidden)
