"""The inspect sandbox of a task of many files: the folder of the task, and commands confined as in `dlbench agent run`.

Each command has a sandbox of its own without a network, on the same folders.
"""

import errno
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import replace
from functools import cache
from pathlib import Path
from socket import socket
from typing import Any, TypeVar

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from inspect_ai import util
from pydantic import BaseModel

from dlbench.agents.attempts import check_release, judge_work, open_work
from dlbench.agents.sandbox import Ended, choose_agent_sandbox, run_agent
from dlbench.bridges.shared import read_benchmark
from dlbench.dataset.file_task import FileTask
from dlbench.dataset.labels import Track
from dlbench.dataset.tracks import open_track
from dlbench.execution import Engine, Limits, choose_sandbox
from dlbench.execution.file_task import OpenTask, open_task
from dlbench.execution.sandbox import remove_leftovers
from dlbench.execution.supervise import stop_event
from dlbench.registry import find_known
from dlbench.runs.verdict import Verdict
from dlbench.workspace import prepare

_Result = TypeVar("_Result")


class Settings(BaseModel, frozen=True):
    """The options of an inspect task, which its log keeps unless they are None."""

    track: Track
    instances: tuple[str, ...]
    benchmark: str | None = None
    sandbox: str
    minutes: float
    timeout: float
    memory: int
    disk: int
    processes: int


@cache
def open_tasks(settings: Settings) -> dict[str, OpenTask]:
    """The chosen tasks by id, with their releases, which are fetched."""
    whole = open_track(read_benchmark(settings.benchmark), settings.track)
    chosen = [find_known(one, whole.instances, f"{settings.track} task") for one in settings.instances]
    records = [one for one in chosen or whole.instances.values() if isinstance(one, FileTask)]
    prepared = ((one, prepare(one.find_base(whole.projects), whole.root, print)) for one in records)
    return {one.id: open_task(one, release, whole.root, print) for one, release in prepared}


@cache
def open_engine(settings: Settings) -> Engine:
    remove_leftovers()
    limits = Limits(test_seconds=settings.timeout, memory_mb=settings.memory)
    return Engine(choose_sandbox(settings.sandbox), limits)


class _NoNetwork:
    """Closes the one port of a sandbox: the model is asked outside."""

    def serve(self, listener: socket) -> AbstractContextManager[None]:
        listener.close()
        return nullcontext()

    def find_reason(self) -> str:
        return ""


