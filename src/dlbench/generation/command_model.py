"""Ask a program of the user's, started for each request: the client behind `--model-command`."""

import asyncio
import json
import os
import shlex
import shutil
import signal
import time
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from pathlib import Path
from typing import Any

from dlbench.errors import DLBenchError
from dlbench.generation.model import COMMAND, RESUME, Answer, Model, ModelClient, ModelOptions, Request, add_client
from dlbench.generation.providers import Secrets, shorten


class CommandModel(Model):
    """`command` is split as a shell does, but no shell runs it. `name` goes into records: a command can hold a key."""

    def __init__(self, command: str, name: str = "command", timeout: float = 300) -> None:
        try:
            self._words = shlex.split(command)
        except ValueError as error:
            raise DLBenchError(f"cannot be parsed: {error}", where=COMMAND, fix="check the quotes") from None
        if not self._words or shutil.which(self._words[0]) is None:
            where, fix = " ".join([COMMAND, *self._words[:1]]), "pass the path of an executable, or a name on PATH"
            raise DLBenchError("no such program", where=where, fix=fix)
        self.name = name
        self._secrets = Secrets()
        self._timeout = timeout
        self._where = f"{COMMAND} {Path(self._words[0]).name}"

    def payload(self, request: Request) -> dict[str, Any]:
        payload = {"model": self.name, "instance": request.instance_id, "sample": request.sample, "turn": request.turn}
        sampling = {"temperature": request.temperature, "max_tokens": request.max_tokens, "seed": request.seed}
        return payload | {"messages": request.messages} | sampling

    async def answer(self, request: Request) -> Answer:
        start = time.monotonic()
        process = await self._start()
        try:
            data = json.dumps(self.payload(request)).encode() + b"\n"
            output, errors = await asyncio.wait_for(process.communicate(data), self._timeout)
        except TimeoutError:
            what = f"the program did not answer within {self._timeout:g} s"
            raise self._error(what, f"raise --request-timeout or lower --concurrency; {RESUME}") from None
        finally:
            # The whole group: killing a shell script leaves its children running.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
        if process.returncode:
            end = shorten(self._secrets.hide(errors.decode(errors="replace")), end=True)
            what = f"the program exited with status {process.returncode}: {end or 'no output on stderr'}"
            raise self._error(what, f"fix the program; {RESUME}")
        return Answer(self._secrets.hide(output.decode(errors="replace")), seconds=time.monotonic() - start)

    async def _start(self) -> Process:
        try:
            # A new session: Ctrl-C in the terminal must not kill requests in flight.
            return await asyncio.create_subprocess_exec(
                *self._words, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True
            )
        except OSError as error:
            raise self._error(f"the program cannot be started: {error.strerror}", f"check {COMMAND}") from None

    def _error(self, what: str, fix: str) -> DLBenchError:
        return DLBenchError(what, where=self._where, fix=fix)


def _open(name: str, options: ModelOptions) -> Model:
    return CommandModel(options.command or "", name, options.timeout)


add_client(COMMAND, ModelClient("NAME with --model-command CMD", "a program of yours", _open), order=5)
