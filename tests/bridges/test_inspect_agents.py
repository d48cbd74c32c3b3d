"""inspect's task for agents: who solves a task scores 1, who does not scores 0, and no agent sees more than its folder."""

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from inspect_ai import eval
from inspect_ai.agent import react
from inspect_ai.log import EvalSample, read_eval_log
from inspect_ai.model import ChatMessageTool, ModelOutput, ModelUsage, get_model
from inspect_ai.solver import Solver, basic_agent
from inspect_ai.tool import bash, python
from inspect_ai.util._sandbox import self_check

from dlbench.agents.sandbox import choose_agent_sandbox
from dlbench.bridges.inspect.agents import dl_bench_components
from dlbench.bridges.inspect.task_sandbox import Settings, TaskSandbox
from dlbench.errors import DLBenchError
from dlbench.workspace.home import home
from tests.agents.test_attempts import CONNECT, PEEK
from tests.bridges.mock_model import accuracy
from tests.execution.file_task_toy import COMPONENT, HIDDEN, RIGHT, TASK, write_toy

Call = tuple[str, dict[str, Any]]


def command(text: str) -> Call:
    return "bash", {"command": text}


SOLVE = [command(f"cat > {path} <<'END'\n{text}END") for path, text in RIGHT.items()]
SUBMIT: Call = ("submit", {"answer": "done"})
OPTIONS = {"sandbox": "auto", "minutes": 5.0, "timeout": 60.0, "memory": 4096, "disk": 100, "processes": 256}


@pytest.fixture(scope="module")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_toy(tmp_path_factory.mktemp("inspect-agents"))


@pytest.fixture(params=["bubblewrap", pytest.param("sandlock", marks=pytest.mark.slow)])
def sandbox(request: pytest.FixtureRequest) -> str:
    try:
        return choose_agent_sandbox(request.param).name
    except DLBenchError as error:
        pytest.skip(str(error))


def mock(calls: Sequence[Call]):
    outputs = [ModelOutput.for_tool_call("mock", name, given) for name, given in [*calls, SUBMIT]]
    for one in outputs:  # counting tokens would need a network
        one.usage = ModelUsage(input_tokens=100, output_tokens=20, total_tokens=120)
    return get_model("mockllm/model", custom_outputs=outputs, memoize=False)


def attempt(
    toys: Path, logs: Path, calls: Sequence[Call], solver: Solver | None = None, **arguments: object
) -> EvalSample:
    """The only sample of a task whose model makes these calls, one after the other."""
    task = dl_bench_components(benchmark=str(toys), **arguments)
    (log,) = eval(task, solver=solver, model=mock(calls), log_dir=str(logs), display="none")
    assert log.status == "success", log.error
    (sample,) = log.samples
    assert accuracy(log) == score_of(sample).value
    assert not list((home() / "cells").glob(f"{os.getpid()}-*"))
    return sample


def list_outputs(sample: EvalSample) -> list[str]:
    """What the tools answered, errors included."""
    found = [message for message in sample.messages if isinstance(message, ChatMessageTool)]
    return [f"{message.text}{message.error.message if message.error else ''}" for message in found]


def score_of(sample: EvalSample):
    return sample.scores["folder_verdict"]


def test_an_attempt_that_solves_the_task_scores_one(toys, tmp_path, sandbox):
    visible = command(
        "git status --short; python -m pytest -q -p no:cacheprovider @VISIBLE_TESTS.txt; cat INSTRUCTIONS.md"
    )
    sample = attempt(toys, tmp_path, [*SOLVE, visible], sandbox=sandbox)
    score, shown = score_of(sample), list_outputs(sample)[2]
    assert (score.value, score.metadata["status"], score.metadata["share"]) == (1.0, "pass", 1.0), shown
    assert (score.metadata["instance"], set(score.metadata["tests"])) == (COMPONENT, set(HIDDEN))
    assert (sample.id, sample.metadata["project"], sample.metadata["stage"]) == (COMPONENT, "toylib", "training")
    assert "1 passed" in shown
    assert shown.endswith(sample.input)
    if sandbox == "bubblewrap":
        assert " M toylib/core.py\n M toylib/tables.py\n" in shown


def test_an_attempt_that_does_nothing_scores_zero(toys, tmp_path):
    score = score_of(attempt(toys, tmp_path, []))
    assert (score.value, score.metadata["status"], score.metadata["share"]) == (0.0, "fail", 0.0)


