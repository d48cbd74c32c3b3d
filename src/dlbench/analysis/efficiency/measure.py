"""What do an instance's tests take on a candidate, and on the reference beside it?

A figure of another day, another process or a busier minute cannot be set beside a candidate's. So both run in one
worker, in rounds: the reference, the reference once more and every candidate, in an order drawn by chance, in which all
have every place as often. What disturbs a round disturbs all of it, and how far the two references lie apart is the
noise. All are served alike: where one candidate must be imported or watched, so is every other, and the reference.

How much is there to keep in order, in what a model wrote and in the reference?

Both are measured as they stand in the module, with all that the answer brought along, and written anew first, without
docstrings and comments: otherwise a project's formatter, or a model that explains every line, would decide.

What has been measured of a run already?

Rounds stand in a journal beside the run, each on disk before the next begins: what was stopped goes on, and the tables
can be computed again without running anything. A record is about one text of the reference, one list of tests and the
texts of candidates: where any of them is another now, it is passed over and measured anew.

Which candidates are measured, and what of them is missing?

Only those that pass: what a wrong answer takes says nothing. Samples with the same code are one candidate.
"""

import ast
import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import groupby
from pathlib import Path
from random import Random
from typing import Any

from dlbench.analysis.complexity import measure_code
from dlbench.dataset import Instance
from dlbench.dataset.target import Function, parse_statements, write_code
from dlbench.errors import DLBenchError
from dlbench.execution.answer import AnswerError
from dlbench.execution.engine import Engine, TargetInModule, read_module
from dlbench.execution.evaluate import find_code
from dlbench.execution.judge import Warm
from dlbench.execution.limits import DEFAULT, JudgeOptions
from dlbench.execution.processes import remove_groups
from dlbench.execution.splice import Spliced
from dlbench.jsonl import Journal, read_lines
from dlbench.runs.samples import Sample
from dlbench.runs.verdict import Status
from dlbench.workspace import Prepared

REFERENCE, AGAIN = "reference", "again"
_SPARE = 2
"""Rounds that may come to nothing before an instance is given up."""


@dataclass(frozen=True)
class Taken:
    """One run of the tests."""

    status: str
    seconds: float
    processor: float
    """Seconds that the processor worked."""
    memory_mb: float
    mode: str
    message: str = ""

    @property
    def passed(self) -> bool:
        return self.status == Status.PASS


Round = Mapping[str, Taken]
"""By `REFERENCE`, `AGAIN` and the names of candidates, in the order in which they ran."""


@dataclass(frozen=True)
class Job:
    """Candidates of one instance, by name, of which rounds are missing."""

    instance: Instance
    codes: Mapping[str, str]
    done: Sequence[Round]


def measure_all(
    engine: Engine,
    prepared: Mapping[str, Prepared],
    jobs: Sequence[Job],
    on_round: Callable[[Instance, Round], None],
    *,
    repeats: int,
    seed: int,
) -> dict[str, str]:
    """One worker, one run at a time. By instance, why one was given up."""
    given_up = {}
    ordered = sorted(jobs, key=lambda job: job.instance.project)
    for project, some in groupby(ordered, key=lambda job: job.instance.project):
        with closing(Warm(engine, prepared[project])) as warm:
            for job in some:
                try:
                    why = _measure(warm, job, on_round, repeats, seed)
                except DLBenchError:
                    raise
                except Exception as error:  # one instance must not end a study of hundreds
                    why = f"our own fault: {type(error).__name__}: {error}"
                if why:
                    given_up[job.instance.id] = why
    remove_groups()
    return given_up


def find_waiting(codes: Mapping[str, str], done: Sequence[Round], repeats: int) -> list[str]:
    """Candidates with too few rounds; one that did not pass in some round is not tried again."""
    waiting = []
    for name in codes:
        taken = [one[name] for one in done if name in one]
        if len(taken) < repeats and all(one.passed for one in taken):
            waiting.append(name)
    return waiting


def count_missing(job: Job, repeats: int) -> int:
    """How many rounds it takes at most."""
    waiting = find_waiting(job.codes, job.done, repeats)
    return max((repeats - sum(name in one for one in job.done) for name in waiting), default=0)


