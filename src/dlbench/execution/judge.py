"""Judge one candidate: in a fresh interpreter, or by a warm worker that has already paid for the imports.

A warm judge patches the candidate in place where the code and the instance allow it, and otherwise lets a fork of the
worker import it. It falls back to a fresh interpreter without Landlock to hide tests and reference, if the reference
passes only there, and after lost workers.
"""

import socket
from dataclasses import replace
from functools import partial
from typing import Any

from dlbench.dataset import Instance
from dlbench.execution.confirm import answer_fresh, record_calls, replay
from dlbench.execution.engine import Candidate, Engine
from dlbench.execution.fresh import Doubt, ReferenceFailed, judge_with, retry_if_killed, run_fresh, to_status
from dlbench.execution.launch import describe_candidate, describe_instance, describe_profiling, list_framework
from dlbench.execution.limits import DEFAULT, JudgeOptions, Limits, allow_watching
from dlbench.execution.optimise import check_cost
from dlbench.execution.plus import Open, Record, check_candidate
from dlbench.execution.plus.session import Recorder, Run
from dlbench.execution.reference_profile import (
    ReferenceProfile,
    load_profiles,
    load_route,
    profile_reference,
    save_route,
)
from dlbench.execution.supervise import Observation
from dlbench.execution.warm_replay import Answerer
from dlbench.execution.worker import CannotServe, Control, Server, Worker, WorkerLost
from dlbench.runs.verdict import Status, Verdict
from dlbench.workspace import Prepared


def judge(
    engine: Engine,
    prepared: Prepared,
    instance: Instance,
    code: str | None,
    sample: int = 0,
    options: JudgeOptions = DEFAULT,
) -> Verdict:
    """Judge in fresh mode. None judges the unspliced reference."""
    run = partial(_run_fresh, engine, prepared, instance, options=options)
    find_doubt = partial(_replay_fresh, engine, prepared, instance, options=options)
    verdict = judge_with(engine, prepared, instance, options, code, sample, run, find_doubt)

    def open_process(candidate: Candidate, seconds: float) -> Run:
        limits = engine.limits.within(seconds)
        return partial(answer_fresh, engine, prepared, instance, candidate, limits, is_compared=True)

    record = partial(record_calls, engine, prepared, instance)
    verdict = _add_plus(engine, prepared, instance, code, verdict, options, open_process, record)
    return _add_cost(engine, prepared, instance, code, verdict, options, record)


def _has_inputs(engine: Engine, instance: Instance) -> bool:
    return instance.id in engine.plus and bool(engine.plus[instance.id].inputs)


def _add_plus(
    engine: Engine,
    prepared: Prepared,
    instance: Instance,
    code: str | None,
    verdict: Verdict,
    options: JudgeOptions,
    open_process: Open,
    record: Record,
) -> Verdict:
    """Try a candidate that passed all tests on further inputs, if the instance has any."""
    is_part = len(options.tests) not in (0, len(instance.tests))
    if code is None or not verdict.passed or not _has_inputs(engine, instance) or is_part:
        return verdict
    candidate = engine.target(prepared, instance).read(code)
    for _ in range(_ATTEMPTS):
        try:
            found = check_candidate(engine, prepared, instance, candidate, open_process, record)
            break
        except WorkerLost as error:
            found = {"plus": "not available", "plus_message": str(error)[:500]}
    return replace(verdict, extra=verdict.extra | found)


def _add_cost(
    engine: Engine,
    prepared: Prepared,
    instance: Instance,
    code: str | None,
    verdict: Verdict,
    options: JudgeOptions,
    record: Record,
) -> Verdict:
    """Measure the cost of a candidate that passed all tests and did not fail on further inputs."""
    is_part = len(options.tests) not in (0, len(instance.tests))
    is_right = verdict.passed and verdict.extra.get("plus") != "failed"
    if code is None or not is_right or instance.id not in engine.workloads or is_part:
        return verdict
    candidate = engine.target(prepared, instance).read(code)
    return replace(verdict, extra=verdict.extra | check_cost(engine, prepared, instance, candidate, record))


def _run_fresh(
    engine: Engine, prepared: Prepared, instance: Instance, candidate: Candidate | None, *, options: JudgeOptions
) -> Observation:
    profile = profile_reference(engine, prepared, instance)
    if candidate is not None:
        _require_reference(profile, options)
    allowed, hides = profile.allowed, profile.hides
    return run_fresh(engine, prepared, instance, candidate, allowed=allowed, hides=hides, options=options)