def test_the_editor_of_inspect_changes_the_folder(toys, tmp_path):
    calls = [("text_editor", {"command": "create", "path": path, "file_text": text}) for path, text in RIGHT.items()]
    if choose_agent_sandbox().name != "bubblewrap":
        pytest.skip("its editor needs bubblewrap")
    assert score_of(attempt(toys, tmp_path, [command(f"rm {' '.join(RIGHT)}"), *calls])).value == 1.0


def test_an_attempt_that_looks_for_more_than_the_task_finds_nothing(toys, tmp_path, sandbox):
    source = toys.parent / "source"
    environment = next((home() / "environments").glob("toy-*"))
    calls = [
        f"cat {source}/toylib/core.py {toys}/*/*.json; ls {home()} {home()}/archives {home()}/sources",
        f"ls {environment}/lib/python3*/site-packages/toylib; grep -rl 'np.minimum' /tmp /home /root /work /var",
        "find / -name tables.py -path '*toylib*' -exec cat {} +; grep -rn 'def test_' tests",
        f"python -c {shlex.quote(CONNECT)}; env; python -m pip download toylib",
        f"kill -9 -1; kill -9 {os.getpid()}; python -c {shlex.quote(PEEK)}",
    ]
    sample = attempt(toys, tmp_path, list(map(command, calls)), sandbox=sandbox)
    outputs = list_outputs(sample)
    shown = "\n".join(outputs)
    assert (score_of(sample).value, len(outputs)) == (0.0, 5)
    assert "connected False\nconnected False\nconnected False\n" in shown
    assert "test_offset" in shown
    for hidden in ("np.minimum(", "test_scale_offset", "DLBENCH", "pytest\0"):
        assert hidden not in shown, shown


def test_a_command_at_its_time_limit_ends_and_the_attempt_goes_on(toys, tmp_path):
    words = f"9{os.getpid()}"
    calls = [command(f"echo begun > begun; (setsid sleep {words} &); trap '' TERM; sleep {words}"), *SOLVE]
    sample = attempt(toys, tmp_path, calls, solver=react(tools=[bash(timeout=2)]))
    assert "timed out" in list_outputs(sample)[0]
    assert score_of(sample).value == 1.0
    assert not is_running(words)


def test_at_the_time_limit_of_an_attempt_its_command_ends_and_the_folder_is_judged(toys, tmp_path):
    words = f"7{os.getpid()}"
    sample = attempt(toys, tmp_path, [*SOLVE, command(f"sleep {words}")], minutes=0.15)
    assert (sample.limit.type, score_of(sample).value) == ("time", 1.0)
    assert not is_running(words)


def is_running(words: str) -> bool:
    found = list_command_lines()
    return any(line.startswith(f"sleep\0{words}") for line in found)


def list_command_lines() -> Iterator[str]:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            yield path.read_text(errors="replace")
        except OSError:
            continue


def test_another_solver_has_the_same_sandbox(toys, tmp_path):
    code = (
        "".join(f"open({path!r}, 'w').write({text!r})\n" for path, text in RIGHT.items())
        + "import os\nprint(os.getcwd())"
    )
    sample = attempt(toys, tmp_path, [("python", {"code": code})], solver=basic_agent(tools=[python(timeout=60)]))
    assert score_of(sample).value == 1.0
    if choose_agent_sandbox().name == "bubblewrap":
        assert list_outputs(sample)[0] == "/work\n"


def test_other_tracks_and_single_tasks_can_be_chosen(toys):
    for track, name in (("component", COMPONENT), ("rebuild", TASK)):
        for chosen in ({}, {"instance": name}, {"instance": [name]}):
            (sample,) = dl_bench_components(track=track, benchmark=str(toys), **chosen).dataset
            assert sample.id == name


def test_a_log_holds_the_options_of_the_bundled_benchmark():
    settings = Settings(track="component", instances=(), **OPTIONS)
    assert TaskSandbox.config_deserialize(settings.model_dump(mode="json", exclude_none=True)) == settings


@pytest.mark.parametrize(
    "options",
    [{"track": "function"}, {"instance": "toylib/component-cor"}, {"samples": 0}, {"sandbox": "basic"}],
    ids=str,
)
def test_invalid_options_are_rejected(options, toys):
    with pytest.raises(DLBenchError):
        dl_bench_components(benchmark=str(toys), **options)


@pytest.fixture
def folder(toys, sandbox) -> Iterator[TaskSandbox]:
    """The sandbox of a sample, without a model."""
    settings = Settings(track="component", instances=(), benchmark=str(toys), **(OPTIONS | {"sandbox": sandbox}))
    made = anyio.run(TaskSandbox.sample_init, "", settings, {"__sample_id__": COMPONENT})
    yield made["default"]
    anyio.run(TaskSandbox.sample_cleanup, "", settings, made, False)
    assert not list((home() / "cells").glob(f"{os.getpid()}-*"))


