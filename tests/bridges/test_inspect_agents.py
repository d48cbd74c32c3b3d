"""inspect's agents solve tasks of many files in our sandbox, without Docker, and our judge scores what they leave."""

import base64
import os
from pathlib import Path

import anyio
import pytest
from inspect_ai import eval
from inspect_ai.log import EvalLog, EvalSample
from inspect_ai.model import Model, ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import SandboxUserUnsupportedError, sandbox

from dlbench.bridges.inspect.agents import AttemptSandbox, AttemptSettings, dl_bench_components
from dlbench.errors import DLBenchError
from dlbench.workspace.home import home
from tests.agents.test_attempts import is_gone
from tests.execution.file_task_toy import COMPONENT, HIDDEN, RIGHT, TASK, write_toy


@pytest.fixture(scope="module")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_toy(tmp_path_factory.mktemp("inspect"))


def write(path: str, text: str) -> str:
    return f"echo {base64.b64encode(text.encode()).decode()} | base64 -d > {path}"


SOLVE = [write(path, text) for path, text in RIGHT.items()]
VISIBLE = "python -m pytest -q -p no:cacheprovider -o addopts= @VISIBLE_TESTS.txt"


def play(commands: list[str]) -> Model:
    """A model that asks for these commands one after the other, then submits."""
    calls = [("bash", {"command": command}) for command in commands] + [("submit", {"answer": "done"})]

    def respond(messages, tools, choice, config):
        name, arguments = calls[sum(message.role == "assistant" for message in messages)]
        output = ModelOutput.for_tool_call("mock", name, arguments)
        output.usage = ModelUsage(input_tokens=100, output_tokens=20, total_tokens=120)
        return output

    return get_model("mockllm/model", custom_outputs=respond, memoize=False)


def run(
    toys: Path, logs: Path, commands: list[str], track: str = "component", using: Solver | None = None
) -> EvalSample:
    task = dl_bench_components(benchmark=str(toys), track=track)
    (log,) = eval(task, model=play(commands), log_dir=str(logs), display="none", solver=using)
    return only(log)


def only(log: EvalLog) -> EvalSample:
    assert log.status == "success", log.error
    [sample] = log.samples or []
    return sample


def score(sample: EvalSample) -> Score:
    assert sample.scores is not None
    found = sample.scores["verdict_on_folder"]
    assert found.metadata is not None
    return found


def outputs(sample: EvalSample) -> list[str]:
    return [message.text for message in sample.messages if message.role == "tool"]


@pytest.mark.parametrize(("track", "name"), [("component", COMPONENT), ("rebuild", TASK)])
def test_an_agent_that_writes_the_code_scores_one(toys: Path, tmp_path: Path, track: str, name: str) -> None:
    sample = run(toys, tmp_path, [*SOLVE, VISIBLE, "git status --short"], track=track)
    assert sample.id == name
    assert score(sample).value == {"solved": 1.0, "hidden_tests": 1.0}
    assert score(sample).answer == "toylib/core.py, toylib/tables.py"
    assert set(score(sample).metadata["tests"]) == set(HIDDEN)
    assert score(sample).metadata["leaks"] == []
    assert " passed" in outputs(sample)[2]
    assert outputs(sample)[3].split() == ["M", "toylib/core.py", "M", "toylib/tables.py"]
    assert not list((home() / "cells").glob(f"{os.getpid()}-*"))


LOOK = f"cat {home()}/*; ls /root /work; curl -s https://example.com/toylib; cat */*.py | grep -c minimum; exit 7"


def test_an_agent_that_looks_elsewhere_finds_nothing_and_is_reported(toys: Path, tmp_path: Path) -> None:
    sample = run(toys, tmp_path, [LOOK])
    assert score(sample).value == {"solved": 0.0, "hidden_tests": 0.0}
    [shown] = [text for text in outputs(sample) if "No such file" in text]
    assert "\n0\n" in shown
    assert {"download", "workspace", "network"} <= {leak["kind"] for leak in score(sample).metadata["leaks"]}


def test_a_command_that_is_cancelled_leaves_no_process(toys: Path) -> None:
    """As at a limit of inspect, after which the folder is judged."""
    wait = "sleep 654.321"

    async def cancel() -> bool:
        boxes = await AttemptSandbox.sample_init("task", AttemptSettings(id=COMPONENT, benchmark=str(toys)), {})
        box = boxes["default"].as_type(AttemptSandbox)
        async with anyio.create_task_group() as commands:
            commands.start_soon(box.exec, ["sh", "-c", f"touch started; {wait}"])
            while not (box.cell.work / "started").exists():
                await anyio.sleep(0.1)
            commands.cancel_scope.cancel()
        is_left = not is_gone(wait)
        await AttemptSandbox.sample_cleanup("task", None, boxes, False)
        return is_left

    assert not anyio.run(cancel)


@solver
def use_files(secret: str) -> Solver:
    """What solvers do with a sandbox beside running commands."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        box = sandbox()
        await box.write_file("new/notes.bin", b"\0\xff")
        state.metadata["bytes"] = list(await box.read_file("new/notes.bin", text=False))
        done = await box.exec(["python", "-c", "print(input() + '!')"], input="text", env={"X": "1"}, cwd="new")
        state.metadata["done"] = [done.returncode, done.stdout]
        await box.exec(["ln", "-s", secret, "link"])
        tries = {"missing": box.read_file("none"), "folder": box.read_file("new"), "link": box.read_file("link")}
        tries |= {"slow": box.exec(["sleep", "60"], timeout=1), "root": box.exec(["id"], user="root")}
        for name, one in tries.items():
            try:
                await one
            except Exception as error:
                state.metadata[name] = type(error).__name__
        return state

    return solve


def test_other_solvers_use_the_sandbox_and_no_link_leads_out_of_it(toys: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("of this machine")
    sample = run(toys, tmp_path / "logs", [], using=use_files(str(secret)))
    found = sample.metadata
    assert (found["bytes"], found["done"]) == ([0, 255], [0, "text!\n"])
    assert (found["missing"], found["folder"], found["link"]) == (
        *["FileNotFoundError", "IsADirectoryError"],
        "FileNotFoundError",
    )
    assert (found["slow"], found["root"]) == ("TimeoutError", SandboxUserUnsupportedError.__name__)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"track": "function"}, "there is no track 'function'"), ({"instance": "toylib/component-none"}, COMPONENT)],
)
def test_wrong_options_are_named(toys: Path, options: dict[str, str], message: str) -> None:
    with pytest.raises(DLBenchError, match=message):
        dl_bench_components(benchmark=str(toys), **options)
