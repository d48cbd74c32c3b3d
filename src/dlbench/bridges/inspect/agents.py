"""The inspect task for agents: tasks of many files, in our sandbox for agents as an inspect sandbox, judged by us.

It needs no Docker. Inspect asks the model outside the sandbox, so a command in it has no network at all.
"""

import secrets
import shlex
import threading
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from typing import Any, Literal, overload

from anyio import CancelScope, CapacityLimiter, get_cancelled_exc_class
from anyio.to_thread import run_sync
from inspect_ai import Epochs, Task, task
from inspect_ai.agent import react
from inspect_ai.dataset import MemoryDataset
from inspect_ai.dataset import Sample as InspectSample
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState
from inspect_ai.tool import bash
from inspect_ai.util import (
    ExecResult,
    OutputLimitExceededError,
    SandboxEnvironment,
    SandboxEnvironmentConfigType,
    SandboxEnvironmentSpec,
    SandboxUserUnsupportedError,
    sandbox,
    sandboxenv,
)
from pydantic import BaseModel

from dlbench import __version__
from dlbench.agents.attempts import audit, judge_work, open_agent_task, open_work
from dlbench.agents.relay import Relay
from dlbench.agents.sandbox import AgentCell, choose_agent_sandbox, describe_proxy, run_agent
from dlbench.bridges.shared import read_benchmark
from dlbench.dataset.file_task import FileTask
from dlbench.dataset.labels import Track
from dlbench.dataset.tracks import open_track
from dlbench.errors import DLBenchError
from dlbench.execution import Engine, Limits, choose_sandbox
from dlbench.execution.file_task import OpenTask
from dlbench.execution.supervise import check_stop, stop_event
from dlbench.execution.task_folder import render_instructions
from dlbench.generation.budget import Budget
from dlbench.registry import find_known
from dlbench.runs.verdict import Status
from dlbench.workspace import prepare
from dlbench.workspace.environment import lock_of

_COMMAND_SECONDS = 600
_READ = 'test -e "$1" || exit 2; test -d "$1" && exit 3; test -r "$1" || exit 4; exec cat -- "$1"'
_WRITE = 'test -d "$1" && exit 3; mkdir -p -- "$(dirname -- "$1")" && cat > "$1" || exit 4'
_ERRORS: dict[int, type[OSError]] = {2: FileNotFoundError, 3: IsADirectoryError, 4: PermissionError}


class AttemptSettings(BaseModel, frozen=True):
    """Which task a sandbox holds, and its limits in MiB and processes."""

    id: str
    benchmark: str | None = None
    sandbox: str = "auto"
    memory: int = 4096
    disk: int = 1024
    processes: int = 256

    @property
    def limits(self) -> Limits:
        return Limits(0, _COMMAND_SECONDS, self.memory, self.processes, disk_mb=self.disk)


def find_records(benchmark: str | None, track: Track) -> dict[str, FileTask]:
    found = open_track(read_benchmark(benchmark), track).instances
    return {name: one for name, one in found.items() if isinstance(one, FileTask)}


@cache
def open_task(name: str, benchmark: str | None) -> OpenTask:
    whole = read_benchmark(benchmark)
    record = {**find_records(benchmark, Track.COMPONENT), **find_records(benchmark, Track.REBUILD)}[name]
    return OpenTask(record, prepare(whole.projects[record.project], whole.root))


