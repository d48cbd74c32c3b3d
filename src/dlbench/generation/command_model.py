"""How is a model asked that only a program of the user's knows?

The program is started for each request, reads it as one JSON object from its input, and writes the answer as plain text
to its output. A status other than 0 is an error, never an answer; so is an answer that does not come.
"""

import asyncio
import json
import os
import shlex
import shutil
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from dlbench.errors import DLBenchError
from dlbench.generation.model import GOES_ON, Answer, Model, Request
from dlbench.generation.providers import Secrets, shorten


class CommandModel(Model):
    """`command` is split like a shell does, and not run by one. `name` is for the record: a command can hold a key."""

    def __init__(self, command: str, name: str = "command", timeout: float = 300) -> None:
        try:
            self._words = shlex.split(command)
        except ValueError as error:
            raise DLBenchError(f"not a command: {error}", where="--model-command", fix="check its quotes") from None
        if not self._words or shutil.which(self._words[0]) is None:
            raise DLBenchError(
                "there is no such program",
                where=f"--model-command {self._words[0] if self._words else ''}".strip(),
                fix="give a program that can be run, with its path or on PATH",
            )
        self._name = name
        self._secrets = Secrets()
        self._timeout = timeout
        self._where = f"--model-command {Path(self._words[0]).name}"

    @property
    def name(self) -> str:
        return self._name

    def form(self, request: Request) -> dict[str, Any]:
        return {
            "model": self.name,
            "instance": request.instance_id,
            "sample": request.sample,
            "turn": request.turn,
            "messages": request.messages,
            "temperature": request.temperature,
            "max_tokens": request.max_tokens,
            "seed": request.seed,
        }

    async def answer(self, request: Request) -> Answer:
        began = time.monotonic()
        process = await self._start()
        try:
            asked = json.dumps(self.form(request)).encode() + b"\n"
            said, complaint = await asyncio.wait_for(process.communicate(asked), self._timeout)
        except TimeoutError:
            raise DLBenchError(
                f"the program gave no answer within {self._timeout:g} s",
                where=self._where,
                fix=f"give it more time with --request-timeout, or fewer requests with --concurrency; {GOES_ON}",
            ) from None
        finally:
            # Its children too: a shell script that is killed leaves what it started.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
        if process.returncode:
            end = shorten(self._secrets.hide(complaint.decode(errors="replace")), end=True)
            raise DLBenchError(
                f"the program ended with status {process.returncode}: {end or 'it said nothing'}",
                where=self._where,
                fix=f"fix the program; {GOES_ON}",
            )
        return Answer(self._secrets.hide(said.decode(errors="replace")), seconds=time.monotonic() - began)

    async def _start(self) -> asyncio.subprocess.Process:
        try:
            return await asyncio.create_subprocess_exec(
                *self._words,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                # Out of the terminal's reach: Ctrl-C lets the answers under way be finished.
                start_new_session=True,
            )
        except OSError as error:
            raise DLBenchError(
                f"the program cannot be started: {error.strerror}", where=self._where, fix="check --model-command"
            ) from None
