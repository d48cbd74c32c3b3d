"""Replay passes in warm workers: one runs the tests, the other holds candidates and never a test or the reference.

Where they can, the tests ask in place: their server has collected them already. The candidate is patched into a module
that was imported without the reference.
"""

import socket
from collections.abc import Callable
from functools import partial
from typing import Any

from dlbench.dataset import Instance
from dlbench.dataset.target import find_target
from dlbench.execution.confirm import write_call, write_module
from dlbench.execution.engine import Candidate, Engine
from dlbench.execution.launch import describe_candidate, describe_instance
from dlbench.execution.limits import JudgeOptions, Limits
from dlbench.execution.plus.session import Run
from dlbench.execution.reference_profile import ReferenceProfile
from dlbench.execution.supervise import Observation
from dlbench.execution.worker import CannotServe, Server, Worker
from dlbench.workspace import Prepared


class Answerer:
    """The worker that holds candidates while their passes are replayed."""

    def __init__(self, engine: Engine, prepared: Prepared, open_worker: Callable[[], Worker]) -> None:
        self.engine, self.prepared, self._open_worker = engine, prepared, open_worker
        self.worker: Worker | None = None
        self._obstacles: dict[str, str] = {}
        """Why candidates of an instance cannot be patched in."""

    def start_imported(
        self, asker: Worker, instance: Instance, options: JudgeOptions, candidate: Candidate, *limits: Limits
    ) -> tuple[Run, Run]:
        """Two forks of two workers that import the project. They share no sandbox: files of tests are out of the
        candidate's reach."""
        tests, calls = limits
        asking = describe_instance(self.prepared, instance, hides=False, shows_module=True)
        server = asker.open(f"{instance.id} replay", asking | {"serve": "imported"})
        question = describe_candidate(options=options) | {"source": write_module(candidate.target)}
        ask = lambda connection: server.run(question, tests, imports=True, connection=connection)  # noqa: E731
        return ask, self._answer_imported(instance, candidate, calls)

    def start_in_place(
        self,
        asker: Server,
        profile: ReferenceProfile,
        instance: Instance,
        options: JudgeOptions,
        candidate: Candidate,
        *limits: Limits,
    ) -> tuple[Run, Run]:
        """`asker`: the server of the instance, which has collected its tests. Raises CannotServe."""
        tests, calls = limits
        filename = f"{instance.path}:candidate"
        question = candidate.target.read(write_call(candidate.target)).plan_patch(filename)
        patch = candidate.plan_patch(filename)
        if question is None or patch is None:
            raise CannotServe("the function cannot be patched")
        asking = describe_candidate(options=options) | {"patch": question}
        answering = describe_candidate(candidate) | {"patch": patch, "mode": "calls"}
        server = self._open_in_place(profile, instance, candidate)
        answer_imported = self._answer_imported(instance, candidate, calls)

        def answer(connection: socket.socket) -> Observation:
            observation = server.run(answering, calls, imports=False, connection=connection)
            return answer_imported(connection) if observation.messages.of_kind("not_in_place") else observation

        return lambda connection: asker.run(asking, tests, imports=False, connection=connection), answer

    def _answer_imported(self, instance: Instance, candidate: Candidate, limits: Limits) -> Run:
        job = describe_instance(self.prepared, instance, hides=True, shows_module=False)
        server = partial(self._start(instance).open, f"{instance.id} imported", job | {"serve": "imported"})
        answer = describe_candidate(candidate) | {"source": candidate.spliced.source, "mode": "calls"}
        return lambda connection: server().run(answer, limits, imports=True, connection=connection)

    def _open_in_place(self, profile: ReferenceProfile, instance: Instance, candidate: Candidate) -> Server:
        if instance.id in self._obstacles:
            raise CannotServe(self._obstacles[instance.id])
        text = write_module(candidate.target, "raise NotImplementedError")
        job: dict[str, Any] = describe_instance(self.prepared, instance, hides=True, shows_module=False)
        job |= {"serve": "answers", "text": text, "line": find_target(text, instance.qualname).node.lineno}
        job |= {"lazy": list(profile.late), "own": list(profile.own)}
        try:
            return self._start(instance).open(f"{instance.id} in place", job)
        except CannotServe as error:
            self._obstacles[instance.id] = str(error)
            raise

    def _start(self, instance: Instance) -> Worker:
        """The worker, with servers of this instance only."""
        if self.worker is not None and self.worker.is_lost:
            self.close()
        if self.worker is None:
            self.worker = self._open_worker()
        for name in [name for name in self.worker.servers if name.partition(" ")[0] != instance.id]:
            self.worker.close_server(name)
        return self.worker

    def close(self) -> None:
        worker, self.worker = self.worker, None
        if worker is not None:
            worker.close()
