"""One candidate in, one verdict out, in fresh mode: the definition of a verdict.

One candidate in, one verdict out, without paying for imports: the fast mode, which must agree with the fresh one.

In place where the candidate and the instance allow it, otherwise imported by a fork of the worker, and in a fresh
interpreter where neither can be had: when there is no Landlock to hide tests and reference, when the reference does not
pass (or passes there alone), when a worker is lost. Which of these it was stands in the verdict.
"""

from functools import partial
from typing import Any

from dlbench.dataset import Instance
from dlbench.execution.engine import Candidate, Engine
from dlbench.execution.fresh import judge_with, retry_if_killed, run_fresh, to_status
from dlbench.execution.launch import describe_candidate, describe_instance, describe_options, describe_profiling
from dlbench.execution.limits import DEFAULT, JudgeOptions, Limits, allow_watching
from dlbench.execution.reference_profile import (
    ReferenceProfile,
    load_profiles,
    load_route,
    profile_reference,
    save_route,
)
from dlbench.execution.supervise import Observation
from dlbench.execution.worker import CannotServe, Control, Server, Worker, WorkerLost
from dlbench.runs.verdict import Status, Verdict
from dlbench.workspace import Prepared


def judge(
    engine: Engine,
    prepared: Prepared,
    instance: Instance,
    code: str | None,
    sample: int = 0,
    terms: JudgeOptions = DEFAULT,
) -> Verdict:
    """`None` judges the reference where it stands, unspliced."""
    facts = profile_reference(engine, prepared, instance)

    def run(candidate: Candidate | None) -> Observation:
        return run_fresh(engine, prepared, instance, candidate, allowed=facts.allowed, hides=facts.hides, terms=terms)

    return judge_with(engine, prepared, terms.narrow(instance), code, sample, run)


ROUTES = ("project", "worker")
"""Who forks the server of an instance, in the order in which they are tried."""
_OPEN_SERVERS = 4
_LANDLOCK = 1
_ATTEMPTS = 2