def draw_order(names: Sequence[str], number: int, seed: str) -> list[str]:
    """Of one round. In as many rounds as there are names each has every place once: places may differ, too."""
    block, step = divmod(number, len(names))
    chance = Random(f"{seed} {block}")
    drawn = chance.sample(names, len(names))
    begin = chance.sample(range(len(names)), len(names))[step]
    return drawn[begin:] + drawn[:begin]


def _measure(warm: Warm, job: Job, on_round: Callable[[Instance, Round], None], repeats: int, seed: int) -> str:
    instance, done, wasted = job.instance, list(job.done), 0
    reference = warm.engine.target(warm.prepared, instance).target.text
    first = _run(warm, instance, reference, DEFAULT)
    if not first.passed:
        return _blame(REFERENCE, first)
    terms = _settle(warm, instance, first, [reference, *job.codes.values()])
    while waiting := find_waiting(job.codes, done, repeats):
        codes = {REFERENCE: reference, AGAIN: reference} | {name: job.codes[name] for name in waiting}
        order = draw_order(list(codes), len(done), f"{seed} {instance.id}")
        taken = {name: _run(warm, instance, codes[name], terms) for name in order}
        fault = _find_fault(taken)
        if not fault:
            done.append(taken)
            on_round(instance, taken)
            continue
        wasted += 1
        if wasted > _SPARE:
            return fault
    return ""


def _settle(warm: Warm, instance: Instance, first: Taken, codes: Sequence[str]) -> JudgeOptions:
    """Runs each once, uncounted: the first pays for servers and caches. How the least convenient one must be served."""
    asked = warm.engine.target(warm.prepared, instance)
    watched = False
    for code in codes:
        with suppress(AnswerError):  # which its rounds will show as not passing
            watched = watched or asked.read(code).is_watched
    modes = {first.mode, *(warm.judge(instance, code).mode for code in codes[1:])}
    return JudgeOptions(imports=modes != {"in_place"}, watched=watched)


def _run(warm: Warm, instance: Instance, code: str, terms: JudgeOptions) -> Taken:
    found = warm.judge(instance, code, options=terms)
    times = found.test_seconds, found.processor_seconds
    return Taken(str(found.status), *times, found.memory_mb, found.mode, found.message[-300:])


def _find_fault(taken: Round) -> str:
    """Why a round is none: what was not measured side by side is not kept, and neither is our own fault."""
    for name, one in taken.items():
        if one.status == Status.HARNESS_ERROR or (name in (REFERENCE, AGAIN) and not one.passed):
            return _blame(name, one)
    modes = {one.mode for one in taken.values() if one.passed}
    return "" if len(modes) == 1 else f"they were not served alike: {', '.join(sorted(modes))}"


def _blame(name: str, one: Taken) -> str:
    return f"{'the reference' if name in (REFERENCE, AGAIN) else 'a candidate'}: {one.status}: {one.message}"


MEASURES = ("lines", "cyclomatic", "cognitive", "index")


@dataclass(frozen=True)
class Maintainability:
    lines: int
    cyclomatic: int
    """1 and every decision, those of helpers too."""
    cognitive: int
    index: float
    """radon's maintainability index: 100 is the best, and 0 the worst."""


def measure_upkeep(spliced: Spliced) -> Maintainability:
    """Of what took the target's place, and of all that came with it."""
    from radon.metrics import mi_visit

    lines = spliced.source.split("\n")
    pieces = ["\n".join(lines[first - 1 : last]) for first, last in spliced.ranges]
    statements = [_strip(node) for piece in pieces for node in parse_statements(piece)]
    texts = [write_code(node) for node in statements]
    measured = [measure_code(text) for text in texts]
    return Maintainability(
        lines=sum(one.loc for one in measured),
        cyclomatic=1 + sum(one.cyclomatic - 1 for one in measured),
        cognitive=sum(one.cognitive for one in measured),
        index=float(mi_visit("\n".join(texts), multi=False)),
    )


def _strip(statement: ast.stmt) -> ast.stmt:
    for node in ast.walk(statement):
        if isinstance(node, Function | ast.ClassDef) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return statement


EFFICIENCY = "efficiency.jsonl"