@util.sandboxenv(name="dlbench")
class TaskSandbox(util.SandboxEnvironment):
    """The folders of one sample. One thread does all that touches them, so nothing else does while a command runs."""

    def __init__(self, settings: Settings, name: str) -> None:
        super().__init__()
        self.settings, self.task = settings, open_tasks(settings)[name]
        self.opened, self.thread = ExitStack(), ThreadPoolExecutor(1)

    @classmethod
    async def task_init(cls, task_name: str, config: BaseModel | str | None) -> None:
        """Run the tests of the releases before a model is asked."""
        assert isinstance(config, Settings)
        for one in open_tasks(config).values():
            await run_sync(check_release, open_engine(config), one, os.cpu_count() or 1, abandon_on_cancel=True)

    @classmethod
    async def sample_init(
        cls, task_name: str, config: BaseModel | str | None, metadata: dict[str, Any]
    ) -> dict[str, util.SandboxEnvironment]:
        assert isinstance(config, Settings)
        one = cls(config, metadata["__sample_id__"])
        try:
            await one.call(one.open)
        except BaseException:
            one.close()
            raise
        return {"default": one}

    @classmethod
    async def sample_cleanup(
        cls,
        task_name: str,
        config: BaseModel | str | None,
        environments: dict[str, util.SandboxEnvironment],
        interrupted: bool,
    ) -> None:
        for one in environments.values():
            await run_sync(one.as_type(cls).close().result)

    @classmethod
    def config_deserialize(cls, config: dict[str, Any]) -> BaseModel:
        return Settings(**config)

    @classmethod
    def default_concurrency(cls) -> int | None:
        return os.cpu_count()

    def open(self) -> None:
        chosen = self.settings
        limits = Limits(0, 60 * chosen.minutes, chosen.memory, chosen.processes, disk_mb=chosen.disk)
        confinement = choose_agent_sandbox(chosen.sandbox)
        self.cell, _ = self.opened.enter_context(open_work(self.task, confinement, limits))

    def close(self) -> Future[None]:
        """Remove the folders, after what is under way."""
        closed = self.thread.submit(self.opened.close)
        self.thread.shutdown(wait=False)
        return closed

    async def call(self, work: Callable[[], _Result]) -> _Result:
        """Do this in the sample's thread. If the caller is cancelled, a command under way ends at once."""
        stop = threading.Event()

        def run() -> _Result:
            stop_event.set(stop)
            return work()

        try:
            result = self.thread.submit(run).result
            return await run_sync(result, limiter=CapacityLimiter(1), abandon_on_cancel=True)
        finally:
            stop.set()

    def judge(self, sample: int) -> Verdict:
        return judge_work(open_engine(self.settings), self.task, self.cell, sample)[0]

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
    ) -> util.ExecResult[str]:
        """After a timeout the command is not tried again: it may have changed files."""
        if user is not None:
            raise util.SandboxUserUnsupportedError("there is one user, who has no privileges")
        command = ["/bin/sh", "-c", 'cd -- "$0" && exec "$@"', cwd or ".", *cmd]
        ended, output, errors = await self.call(lambda: self._run(command, _encode(input or b""), env or {}, timeout))
        if ended.stopped == "time":
            raise TimeoutError("the command was ended at its time limit")
        if ended.stopped:
            errors += f"\nthe command was ended at a limit: {ended.stopped}\n"
        if ended.exit == 126 and "permission denied" in errors.lower():
            raise PermissionError(errno.EACCES, errors.strip(), cmd[0])
        return util.ExecResult(ended.exit == 0, 137 if ended.exit is None else ended.exit, output, errors)

    def _run(
        self, command: list[str], given: bytes, environment: dict[str, str], seconds: int | None
    ) -> tuple[Ended, str, str]:
        whole = self.cell.cell.limits
        used = self.cell.measure_mb(*(Path(folder).name for folder in self.cell.writable))
        # so that a command can remove what is too much
        disk = min(2 * whole.disk_mb, max(whole.disk_mb, round(used) + 1))
        limits = replace(whole, test_seconds=min(seconds or whole.test_seconds, whole.test_seconds), disk_mb=disk)
        cell = replace(self.cell, cell=replace(self.cell.cell, limits=limits))
        input, output, errors = (cell.cell.folder / name for name in ("input", "output", "errors"))
        input.write_bytes(given)
        with input.open("rb") as stdin:
            plan = cell.describe(command, cell.environment | environment)
            ended = run_agent(cell, plan, output, _NoNetwork(), errors, stdin)
        return ended, output.read_bytes().decode(errors="replace"), errors.read_bytes().decode(errors="replace")

    def _find(self, file: str) -> Path:
        """The place of a file on this machine, inside the folders of the sample wherever links lead."""
        asked = Path(os.path.normpath(self.cell.show("work") / file))
        for folder in map(Path, self.cell.writable):
            shown, root = self.cell.show(folder.name), Path(os.path.realpath(folder))
            if asked.is_relative_to(shown):
                place = Path(os.path.realpath(root / asked.relative_to(shown)))
                if place.is_relative_to(root) and place.is_dir():
                    raise IsADirectoryError(errno.EISDIR, "it is a directory", file)
                if place.is_relative_to(root) and (place.is_file() or not place.exists()):  # a pipe would block
                    return place
        raise PermissionError(errno.EACCES, "it is no file of the sample's folders", file)

    async def write_file(self, file: str, contents: str | bytes) -> None:
        def write() -> None:
            place = self._find(file)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(_encode(contents))

        await self.call(write)

    async def read_file(self, file: str, text: bool = True) -> Any:  # noqa: ANN401 - as `text` says
        limits = util.SandboxEnvironmentLimits
        most, shown = limits.MAX_READ_FILE_SIZE, limits.MAX_READ_FILE_SIZE_STR

        def read() -> bytes:
            place = self._find(file)
            if not place.exists():
                raise FileNotFoundError(errno.ENOENT, "there is no such file", file)
            if place.stat().st_size > most:
                raise util.OutputLimitExceededError(shown, None)
            return place.read_bytes()

        content = await self.call(read)
        return content.decode() if text else content


def _encode(content: str | bytes) -> bytes:
    return content if isinstance(content, bytes) else content.encode()