class Warm:
    """A project's worker, and which of its instances can be served how."""

    work = "candidates"
    """What its workers are for."""

    def __init__(self, engine: Engine, prepared: Prepared) -> None:
        self.engine = engine
        self.prepared = prepared
        self.worker: Worker | None = None
        self.facts: dict[str, ReferenceProfile] = {}
        self.refused: dict[str, str] = {}
        """Why an instance is not served in place."""
        self.losses: list[str] = []
        """Why workers were lost; each loss cost its candidate another attempt."""
        self.own: tuple[str, ...] | None = None
        """The project's modules that are imported once, for all instances."""
        self.is_fresh_only = ""
        """Why nothing here is served warm at all."""
        self.sound: dict[str, bool] = {}
        """Whether the reference passes where this worker's children import it; known where a candidate did not."""

    def judge(self, instance: Instance, code: str | None, sample: int = 0, terms: JudgeOptions = DEFAULT) -> Verdict:
        """`None` judges the reference where it stands, unspliced."""

        def run(candidate: Candidate | None) -> Observation:
            return self._run(instance, candidate, terms)

        return judge_with(self.engine, self.prepared, terms.narrow(instance), code, sample, run)

    def _run(self, instance: Instance, candidate: Candidate | None, terms: JudgeOptions) -> Observation:
        facts = self._rehearse(instance)
        for _ in range(_ATTEMPTS):
            if not facts.passes or self.is_fresh_only or not self.sound.get(instance.id, True):
                break
            try:
                watched = self._run_warm(instance, candidate, facts, terms)
                if not watched.lost and self._can_stand(watched, instance, facts, terms):
                    return watched
                if not watched.lost:
                    continue
                self.losses.append(watched.lost)
            except WorkerLost as error:
                self.losses.append(str(error))
            self.close()
        alone = profile_reference(self.engine, self.prepared, instance)
        return run_fresh(
            self.engine, self.prepared, instance, candidate, allowed=alone.allowed, hides=alone.hides, terms=terms
        )

    def _rehearse(self, instance: Instance) -> ReferenceProfile:
        if instance.id not in self.facts:
            is_known = self.worker is not None or bool(load_profiles(self.prepared))
            run = partial(self._learn, instance) if is_known and not self.is_fresh_only else None
            try:
                facts = profile_reference(self.engine, self.prepared, instance, run)
            except WorkerLost as error:
                self.losses.append(str(error))
                self.close()
                facts = profile_reference(self.engine, self.prepared, instance)
            self.facts[instance.id] = facts
        return self.facts[instance.id]

    def _learn(self, instance: Instance, hides: bool) -> Observation:
        """Where others of the project taught already what is heavy, the worker has imported it."""
        job = describe_instance(self.prepared, instance, hides=hides, shows_module=True)
        server = self._start().open(f"{instance.id} learns {hides}", job | {"serve": "imported"})
        learning = describe_profiling(self.engine.target_lines(self.prepared, instance))
        limits = allow_watching(self.engine.limits.for_instance(instance))
        watched = server.run(describe_candidate() | learning, limits, imports=True)
        server.worker.close_server(f"{instance.id} learns {hides}")
        if watched.lost:
            raise WorkerLost(watched.lost)
        return watched

    def _run_warm(
        self, instance: Instance, candidate: Candidate | None, facts: ReferenceProfile, terms: JudgeOptions
    ) -> Observation:
        limits = terms.limit(self.engine.limits.for_instance(instance))
        if candidate is None:
            job = describe_candidate(allowed=facts.allowed) | describe_options(terms)
            return self._open_imported(instance, facts, shows_module=True).run(job, limits, imports=True)
        watch = candidate.is_watched or terms.watched
        job = describe_candidate(watch=watch, classes=candidate.classes, allowed=facts.allowed)
        return self._take_in(instance, candidate, facts, job | describe_options(terms), limits, imports=terms.imports)

    def _take_in(
        self,
        instance: Instance,
        candidate: Candidate,
        facts: ReferenceProfile,
        job: dict[str, Any],
        limits: Limits,
        *,
        imports: bool = False,
    ) -> Observation:
        """In place, or imported where it must be."""
        server = self._open_in_place(instance, facts) if not imports else None
        patch = candidate.plan_patch(f"{instance.path}:candidate") if server is not None else None
        if server is not None and patch is not None:
            watched = server.run(job | {"patch": patch}, limits, imports=False)
            if not watched.messages.of_kind("not_in_place"):
                return watched
        job |= {"source": candidate.spliced.source, "ranges": candidate.spliced.ranges}
        # the candidate stands in the importer; the file would show the reference
        return self._open_imported(instance, facts, shows_module=False).run(job, limits, imports=True)

    def _open_in_place(self, instance: Instance, facts: ReferenceProfile) -> Server | None:
        if instance.id in self.refused:
            return None
        worker = self._start()
        if instance.id in worker.servers:
            return worker.servers[instance.id]
        for other in [name for name in worker.servers if name.partition(" ")[0] != instance.id]:
            if len(worker.servers) >= _OPEN_SERVERS:
                worker.close_server(other)
        asked = self.engine.asked(self.prepared, instance)
        job = describe_instance(self.prepared, instance, hides=facts.hides, shows_module=False)
        job |= {"serve": "in_place", "line": asked.target.node.lineno, "lazy": list(facts.late), "own": list(facts.own)}
        for way in ROUTES:
            try:
                above = self._open_project(worker, facts) if way == "project" else None
                server = worker.open(instance.id, job, above)
            except CannotServe as error:
                self.refused[instance.id] = str(error)
                continue
            if self._is_faithful(instance, facts, server, way):
                self.refused.pop(instance.id, None)
                return server
            worker.close_server(instance.id)
            self.refused[instance.id] = "the reference does not pass there"
        return None

    def _open_project(self, worker: Worker, facts: ReferenceProfile) -> Control:
        """The process that has imported what all known instances import; not for one that would not have all of it."""
        if self.own is None:
            known = [*load_profiles(self.prepared), *self.facts.values()]
            common = set.intersection(*(set(one.own) for one in known if one.passes))
            self.own = tuple(name for name in facts.own if name in common)
        if not self.own or not set(self.own) <= set(facts.own):
            raise CannotServe("it imports nothing that all instances do")
        try:
            return worker.open_project(self.own)
        except CannotServe:
            self.own = ()
            raise

    def _is_faithful(self, instance: Instance, facts: ReferenceProfile, server: Server, way: str) -> bool:
        """Does the reference pass there? Asked once; what was imported in another order may not be the same."""
        known = load_route(self.prepared, instance, way)
        if known is None:
            asked = self.engine.asked(self.prepared, instance)
            reference = asked.read(asked.target.text)
            patch = reference.plan_patch(f"{instance.path}:candidate")
            if patch is None:  # nothing to try it with
                return way == "worker"
            job = describe_candidate(allowed=facts.allowed) | {"patch": patch}
            limits = self.engine.limits.for_instance(instance)
            watched = retry_if_killed(lambda: server.run(job, limits, imports=False))
            if watched.lost:
                raise WorkerLost(watched.lost)
            known = to_status(watched, instance, self.engine.confinement)[0] is Status.PASS
            save_route(self.prepared, instance, way, known)
        return known

    def _can_stand(
        self, watched: Observation, instance: Instance, facts: ReferenceProfile, terms: JudgeOptions
    ) -> bool:
        """What fails where the worker had imported much beforehand may pass where it had not: a plugin of pytest that
        finds itself imported, say. A failure is the candidate's only where the reference passes in the same way."""

        def passes(watched: Observation, instance: Instance) -> bool:
            return to_status(watched, instance, self.engine.confinement)[0] is Status.PASS

        if watched.mode != "imported" or passes(watched, terms.narrow(instance)):
            return True
        if instance.id not in self.sound:
            server = self._open_imported(instance, facts, shows_module=True)
            job, limits = describe_candidate(allowed=facts.allowed), self.engine.limits.for_instance(instance)
            seen = retry_if_killed(lambda: server.run(job, limits, imports=True))
            if seen.lost:
                raise WorkerLost(seen.lost)
            self.sound[instance.id] = passes(seen, instance)
        return self.sound[instance.id]

    def _open_imported(self, instance: Instance, facts: ReferenceProfile, *, shows_module: bool) -> Server:
        job = describe_instance(self.prepared, instance, hides=facts.hides, shows_module=shows_module)
        name = f"{instance.id} {'reference' if shows_module else 'imported'}"
        return self._start().open(name, job | {"serve": "imported"})

    def _start(self) -> Worker:
        if self.worker is not None and self.worker.is_lost:
            self.close()
        if self.worker is None:
            self.worker = Worker(self.engine, self.prepared, self._preload(), self.work)
            self.sound.clear()
            if self.worker.ready["landlock"] < _LANDLOCK:
                self.is_fresh_only = "there is no Landlock on this machine to hide tests and reference"
                raise WorkerLost(self.is_fresh_only)
        return self.worker

    def _preload(self) -> list[str]:
        """What the project's instances are known to import, in the order of the first that does."""
        names: dict[str, None] = {}
        for facts in [*load_profiles(self.prepared), *self.facts.values()]:
            names |= dict.fromkeys(facts.modules)
        return list(names)

    def forget(self, instance: Instance) -> None:
        """What is known of the instance under its id, for whoever changes its tests."""
        self.facts.pop(instance.id, None)
        self.refused.pop(instance.id, None)
        self.sound.pop(instance.id, None)
        if self.worker is not None:
            for name in [name for name in self.worker.servers if name.partition(" ")[0] == instance.id]:
                self.worker.close_server(name)

    def memory_mb(self) -> float:
        return self.worker.memory_mb() if self.worker is not None and not self.worker.is_lost else 0.0

    def close(self) -> None:
        if self.worker is not None:
            worker, self.worker = self.worker, None
            worker.close()