@dataclass
class Kept:
    """By `name_instance` and, within, by the names of candidates."""

    rounds: dict[str, list[Round]] = field(default_factory=lambda: defaultdict(list))
    upkeep: dict[str, dict[str, Maintainability]] = field(default_factory=lambda: defaultdict(dict))

    def take(self, record: Mapping[str, Any]) -> None:
        about = record["about"]
        if "round" in record:
            found = {name: Taken(**one) for name, one in record["round"].items()}
            if not {REFERENCE, AGAIN} <= found.keys():
                raise KeyError(REFERENCE)
            self.rounds[about].append(found)
        else:
            self.upkeep[about] |= {name: Maintainability(**one) for name, one in record["upkeep"].items()}


def read_kept(path: Path) -> Kept:
    kept = Kept()
    for number, record in read_lines(path) if path.is_file() else ():
        try:
            kept.take(record)
        except (KeyError, TypeError, AttributeError) as error:
            what = f"not a measure: {type(error).__name__} {error}"
            raise DLBenchError(what, where=f"{path}:{number}", fix="remove the file, and measure anew") from None
    return kept


class ResultCache:
    """Takes measures in and writes them down at once."""

    def __init__(self, journal: Journal, kept: Kept) -> None:
        self.journal, self.kept = journal, kept

    def keep_round(self, instance: Instance, found: Round) -> None:
        self._keep(instance, {"round": {name: asdict(one) for name, one in found.items()}})

    def keep_upkeep(self, instance: Instance, found: Mapping[str, Maintainability]) -> None:
        self._keep(instance, {"upkeep": {name: asdict(one) for name, one in found.items()}})

    def _keep(self, instance: Instance, content: dict[str, Any]) -> None:
        record = {"instance": instance.id, "about": name_instance(instance)} | content
        self.journal.append(record)
        self.kept.take(record)


def name_instance(instance: Instance) -> str:
    """Another where its reference or its tests are others."""
    return _shorten(json.dumps([instance.id, instance.sha256, *sorted(instance.tests)]))


def name_code(code: str) -> str:
    return _shorten(code)


def _shorten(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:24]


@dataclass(frozen=True)
class PassingCandidate:
    """What passes on one instance: by sample, the code."""

    instance: Instance
    codes: Mapping[int, str]

    @cached_property
    def about(self) -> str:
        return name_instance(self.instance)

    @cached_property
    def names(self) -> dict[int, str]:
        """By sample, the candidate's name."""
        return {sample: name_code(code) for sample, code in self.codes.items()}

    @cached_property
    def candidates(self) -> dict[str, str]:
        """By name, the code."""
        return {self.names[sample]: code for sample, code in self.codes.items()}


def find_passing(
    verdicts: Iterable[Mapping[str, Any]], samples: Iterable[Sample], instances: Iterable[Instance]
) -> list[PassingCandidate]:
    """Of the given instances."""
    passed = {(one["instance"], one["sample"]) for one in verdicts if one["status"] == Status.PASS}
    wanted = {instance.id: instance for instance in instances}
    found: defaultdict[str, dict[int, str]] = defaultdict(dict)
    for sample in samples:
        if sample.key in passed and sample.instance in wanted:
            code = find_code(sample, wanted[sample.instance].qualname).code
            if code is not None:
                found[sample.instance][sample.sample] = code
    return [PassingCandidate(wanted[name], codes) for name, codes in found.items()]


def plan_jobs(passing: Sequence[PassingCandidate], kept: Kept, repeats: int) -> list[Job]:
    """What is to be run yet."""
    jobs = [Job(one.instance, one.candidates, tuple(kept.rounds.get(one.about, ()))) for one in passing]
    return [job for job in jobs if find_waiting(job.codes, job.done, repeats)]


def find_unread(passing: Sequence[PassingCandidate], kept: Kept) -> list[PassingCandidate]:
    """Those with code whose upkeep nobody has measured."""
    return [one for one in passing if {REFERENCE, *one.candidates} - kept.upkeep.get(one.about, {}).keys()]


def read_upkeep(unread: Sequence[PassingCandidate], prepared: Mapping[str, Prepared], keeper: ResultCache) -> None:
    for one in unread:
        asked = TargetInModule(one.instance, read_module(prepared[one.instance.project], one.instance))
        found = {}
        for name, code in ({REFERENCE: asked.target.text} | one.candidates).items():
            try:
                found[name] = measure_upkeep(asked.read(code).spliced)
            except AnswerError:  # its rounds will show that it does not pass
                continue
        keeper.keep_upkeep(one.instance, found)
