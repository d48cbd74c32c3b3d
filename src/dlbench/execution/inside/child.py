"""What is the process of one candidate, from the fork to its end?"""

from __future__ import annotations

import contextlib
import linecache
import os
from typing import Any

import pytest

from . import privileges
from .asking import make_asks, recognise
from .channel import open_channel
from .files import find_blinded, find_hidden
from .finding_out import forget_us, make_tampered
from .guard import Arm, install
from .judge import Canaries, Reports, conduct
from .seal import Look
from .values import watch


class Child:
    """The process of one candidate, from the fork to its end."""

    def __init__(
        self,
        session: pytest.Session | None,
        job: dict[str, Any],
        message: dict[str, Any],
        descriptors: list[int],
        above: list[int],
    ) -> None:
        channel, output = descriptors
        redirect(session, output)
        # the secret stays in no dictionary, here or with the caller
        self.send = open_channel(channel, bytes.fromhex(message.pop("secret")))
        self.session, self.job, self.above = session, job | message, above

    def prepare(self, blindfold: int | None) -> None:
        """Everything that a candidate must not have is given up here, before its first line."""
        privileges.set_limits(self.job["limits"])
        os.chdir(self.job["tree"])
        if blindfold is not None:
            privileges.put_on(blindfold)
        privileges.protect(self.above)
        privileges.become_opaque()
        for path in find_blinded(self.job):
            if path != os.path.join(self.job["tree"], self.job["path"]):
                linecache.cache.pop(path, None)

    def guard(self, filename: str, arm: Arm, ours: list[str]) -> None:
        self.tampered, _ = make_tampered(self.send, self.job["allowed"], learn=False)
        asks = make_asks(recognise(filename, []), filename, [])
        install(asks, self.tampered, find_hidden(self.job), arm)
        forget_us(ours)

    def finish(
        self,
        session: pytest.Session,
        reports: Reports,
        canaries: Canaries,
        look: Look,
        filename: str,
        names: dict[str, Any],
    ) -> None:
        self.send("collected", tests=[item.nodeid for item in session.items], errors=[])
        if self.job["watch"]:
            watch(recognise(filename, []), names, self.job["classes"], look, self.tampered)
        with contextlib.suppress(session.Interrupted, session.Failed):
            conduct(
                session,
                reports,
                canaries,
                self.send,
                look,
                self.tampered,
                closely=self.job["watch"],
                until_failure=self.job["until_failure"],
            )
        self.send("end")
        os._exit(0)


def redirect(session: pytest.Session | None, output: int) -> None:
    """The files into which pytest keeps output are shared with the server; a child needs its own, and its own exits."""
    manager = session.config.pluginmanager.getplugin("capturemanager") if session is not None else None
    if manager is not None:
        manager.stop_global_capturing()
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    if manager is not None:
        manager.start_global_capturing()