@sandboxenv(name="dlbench")
class AttemptSandbox(SandboxEnvironment):
    """The folder of an attempt. Each command starts anew in it and nothing of it runs on: what a command prints to both
    streams is its `stdout`."""

    def __init__(self, settings: AttemptSettings) -> None:
        super().__init__()
        opened = open_task(settings.id, settings.benchmark)
        lock = lock_of(opened.prepared.project, read_benchmark(settings.benchmark).root)
        self.settings, self.task = settings, open_agent_task(opened, lock.read_text(encoding="utf-8"))
        self._opened = ExitStack()
        chosen = choose_agent_sandbox(settings.sandbox)
        self.cell, self.given = self._opened.enter_context(open_work(self.task, chosen, settings.limits))
        # login shells, which inspect's tools are, would have another path
        path = f"export PATH={self.cell.environment['PATH']}\n"
        (self.cell.cell.folder / "home/.profile").write_text(path, encoding="utf-8")
        self.relay = Relay(None, self.cell.cell.folder / "requests.jsonl", Budget())

    @classmethod
    async def sample_init(
        cls, task_name: str, config: SandboxEnvironmentConfigType | None, metadata: dict[str, str]
    ) -> dict[str, SandboxEnvironment]:
        if not isinstance(config, AttemptSettings):
            raise DLBenchError("this sandbox holds tasks of dlbench only", fix="use it by dlbench/dl_bench_components")
        return {"default": await run_sync(cls, config, limiter=CapacityLimiter(1))}

    @classmethod
    async def sample_cleanup(
        cls,
        task_name: str,
        config: SandboxEnvironmentConfigType | None,
        environments: dict[str, SandboxEnvironment],
        interrupted: bool,
    ) -> None:
        for one in environments.values():
            one.as_type(AttemptSandbox)._opened.close()

    @classmethod
    def config_deserialize(cls, config: dict[str, Any]) -> BaseModel:
        return AttemptSettings(**config)

    async def exec(
        self,
        cmd: list[str],
        input: str | bytes | None = None,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        user: str | None = None,
        timeout: int | None = None,
        timeout_retry: bool = True,
        concurrency: bool = True,
    ) -> ExecResult[str]:
        if user not in (None, "agent"):
            raise SandboxUserUnsupportedError(f"commands run as the agent, not as {user}")
        self.relay.turns.append({"command": shlex.join(cmd)})
        code, output = await self._run(cmd, input, cwd, env, timeout)
        return ExecResult(code == 0, code, output.decode(errors="replace"), "")

    async def _run(
        self,
        cmd: list[str],
        input: str | bytes | None = None,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout: int | None = None,
    ) -> tuple[int, bytes]:
        data = input.encode() if isinstance(input, str) else input or b""

        stop, began, ended = threading.Event(), threading.Event(), threading.Event()

        def run() -> tuple[int, bytes]:
            began.set()
            stop_event.set(stop)
            try:
                check_stop()
                return self._run_now(cmd, data, cwd or ".", env or {}, timeout or _COMMAND_SECONDS)
            finally:
                ended.set()

        try:  # its own limiter: the shared one is for short calls
            return await run_sync(run, limiter=CapacityLimiter(1), abandon_on_cancel=True)
        except get_cancelled_exc_class():
            stop.set()
            with CancelScope(shield=True):  # nothing of the command runs on while the folder is judged
                if began.is_set():
                    await run_sync(ended.wait)
            raise

    def _run_now(self, cmd: list[str], data: bytes, cwd: str, env: dict[str, str], timeout: int) -> tuple[int, bytes]:
        name = secrets.token_hex(16)  # nobody in the sandbox can foresee it, and put a link there
        private, folder = self.cell.cell, self.cell.cell.folder
        given, output = folder / "tmp" / name, folder / f"{name}.log"
        with given.open("xb") as file:
            file.write(data)
        shell = ["/bin/sh", "-c", 'exec <"$1" && rm "$1" && cd "$2" && shift 2 && exec "$@"', "sh"]
        command = [*shell, str(self.cell.show("tmp") / name), cwd, *cmd]
        limits = replace(private.limits, test_seconds=timeout)
        cell: AgentCell = replace(self.cell, cell=replace(private, limits=limits))
        try:
            plan = cell.describe(command, {**cell.environment, **describe_proxy(), **env})
            ended = run_agent(cell, plan, output, self.relay)
            printed = output.read_bytes()
        finally:
            given.unlink(missing_ok=True)
            output.unlink(missing_ok=True)
        if ended.stopped == "time":
            raise TimeoutError(f"stopped after {timeout} s")
        if ended.stopped == "output":
            raise OutputLimitExceededError("16 MiB", printed[: 1 << 20].decode(errors="replace"))
        reason = f"\nstopped at the limit: {ended.stopped}\n".encode() if ended.stopped else b""
        return 137 if ended.exit is None else ended.exit, printed + reason

    async def write_file(self, file: str, contents: str | bytes) -> None:
        """In the sandbox, so that a link leads to nothing outside."""
        code, _ = await self._run(["/bin/sh", "-c", _WRITE, "sh", file], contents)
        _raise(code, file)

    @overload
    async def read_file(self, file: str, text: Literal[True] = True) -> str: ...

    @overload
    async def read_file(self, file: str, text: Literal[False]) -> bytes: ...

    async def read_file(self, file: str, text: bool = True) -> str | bytes:
        code, content = await self._run(["/bin/sh", "-c", _READ, "sh", file])
        _raise(code, file)
        return content.decode() if text else content


