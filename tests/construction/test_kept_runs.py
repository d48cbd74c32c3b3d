"""A finished run is kept and never repeated; what a machine could not judge is not kept."""

from dataclasses import replace
from pathlib import Path

import pytest

from dlbench.construction.kept_runs import KeptRuns
from dlbench.dataset import load
from dlbench.errors import DLBenchError
from dlbench.execution import Engine
from dlbench.execution.isolated_run import RunOptions
from dlbench.workspace import prepare
from tests.execution.file_task_toy import CORE, write_toy

TEST = "tests/test_core.py::test_clip"


def test_only_what_could_be_judged_is_kept(engine: Engine, tmp_path: Path) -> None:
    """A mutant counts as killed if its tests do not pass: a sandbox that does not start must not kill it."""
    benchmark = load(write_toy(tmp_path / "toy"))
    prepared = prepare(benchmark.projects["toylib"], benchmark.root)
    logged: list[str] = []
    runs = KeptRuns(engine, tmp_path / "runs.jsonl", logged.append, 1)
    files = {"toylib/core.py": CORE.encode()}
    options = RunOptions(answer=tuple(files))
    with pytest.raises(DLBenchError, match="the machine cannot judge"):
        runs.run("once", replace(prepared, python=Path("/bin/false")), files, [TEST], options, {})
    for name in ("again", "repeated"):
        assert runs.run(name, prepared, files, [TEST], options, {}).passed(TEST)
    assert logged == ["once", "again"]
    broken = runs.run("broken", prepared, {"toylib/core.py": b"import none"}, [TEST], options, {})
    assert (broken.passed(TEST), broken.is_collected) == (False, False)