def test_limits_end_a_command_and_not_the_sandbox(folder):
    async def use() -> None:
        with pytest.raises(TimeoutError):
            await folder.exec(["sleep", "60"], timeout=1)
        full = await folder.exec(["sh", "-c", "head -c 150000000 /dev/zero > zeros; sleep 60"])
        assert (full.success, full.returncode) == (False, 137)
        assert full.stderr.endswith("the command was ended at a limit: disk\n")
        assert (await folder.exec(["rm", "zeros"])).success
        flood = await folder.exec(["yes"])
        assert flood.stderr.endswith("the command was ended at a limit: output\n")
        assert len(flood.stdout) == 16 << 20
        assert (await folder.exec(["echo", "here"])).stdout == "here\n"

    anyio.run(use)


def test_a_cancelled_command_ends_at_once(folder):
    async def use() -> None:
        began = time.monotonic()
        with anyio.move_on_after(2):
            await folder.exec(["sleep", f"8{os.getpid()}"])
        assert (await folder.exec(["echo", "here"])).stdout == "here\n"
        assert time.monotonic() - began < 60

    anyio.run(use)
    assert not is_running(f"8{os.getpid()}")


def test_files_outside_the_folders_are_neither_read_nor_written(folder, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("of the user")
    links = f"ln -s {secret} link; ln -s {tmp_path} folder; ln -s / root; ln -s loop loop; mkfifo pipe"

    async def use() -> None:
        assert (await folder.exec(["sh", "-c", links])).success
        inside = f"root{secret}"
        for file in (
            "link",
            "folder/secret",
            inside,
            str(secret),
            "../../secret",
            "/etc/passwd",
            "../output",
            "pipe",
            "loop",
        ):
            with pytest.raises((PermissionError, FileNotFoundError)):
                await folder.read_file(file)
        for file in ("link", "folder/new", f"root{tmp_path}/new", "/etc/new", "../new", "pipe"):
            with pytest.raises(PermissionError):
                await folder.write_file(file, "changed")
        assert [one.name for one in tmp_path.iterdir()] == ["secret"]
        assert secret.read_text() == "of the user"

    anyio.run(use)


BY_DESIGN = {
    "test_exec_as_user": "there is one user",
    "test_exec_large_command": "a command of 128 KiB at most",
    "test_read_file_is_directory": "its folder is outside",
    "test_read_file_not_allowed": "the agent's permissions do not bind inspect",
    "test_write_text_file_without_permissions": "the agent's permissions do not bind inspect",
    "test_write_binary_file_without_permissions": "the agent's permissions do not bind inspect",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in self_check.__all__ if name not in BY_DESIGN])
def test_the_sandbox_passes_the_checks_of_inspect(name, folder, sandbox):
    if sandbox == "sandlock" and (
        "absolute" in name or name.endswith(("text_file_is_directory", "binary_file_is_directory"))
    ):
        pytest.skip("/tmp is closed without bubblewrap")
    anyio.run(getattr(self_check, name), folder)


MINE = """from inspect_ai.solver import solver
from inspect_ai.util import sandbox


@solver
def mine(answer):
    async def solve(state, generate):
        for path, text in answer.items():
            await sandbox().write_file(path, text)
        state.output.completion = (await sandbox().exec(["git", "diff", "--stat"])).stdout
        return state

    return solve
"""


@pytest.mark.slow
def test_the_command_line_runs_the_task_with_a_solver_of_ones_own(toys, tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "answer.json").write_text(json.dumps({"answer": RIGHT}))
    words = [str(Path(sys.executable).with_name("inspect")), "eval", "dlbench/dl_bench_components"]
    words += ["--model", "mockllm/model", "--solver", "mine.py", "--solver-config", "answer.json"]
    words += ["-T", f"benchmark={toys}", "-T", f"instance={COMPONENT}", "-T", "samples=2"]
    words += ["--display", "plain", "--log-dir", "logs"]
    ended = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, timeout=600, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    (path,) = (tmp_path / "logs").glob("*.eval")
    log = read_eval_log(path)
    assert (log.status, accuracy(log), len(log.samples), log.eval.sandbox.type) == ("success", 1.0, 2, "dlbench")
    assert read_eval_log(path).eval.sandbox.config.instances == (COMPONENT,)
