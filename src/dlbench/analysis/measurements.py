"""Measure time, memory and maintainability of passing candidates, side by side with the reference.

Figures from another process or a busier minute are not comparable. So candidates and reference run in one worker, in
rounds and in the same mode: if one candidate must be imported or watched, all are. A disturbance affects a whole round.
"""

import ast
import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
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
from dlbench.execution.judge import Warm
from dlbench.execution.limits import DEFAULT, JudgeOptions
from dlbench.execution.processes import remove_groups
from dlbench.execution.sample_judge import find_code
from dlbench.execution.splice import Spliced
from dlbench.jsonl import Journal, read_lines
from dlbench.runs.samples import Sample
from dlbench.runs.verdict import Status
from dlbench.workspace import Prepared
from dlbench.workspace.home import quiet

EFFICIENCY = "efficiency.jsonl"
REFERENCE, AGAIN = "reference", "again"
_MAX_FAILED_ROUNDS = 2


@dataclass(frozen=True)
class Measurement:
    """One run of the tests."""

    status: str
    seconds: float
    processor: float
    """CPU seconds."""
    memory_mb: float
    mode: str
    message: str = ""

    @property
    def passed(self) -> bool:
        return self.status == Status.PASS


Round = Mapping[str, Measurement]
"""By `REFERENCE`, `AGAIN` and the keys of candidates, in the order in which they ran."""


@dataclass(frozen=True)
class Maintainability:
    lines: int
    cyclomatic: int
    """1 plus the number of decisions, including those of helpers."""
    cognitive: int
    index: float
    """radon's maintainability index, from 0 (worst) to 100."""


@dataclass(frozen=True)
class PassingCandidates:
    """The passing samples of one instance. Samples with the same code are one candidate."""

    instance: Instance
    codes: Mapping[int, str]
    """By sample."""

    @cached_property
    def key(self) -> str:
        return instance_key(self.instance)

    @cached_property
    def names(self) -> dict[int, str]:
        """By sample, the key of the candidate."""
        return {sample: code_key(code) for sample, code in self.codes.items()}

    @cached_property
    def candidates(self) -> dict[str, str]:
        """By key, the code."""
        return {self.names[sample]: code for sample, code in self.codes.items()}


def find_passing(
    verdicts: Iterable[Mapping[str, Any]], samples: Iterable[Sample], instances: Iterable[Instance]
) -> list[PassingCandidates]:
    passed = {(one["instance"], one["sample"]) for one in verdicts if one["status"] == Status.PASS}
    chosen = {instance.id: instance for instance in instances}
    found: defaultdict[str, dict[int, str]] = defaultdict(dict)
    for sample in samples:
        if sample.key in passed and sample.instance in chosen:
            code = find_code(sample, chosen[sample.instance].qualname).code
            if code is not None:
                found[sample.instance][sample.sample] = code
    return [PassingCandidates(chosen[name], codes) for name, codes in found.items()]


class MeasureStore:
    """Measurements by instance key; new ones are also appended to the journal."""

    def __init__(self, path: Path | None = None, journal: Journal | None = None) -> None:
        self.rounds: defaultdict[str, list[Round]] = defaultdict(list)
        self.maintainability: defaultdict[str, dict[str, Maintainability]] = defaultdict(dict)
        self._journal = journal
        for number, record in read_lines(path) if path and path.is_file() else ():
            try:
                self._add(record)
            except (KeyError, TypeError, AttributeError) as error:
                what = f"not a measurement: {type(error).__name__} {error}"
                raise DLBenchError(what, where=f"{path}:{number}", fix="remove the file and measure again") from None

    def append(self, instance: Instance, found: Round | Mapping[str, Maintainability]) -> None:
        kind = "round" if any(isinstance(one, Measurement) for one in found.values()) else "maintainability"
        record: dict[str, Any] = {"instance": instance.id, "about": instance_key(instance)}
        record[kind] = {name: asdict(one) for name, one in found.items()}
        if self._journal is not None:
            self._journal.append(record)
        self._add(record)

    def _add(self, record: Mapping[str, Any]) -> None:
        key = record["about"]
        if "round" in record:
            found = {name: Measurement(**one) for name, one in record["round"].items()}
            if not {REFERENCE, AGAIN} <= found.keys():
                raise KeyError(REFERENCE)
            self.rounds[key].append(found)
        else:
            self.maintainability[key] |= {
                name: Maintainability(**one) for name, one in record["maintainability"].items()
            }

    def count_missing(self, one: PassingCandidates, repeats: int) -> dict[str, int]:
        """By candidate, how many rounds it lacks. One that failed in a round is not run again."""
        runs = {name: [each[name] for each in self.rounds[one.key] if name in each] for name in one.candidates}
        return {
            name: repeats - len(own)
            for name, own in runs.items()
            if len(own) < repeats and all(each.passed for each in own)
        }


def instance_key(instance: Instance) -> str:
    """Changes with the reference and the tests."""
    return code_key(json.dumps([instance.id, instance.sha256, *sorted(instance.tests)]))


def code_key(code: str) -> str:
    return hashlib.sha256(code.encode(errors="surrogatepass")).hexdigest()[:24]