def _raise(code: int, file: str) -> None:
    if code:
        raise _ERRORS.get(code, OSError)(file)


@scorer(metrics={"solved": [mean(), stderr()], "hidden_tests": [mean(), stderr()]})
def verdict_on_folder() -> Scorer:
    """`solved`: every hidden test passed. `hidden_tests`: the share of them that passed."""

    async def score(state: TaskState, target: Target) -> Score:
        attempt = sandbox().as_type(AttemptSandbox)
        settings = attempt.settings
        engine = Engine(choose_sandbox(settings.sandbox), Limits())

        def judge() -> Score:
            found, files = judge_work(engine, attempt.task, attempt.cell, attempt.given, state.epoch - 1)
            known = (attempt.cell.cell.prepared.environment, attempt.cell.cell.folder)
            leaks = list(audit(attempt.relay, "", attempt.task.packages, known))
            fault = str(found.status) if found.status is Status.HARNESS_ERROR else None
            return Score(
                value={"solved": float(found.passed), "hidden_tests": found.share},
                answer=", ".join(sorted(files)),
                explanation=f"{found.status}\n{found.message}".strip(),
                reason=fault,
                metadata=found.as_record() | {"leaks": leaks},
            )

        return await run_sync(judge, limiter=CapacityLimiter(1))

    return score


@task
def dl_bench_components(
    track: str = "component",
    instance: str | None = None,
    samples: int = 1,
    benchmark: str | None = None,
    sandbox: str = "auto",
    memory: int = 4096,
    disk: int = 1024,
    processes: int = 256,
) -> Task:
    """A component, or a rebuild task (`track=rebuild`), in a folder; the folder that the agent leaves is judged.

    `instance`: only these, separated by commas. Limits of time, tokens and messages are inspect's.
    """
    kinds = {str(kind): kind for kind in (Track.COMPONENT, Track.REBUILD)}
    records = find_records(benchmark, kinds[find_known(track, kinds, "track", "track")])
    names = instance.split(",") if instance else list(records)
    if not names:
        raise DLBenchError(f"the benchmark has no {track} task", fix="pass -T track=rebuild, or -T benchmark=FOLDER")
    for name in names:
        find_known(name, records, f"{track} task", "instance")
    dataset = []
    for name in names:
        settings = AttemptSettings(
            id=name, benchmark=benchmark, sandbox=sandbox, memory=memory, disk=disk, processes=processes
        )
        record = records[name]
        facts = {"project": record.project, "lines": record.lines, "hidden_tests": len(record.hidden)}
        dataset.append(
            InspectSample(
                id=name,
                input=render_instructions(open_task(name, benchmark)),
                metadata=facts,
                sandbox=SandboxEnvironmentSpec("dlbench", settings),
            )
        )
    version = str(read_benchmark(benchmark).version)
    return Task(
        dataset=MemoryDataset(dataset, name=f"dlbench {track}"),
        solver=react(tools=[bash(timeout=_COMMAND_SECONDS)]),
        scorer=verdict_on_folder(),
        epochs=Epochs(samples, "mean"),
        version=version,
        metadata={"dlbench": __version__, "benchmark": version},
    )