def _replay_fresh(
    engine: Engine, prepared: Prepared, instance: Instance, candidate: Candidate, *, options: JudgeOptions
) -> Observation | Doubt:
    _require_reference(profile_reference(engine, prepared, instance), options)
    return replay(engine, prepared, instance, candidate, options=options)


def _require_reference(profile: ReferenceProfile, options: JudgeOptions) -> None:
    if profile.failure and options.requires_reference:
        raise ReferenceFailed(profile.failure)


ROUTES = ("project", "worker")
"""The process that forks an instance's server, in the order of preference."""
_OPEN_SERVERS = 4
_LANDLOCK = 1
_ATTEMPTS = 2


class Warm:
    """A project's warm worker, and how each of its instances can be served."""

    work = "candidates"
    """The kind of work its workers do."""
    runs_tests = True
    """Whether its workers run the project's tests; otherwise a fresh interpreter profiles the reference."""

    def __init__(self, engine: Engine, prepared: Prepared) -> None:
        self.engine = engine
        self.prepared = prepared
        self.worker: Worker | None = None
        self.answerer = Answerer(engine, prepared, self._open_worker)
        self.profiles: dict[str, ReferenceProfile] = {}
        self.not_in_place: dict[str, str] = {}
        """Why an instance is not served in place."""
        self.losses: list[str] = []
        """Why workers were lost; each loss costs its candidate another attempt."""
        self.own: tuple[str, ...] | None = None
        """The project's modules that are imported once for all instances."""
        self.fresh_only_reason = ""
        """Why nothing here is served warm."""
        self.passes_imported: dict[str, bool] = {}
        """Whether the reference passes when a child of this worker imports it; checked after a candidate failed."""

    def judge(self, instance: Instance, code: str | None, sample: int = 0, options: JudgeOptions = DEFAULT) -> Verdict:
        """None judges the unspliced reference."""
        run = partial(self._run, instance, options=options)
        find_doubt = partial(self._replay, instance, options=options)
        verdict = judge_with(self.engine, self.prepared, instance, options, code, sample, run, find_doubt)
        # the guards of a patched process end code whose pass was confirmed by replay
        open_process = partial(self.open_process, instance, imports=bool(verdict.extra.get("confirmed")))
        record = partial(self.record_calls, instance)
        place = self.engine, self.prepared, instance, code
        verdict = _add_plus(*place, verdict, options, open_process, record)
        return _add_cost(*place, verdict, options, record)

    def open_process(self, instance: Instance, candidate: Candidate, seconds: float, *, imports: bool = False) -> Run:
        """A process that answers calls of a candidate within a number of seconds. Raises WorkerLost, also when it
        runs."""
        profile, limits = self.profile(instance), self.engine.limits.within(seconds)
        if not profile.passes or self.fresh_only_reason:
            answer = partial(answer_fresh, self.engine, self.prepared, instance, candidate, limits)
            return partial(answer, is_compared=True)
        self._start()  # in this thread: a worker ends with the thread that started it
        job = describe_candidate(candidate, profile.allowed) | {"mode": "calls", "is_compared": True}

        def run(connection: socket.socket) -> Observation:
            try:
                return self._run_candidate(
                    instance, candidate, profile, job, limits, imports=imports, connection=connection
                )
            except WorkerLost as error:
                self._lose(error)
                raise

        return run

    def record_calls(self, instance: Instance, recorder: Recorder) -> str:
        """Record the calls that the tests make of the reference; return why some are missing."""
        starts = [partial(self._start_imported, instance, DEFAULT)]
        if not self.profile(instance).passes or self.fresh_only_reason:
            starts = []
        try:
            return record_calls(self.engine, self.prepared, instance, recorder, starts)
        except WorkerLost as error:
            self._lose(error)
            raise

    def _run(self, instance: Instance, candidate: Candidate | None, *, options: JudgeOptions) -> Observation:
        profile = self.profile(instance)
        for _ in range(_ATTEMPTS):
            if not profile.passes or self.fresh_only_reason or not self.passes_imported.get(instance.id, True):
                break
            try:
                observation = self._run_warm(instance, candidate, profile, options)
                if self._is_conclusive(observation, instance, profile, options):
                    return observation
            except WorkerLost as error:
                self._lose(error)
        return _run_fresh(self.engine, self.prepared, instance, candidate, options=options)

    def _replay(self, instance: Instance, candidate: Candidate, *, options: JudgeOptions) -> Observation | Doubt:
        profile = self.profile(instance)
        _require_reference(profile, options)
        run = partial(replay, self.engine, self.prepared, instance, candidate, options=options)
        if profile.passes and not self.fresh_only_reason:
            try:
                return run(
                    starts=[partial(one, instance, options) for one in (self._start_in_place, self._start_imported)]
                )
            except WorkerLost as error:
                self._lose(error)
        return run()

    def _start_imported(
        self, instance: Instance, options: JudgeOptions, candidate: Candidate, *limits: Limits
    ) -> tuple[Run, Run]:
        return self.answerer.start_imported(self._start(), instance, options, candidate, *limits)

    def _start_in_place(
        self, instance: Instance, options: JudgeOptions, candidate: Candidate, *limits: Limits
    ) -> tuple[Run, Run]:
        profile = self.profile(instance)
        server = self._open_in_place(instance, profile)
        if server is None:
            raise CannotServe(self.not_in_place[instance.id])
        return self.answerer.start_in_place(server, profile, instance, options, candidate, *limits)

    def _lose(self, error: WorkerLost) -> None:
        self.losses.append(str(error))
        self.close()

    def profile(self, instance: Instance) -> ReferenceProfile:
        if instance.id not in self.profiles:
            is_first = not load_profiles(self.engine, self.prepared)
            profile = ReferenceProfile()
            if self.runs_tests and not self.fresh_only_reason:
                try:
                    run = partial(self._run_profiling, instance)
                    profile = profile_reference(self.engine, self.prepared, instance, run)
                    if is_first and self.worker is not None:
                        self.worker.preload(profile.modules)
                except WorkerLost as error:
                    self._lose(error)
            if not profile.passes:
                profile = profile_reference(self.engine, self.prepared, instance)
            self.profiles[instance.id] = profile
        return self.profiles[instance.id]

    def _run_profiling(self, instance: Instance, hides: bool) -> Observation:
        """Profile in the worker, which has imported what other instances of the project are known to need."""
        job = describe_instance(self.prepared, instance, hides=hides, shows_module=True)
        name = f"{instance.id} learns {hides}"
        server = self._start().open(name, job | {"serve": "imported"})
        profiling = describe_profiling(self.engine.target(self.prepared, instance).lines)
        limits = allow_watching(self.engine.limits.for_instance(instance))
        observation = server.run(profiling, limits, imports=True)
        server.worker.close_server(name)
        return observation

    def _run_warm(
        self, instance: Instance, candidate: Candidate | None, profile: ReferenceProfile, options: JudgeOptions
    ) -> Observation:
        limits = options.limit(self.engine.limits.for_instance(instance))
        job = describe_candidate(candidate, profile.allowed, options)
        if candidate is None:
            return self._open_imported(instance, profile, shows_module=True).run(job, limits, imports=True)
        return self._run_candidate(instance, candidate, profile, job, limits, imports=options.imports)

    def _run_candidate(
        self,
        instance: Instance,
        candidate: Candidate,
        profile: ReferenceProfile,
        job: dict[str, Any],
        limits: Limits,
        *,
        imports: bool = False,
        connection: socket.socket | None = None,
    ) -> Observation:
        """Patch it in place, or import it where that is impossible."""
        server = self._open_in_place(instance, profile) if not imports else None
        patch = candidate.plan_patch(f"{instance.path}:candidate") if server is not None else None
        if server is not None and patch is not None:
            observation = server.run(job | {"patch": patch}, limits, imports=False, connection=connection)
            if not observation.messages.of_kind("not_in_place"):
                return observation
        job |= {"source": candidate.spliced.source}
        # the importer holds the candidate; the file would show the reference
        server = self._open_imported(instance, profile, shows_module=False)
        return server.run(job, limits, imports=True, connection=connection)

    def _open_in_place(self, instance: Instance, profile: ReferenceProfile) -> Server | None:
        if instance.id in self.not_in_place:
            return None
        worker = self._start()
        if instance.id in worker.servers:
            return worker.servers[instance.id]
        for other in [name for name in worker.servers if name.partition(" ")[0] != instance.id]:
            if len(worker.servers) >= _OPEN_SERVERS:
                worker.close_server(other)
        line = self.engine.target(self.prepared, instance).target.node.lineno
        job = describe_instance(self.prepared, instance, hides=profile.hides, shows_module=False)
        job |= {"serve": "in_place", "line": line, "lazy": list(profile.late), "own": list(profile.own)}
        for route in ROUTES:
            try:
                above = self._open_project(worker, profile) if route == "project" else None
                server = worker.open(instance.id, job, above)
            except CannotServe as error:
                self.not_in_place[instance.id] = str(error)
                continue
            if self._passes_by(route, instance, profile, server):
                self.not_in_place.pop(instance.id, None)
                return server
            worker.close_server(instance.id)
            self.not_in_place[instance.id] = "the reference does not pass there"
        return None

    def _open_project(self, worker: Worker, profile: ReferenceProfile) -> Control:
        """The process that has imported what all known instances import; not for an instance that imports less."""
        if self.own is None:
            known = [*load_profiles(self.engine, self.prepared), *self.profiles.values()]
            common = set.intersection(*(set(one.own) for one in known if one.passes))
            self.own = tuple(name for name in profile.own if name in common)
        if not self.own or not set(self.own) <= set(profile.own):
            raise CannotServe("it imports no module that all instances import")
        try:
            return worker.open_project(self.own)
        except CannotServe:
            self.own = ()
            raise

    def _passes_by(self, route: str, instance: Instance, profile: ReferenceProfile, server: Server) -> bool:
        """Whether the reference passes by this route, tried once: another order of imports may change its result."""
        known = load_route(self.engine, self.prepared, instance, route)
        if known is None:
            target = self.engine.target(self.prepared, instance)
            patch = target.read(target.target.text).plan_patch(f"{instance.path}:candidate")
            if patch is None:  # the route cannot be tried
                return route == "worker"
            job = describe_candidate(allowed=profile.allowed) | {"patch": patch}
            known = self._reference_passes(server, instance, job, imports=False)
            save_route(self.engine, self.prepared, instance, route, known)
        return known

    def _is_conclusive(
        self, observation: Observation, instance: Instance, profile: ReferenceProfile, options: JudgeOptions
    ) -> bool:
        """An imported candidate may fail only because the worker has imported much beforehand, such as a pytest plugin.
        Its failure counts only if the reference passes in the same way."""
        if observation.mode != "imported" or self._is_pass(observation, options.narrow(instance)):
            return True
        if instance.id not in self.passes_imported:
            target = self.engine.target(self.prepared, instance)
            reference = target.read(target.target.text)
            server = self._open_imported(instance, profile, shows_module=False)
            job = describe_candidate(reference, profile.allowed) | {"source": reference.spliced.source}
            self.passes_imported[instance.id] = self._reference_passes(server, instance, job, imports=True)
        return self.passes_imported[instance.id]

    def _reference_passes(self, server: Server, instance: Instance, job: dict[str, Any], *, imports: bool) -> bool:
        limits = self.engine.limits.for_instance(instance)
        return self._is_pass(retry_if_killed(lambda: server.run(job, limits, imports=imports)), instance)

    def _is_pass(self, observation: Observation, instance: Instance) -> bool:
        return to_status(observation, instance, self.engine.confinement)[0] is Status.PASS

    def _open_imported(self, instance: Instance, profile: ReferenceProfile, *, shows_module: bool) -> Server:
        job = describe_instance(self.prepared, instance, hides=profile.hides, shows_module=shows_module)
        name = f"{instance.id} {'reference' if shows_module else 'imported'}"
        return self._start().open(name, job | {"serve": "imported"})

    def _start(self) -> Worker:
        if self.worker is not None and self.worker.is_lost:
            self.close()
        if self.worker is None:
            self.worker = self._open_worker()
            self.passes_imported.clear()
            if self.worker.ready["landlock"] < _LANDLOCK:
                self.fresh_only_reason = "this machine has no Landlock to hide tests and reference"
                raise WorkerLost(self.fresh_only_reason)
        return self.worker

    def _open_worker(self) -> Worker:
        known = [*load_profiles(self.engine, self.prepared), *self.profiles.values()]
        preload = dict.fromkeys(name for profile in known for name in profile.modules)
        return Worker(self.engine, self.prepared, list(preload) or list_framework(self.prepared), self.work)

    def forget(self, instance: Instance) -> None:
        """Drop what is known under the instance's id, for a caller that changes its tests."""
        self.profiles.pop(instance.id, None)
        self.not_in_place.pop(instance.id, None)
        self.passes_imported.pop(instance.id, None)
        if self.worker is not None:
            for name in [name for name in self.worker.servers if name.partition(" ")[0] == instance.id]:
                self.worker.close_server(name)

    def memory_mb(self) -> float:
        workers = (self.worker, self.answerer.worker)
        return sum(one.memory_mb() for one in workers if one is not None and not one.is_lost)

    def close(self) -> None:
        worker, self.worker = self.worker, None
        if worker is not None:
            worker.close()
        self.answerer.close()