def measure_all(
    engine: Engine,
    prepared: Mapping[str, Prepared],
    passing: Sequence[PassingCandidates],
    store: MeasureStore,
    on_round: Callable[[str], None] = quiet,
    *,
    repeats: int,
    seed: int,
) -> dict[str, str]:
    """One worker, one run at a time. Returns, by instance, why it was given up."""
    given_up = {}
    ordered = sorted(passing, key=lambda one: one.instance.project)
    for project, some in groupby(ordered, key=lambda one: one.instance.project):
        with closing(Warm(engine, prepared[project])) as warm:
            for one in some:
                try:
                    why = _measure(warm, one, store, on_round, repeats, seed)
                except DLBenchError:
                    raise
                except Exception as error:  # one instance must not end a study of hundreds
                    why = f"harness error: {type(error).__name__}: {error}"
                if why:
                    given_up[one.instance.id] = why
    remove_groups()
    return given_up


def draw_order(names: Sequence[str], number: int, seed: str) -> list[str]:
    """The order of one round. Over as many rounds as there are names, each name takes every position once."""
    block, step = divmod(number, len(names))
    rng = Random(f"{seed} {block}")
    drawn = rng.sample(names, len(names))
    start = rng.sample(range(len(names)), len(names))[step]
    return drawn[start:] + drawn[:start]


def _measure(
    warm: Warm, one: PassingCandidates, store: MeasureStore, on_round: Callable[[str], None], repeats: int, seed: int
) -> str:
    instance, failed = one.instance, 0
    reference = warm.engine.target(warm.prepared, instance).target.text
    first = _run(warm, instance, reference, DEFAULT)
    if not first.passed:
        return _describe_failure(REFERENCE, first)
    options = _choose_options(warm, instance, first, [reference, *one.candidates.values()])
    while unfinished := store.count_missing(one, repeats):
        codes = {REFERENCE: reference, AGAIN: reference} | {name: one.candidates[name] for name in unfinished}
        order = draw_order(list(codes), len(store.rounds[one.key]), f"{seed} {instance.id}")
        found = {name: _run(warm, instance, codes[name], options) for name in order}
        problem = _find_problem(found)
        if not problem:
            store.append(instance, found)
            on_round(instance.id)
            continue
        failed += 1
        if failed > _MAX_FAILED_ROUNDS:
            return problem
    return ""


def _choose_options(warm: Warm, instance: Instance, first: Measurement, codes: Sequence[str]) -> JudgeOptions:
    """Run each code once, to warm caches, and find the options under which all can run alike."""
    target = warm.engine.target(warm.prepared, instance)
    watched = False
    for code in codes:
        with suppress(AnswerError):  # its rounds will show that it does not pass
            watched |= target.read(code).is_watched
    options = JudgeOptions(watched=watched)
    modes = {first.mode, *(warm.judge(instance, code, options=options).mode for code in codes[1:])}
    return JudgeOptions(imports=modes != {"in_place"}, watched=watched)


def _run(warm: Warm, instance: Instance, code: str, options: JudgeOptions) -> Measurement:
    found = warm.judge(instance, code, options=options)
    times = found.test_seconds, found.processor_seconds
    return Measurement(str(found.status), *times, found.memory_mb, found.mode, found.message[-300:])


def _find_problem(found: Round) -> str:
    """Why a round cannot be used: a harness error, a failing reference, or different modes."""
    for name, one in found.items():
        if one.status == Status.HARNESS_ERROR or (name in (REFERENCE, AGAIN) and not one.passed):
            return _describe_failure(name, one)
    modes = {one.mode for one in found.values() if one.passed}
    return "" if len(modes) == 1 else f"they ran in different modes: {', '.join(sorted(modes))}"


def _describe_failure(name: str, one: Measurement) -> str:
    return f"{'the reference' if name in (REFERENCE, AGAIN) else 'a candidate'}: {one.status}: {one.message}"


def measure_maintainability(spliced: Spliced) -> Maintainability:
    """Of the code that replaced the target, including what came with it."""
    from radon.metrics import mi_visit

    lines = spliced.source.split("\n")
    pieces = ["\n".join(lines[first - 1 : last]) for first, last in spliced.ranges]
    texts = [write_code(_strip_docstrings(node)) for piece in pieces for node in parse_statements(piece)]
    measured = [measure_code(text) for text in texts]
    return Maintainability(
        lines=sum(one.loc for one in measured),
        cyclomatic=1 + sum(one.cyclomatic - 1 for one in measured),
        cognitive=sum(one.cognitive for one in measured),
        index=float(mi_visit("\n".join(texts), multi=False)),
    )


def _strip_docstrings(statement: ast.stmt) -> ast.stmt:
    for node in ast.walk(statement):
        if isinstance(node, Function | ast.ClassDef) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return statement


def list_unmeasured(passing: Sequence[PassingCandidates], store: MeasureStore) -> list[PassingCandidates]:
    """Those with code whose maintainability is not in the store."""
    return [one for one in passing if {REFERENCE, *one.candidates} - store.maintainability.get(one.key, {}).keys()]


def measure_code_of(
    unmeasured: Sequence[PassingCandidates], prepared: Mapping[str, Prepared], store: MeasureStore
) -> None:
    for one in unmeasured:
        target = TargetInModule(one.instance, read_module(prepared[one.instance.project], one.instance))
        found = {}
        for name, code in ({REFERENCE: target.target.text} | one.candidates).items():
            with suppress(AnswerError):  # its rounds will show that it does not pass
                found[name] = measure_maintainability(target.read(code).spliced)
        store.append(one.instance, found)
