"""Choose the further inputs of an instance: those on which the reference is a sound oracle.

An input stays if the tests make its call in two recordings; if the reference answers it the same three times, and the
answer does not turn on rounding; if independent solutions agree with the reference; and if its rewrites do. Where the
solutions agree with each other against the reference, the description or the reference is at fault: the input is listed
for review.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate

import numpy as np

from dlbench.dataset import Instance
from dlbench.dataset.plus import InputKey, PlusRecord
from dlbench.execution.answer import AnswerError
from dlbench.execution.engine import Candidate, Engine
from dlbench.execution.judge import Warm
from dlbench.execution.limits import JudgeOptions
from dlbench.execution.plus import MOST_BYTES, MOST_CALLS, describe_answers, make_input
from dlbench.execution.plus.compare import Answer, find_difference, measure_deviation
from dlbench.execution.plus.mutators import MUTATORS
from dlbench.execution.plus.nodes import Data, list_objects, read_array, write_array
from dlbench.execution.plus.session import Recorder, ask_all
from dlbench.execution.pool import TaskPool
from dlbench.execution.worker_cache import CachePolicy
from dlbench.validation.mutants import write_mutants
from dlbench.workspace import Prepared

_MOST_PROPOSED = 120
_MOST_KEPT = 48
_MOST_RECORDED = 16
"""Of the inputs that are kept, calls as the tests make them."""
_MOST_RAISING = 0.25
_MOST_BYTES_OF_ANSWER = 1 << 18
_SECONDS, _PROCESS_SECONDS, _ATTEMPTS = 10.0, 4.0, 3
"""For all inputs, for those that one process answers, and how many processes are started."""
_MOST_SECONDS, _MOST_SECONDS_IN_ALL = 0.2, 2.0
_LEAST_BUDGET = 0.2
_LEAST_SECONDS_OF_TESTS = 5.0
_NOISE = 8.0
_MOST_SLACK = 1000.0
_RANDOM = "the answer depends on random numbers"
_LEAST_AGREEMENT = 0.5
"""A solution that agrees with the reference on fewer recorded calls says nothing."""


@dataclass(frozen=True)
class PlusTask:
    instance: Instance
    solutions: tuple[str, ...] = ()
    rewrites: tuple[str, ...] = ()
    mutants: int = 0
    """How many mutants measure the tests with and without the inputs."""


def make_record(warm: Warm, task: PlusTask) -> PlusRecord:
    record = choose_inputs(warm, task)
    return measure_mutants(warm, task.instance, record, task.mutants) if task.mutants else record


def measure_mutants(warm: Warm, instance: Instance, record: PlusRecord, most: int) -> PlusRecord:
    """Count the mutants of the reference that its tests kill, and that the tests and the inputs kill together."""
    seconds = max(_LEAST_SECONDS_OF_TESTS, 8 * (instance.measures.seconds or 0.0))
    options = JudgeOptions(until_failure=True, seconds=seconds)
    mutants = write_mutants(warm.engine.target(warm.prepared, instance).target.node, most)
    before, warm.engine = warm.engine, replace(warm.engine, plus={instance.id: record})
    try:
        verdicts = [warm.judge(instance, code, options=options) for _, code in mutants]
    finally:
        warm.engine = before
    killed = sum(not verdict.passed for verdict in verdicts)
    caught = sum(verdict.extra.get("plus") == "failed" for verdict in verdicts)
    update = {"mutants": len(mutants), "killed": killed, "killed_plus": killed + caught}
    return record.model_copy(update=update)


def open_pool(
    engine: Engine, prepared: dict[str, Prepared], workers: int, memory_mb: float = 6144.0
) -> TaskPool[PlusTask, Warm, PlusRecord]:
    """Makes the records of many instances in parallel."""
    return TaskPool(engine, prepared, workers, CachePolicy(Warm, memory_mb), make_record, report_fault)


def report_fault(task: PlusTask, fault: str) -> PlusRecord:
    return PlusRecord(instance=task.instance.id, reason=f"could not be measured: {fault[:200]}")


@dataclass
class _Input:
    key: InputKey
    data: Data
    answer: Answer
    slack: float = 1.0


@dataclass
class _Choice:
    """The inputs that are left, and why others were dropped."""

    inputs: list[_Input]
    dropped: Counter[str] = field(default_factory=Counter)

    def keep(self, why: str, holds: Sequence[bool]) -> None:
        self.dropped[why] += holds.count(False)
        self.inputs = [one for one, hold in zip(self.inputs, holds, strict=True) if hold]


def choose_inputs(warm: Warm, task: PlusTask) -> PlusRecord:
    """The record of an instance. Solutions and rewrites are code of its target."""
    instance = task.instance
    recorder, second = Recorder(MOST_CALLS, MOST_BYTES), Recorder(MOST_CALLS, MOST_BYTES)
    obstacle = warm.record_calls(instance, recorder)
    record = PlusRecord(instance=instance.id, calls=len(recorder.calls), refused=recorder.refused)
    if not recorder.calls:
        return record.model_copy(update={"reason": obstacle or "no call of its tests can be recorded"})
    warm.record_calls(instance, second)
    steady = {digest: data for digest, data in recorder.calls.items() if digest in second.calls}
    if not steady:
        return record.model_copy(update={"reason": "the calls of its tests differ from run to run"})
    keys, data = _propose(steady)
    ask = partial(_ask, warm, instance)
    reference = warm.engine.target(warm.prepared, instance)
    candidate = reference.read(reference.target.text)
    # the first is asked twice, as it also waits for the process
    answers = ask(candidate, [keys[0], *keys], [data[0], *data])[1:]
    choice = _Choice([_Input(*one) for one in zip(keys, data, answers, strict=True)])
    choice.keep("the reference does not answer", [not answer.failure for answer in answers])
    choice.keep("the answer holds functions", [not one.answer.data.has_functions for one in choice.inputs])
    choice.keep("takes too long", [one.answer.seconds <= _MOST_SECONDS for one in choice.inputs])
    total = accumulate(one.answer.seconds for one in choice.inputs)
    choice.keep("all together take too long", [seconds <= _MOST_SECONDS_IN_ALL for seconds in total])
    choice.keep("large answers", [one.answer.data.size <= _MOST_BYTES_OF_ANSWER for one in choice.inputs])
    for more, why in ((0, "the reference is not deterministic"), (1, _RANDOM)):
        again = _ask_inputs(ask, candidate, choice.inputs, backwards=not more, more_seed=more)
        differs = [
            find_difference(one.data, one.answer, found) for one, found in zip(choice.inputs, again, strict=True)
        ]
        choice.keep(why, [not what for what in differs])
    if choice.dropped[_RANDOM]:  # two seeds may give the same by chance
        return record.model_copy(update={"reason": _RANDOM, "dropped": dict(+choice.dropped)})
    _measure_noise(choice, ask, candidate)
    review = _ask_solutions(choice, ask, task, reference.read)
    if review is None:
        why = "fewer than two independent solutions agree with the reference on the calls of its tests"
        return record.model_copy(update={"reason": why, "dropped": dict(+choice.dropped)})
    kept = _select(choice.inputs, max(_LEAST_BUDGET, instance.measures.seconds or 0.0))
    return record.model_copy(
        update={
            "inputs": tuple(str(one.key) for one in kept),
            "outputs": describe_answers([one.answer for one in kept]) if kept else "",
            "dropped": dict(+choice.dropped),
            "review": tuple(review[:10]),
            "reason": "" if kept else "no input is left",
        }
    )


def _propose(recorded: dict[str, Data]) -> tuple[list[InputKey], list[Data]]:
    """The recorded calls, and variations of them: each round takes every mutator once, to another call."""
    others = list(recorded.values())
    found = {digest: (InputKey(digest, "", 0, digest), data) for digest, data in recorded.items()}
    for turn in range(_MOST_PROPOSED):
        for place, name in enumerate(MUTATORS):
            digest = list(recorded)[(turn + place) % len(recorded)]
            data = make_input(digest, name, turn, recorded, others)
            if data is not None and data.size <= MOST_BYTES:
                found.setdefault(data.digest, (InputKey(digest, name, turn, data.digest), data))
        if len(found) >= _MOST_PROPOSED or (turn > 10 and len(found) < 2 * turn):
            break
    chosen = list(found.values())[:_MOST_PROPOSED]
    return [key for key, _ in chosen], [data for _, data in chosen]


def _ask(
    warm: Warm, instance: Instance, candidate: Candidate, keys: Sequence[InputKey], data: Sequence[Data]
) -> list[Answer]:
    """An answer to each input. An input that ends the process, or on which it hangs, costs only itself."""
    calls = [(one, key.seed) for key, one in zip(keys, data, strict=True)]
    answers: list[Answer] = []
    deadline = time.monotonic() + _SECONDS
    for _ in range(_ATTEMPTS):
        run = warm.open_process(instance, candidate, _PROCESS_SECONDS, imports=bool(candidate.excess))
        found = ask_all(run, calls[len(answers) :], deadline - time.monotonic())
        ended = next((place for place, answer in enumerate(found) if answer.has_ended), len(found))
        answers += found[: ended + 1]
        if len(answers) == len(calls) or time.monotonic() > deadline:
            break
    return answers + [Answer.none()] * (len(calls) - len(answers))


_Ask = Callable[[Candidate, Sequence[InputKey], Sequence[Data]], list[Answer]]


def _ask_inputs(
    ask: _Ask, candidate: Candidate, inputs: Sequence[_Input], *, backwards: bool = False, more_seed: int = 0
) -> list[Answer]:
    step = -1 if backwards else 1
    turned = list(inputs)[::step]
    keys = [replace(one.key, seed=one.key.seed + more_seed) for one in turned]
    return ask(candidate, keys, [one.data for one in turned])[::step]


def _measure_noise(choice: _Choice, ask: _Ask, candidate: Candidate) -> None:
    """Widen tolerances by what a higher precision and changes in the last digits do to the reference's answers. Inputs
    whose answers then differ in more than numbers turn on rounding."""
    for change in (widen, disturb):
        changed = [one.data.copy() for one in choice.inputs]
        applies = [change(data) for data in changed]
        answers = ask(candidate, [one.key for one in choice.inputs], changed)
        holds = []
        for one, answer, is_changed in zip(choice.inputs, answers, applies, strict=True):
            failed = bool(answer.failure) or answer.parts[:1] != one.answer.parts[:1]
            # a reference that refuses the changed input says nothing about its numbers
            if not is_changed or failed:
                holds.append(True)
                continue
            deviation = measure_deviation(one.data, one.answer, answer)
            one.slack = max(one.slack, float(2.0 ** np.ceil(np.log2(max(1.0, min(_NOISE * deviation, 1e9))))))
            holds.append(one.slack <= _MOST_SLACK)
        choice.keep("the answer turns on rounding", holds)


def widen(data: Data) -> bool:
    """Give all arrays of 32 bits 64, with the same values."""
    found = False
    for content in list_objects(data.node).values():
        array = read_array(content, data.blobs)
        if array is not None and array.dtype.name == "float32" and "bfloat16" not in content:
            write_array(content, array.astype(np.float64), data.blobs)
            found = True
    return found


def disturb(data: Data) -> bool:
    """Change the last digits of floating-point numbers. Equal numbers stay equal, and simple fractions as they are."""
    found = False
    for content in list_objects(data.node).values():
        array = read_array(content, data.blobs)
        if array is None or array.dtype.name not in ("float32", "float64") or not array.size:
            continue
        wide = array.astype(np.float64)
        with np.errstate(all="ignore"):
            is_simple = ~np.isfinite(wide) | (wide * 64 == np.round(wide * 64))
            epsilon = 2.0**-44 if array.dtype.name == "float64" else 2.0**-21
            changed = np.where(is_simple, wide, wide * (1 + epsilon * np.sin(1e5 * wide)))
        write_array(content, changed.astype(array.dtype), data.blobs)
        found = True
    return found


def _ask_solutions(choice: _Choice, ask: _Ask, task: PlusTask, read: Callable[[str], Candidate]) -> list[str] | None:
    """Keep the inputs on which solutions and rewrites agree with the reference; return those to review. None if fewer
    than two solutions are usable."""
    ask_usable = partial(_ask_usable, ask=ask, prompt=task.instance.prompt, read=read)
    usable = ask_usable(choice.inputs, task.solutions)
    if len(usable) < 2:
        return None
    review, holds = [], []
    for place, one in enumerate(choice.inputs):
        votes = [answers[place] for answers in usable]
        holds.append(all(agrees for _, agrees in votes))
        against = [answer for answer, agrees in votes if not agrees]
        if len(against) >= 2 and not find_difference(one.data, against[0], against[1], one.slack, task.instance.prompt):
            review.append(str(one.key))
    choice.keep("independent solutions do not agree", holds)
    rewrites = ask_usable(choice.inputs, task.rewrites)
    every = [all(answers[place][1] for answers in rewrites) for place in range(len(choice.inputs))]
    choice.keep("a rewrite of the reference does not agree", every)
    return review


def _ask_usable(
    inputs: Sequence[_Input], codes: Sequence[str], *, ask: _Ask, prompt: str, read: Callable[[str], Candidate]
) -> list[list[tuple[Answer, bool]]]:
    """For each code that is not plainly wrong: its answers, and whether they agree with the reference."""
    usable = []
    for code in codes:
        try:
            answers = _ask_inputs(ask, read(code), inputs)
        except AnswerError:
            continue
        agrees = [
            not find_difference(one.data, one.answer, found, one.slack, prompt)
            for one, found in zip(inputs, answers, strict=True)
        ]
        recorded = [agree for one, agree in zip(inputs, agrees, strict=True) if not one.key.mutator]
        if recorded and sum(recorded) >= _LEAST_AGREEMENT * len(recorded):
            usable.append(list(zip(answers, agrees, strict=True)))
    return usable


def _select(inputs: list[_Input], seconds: float) -> list[_Input]:
    """Some recorded calls, then variations, of which at most a quarter raise; together within the time of the tests."""
    recorded = [one for one in inputs if not one.key.mutator][:_MOST_RECORDED]
    varied = [one for one in inputs if one.key.mutator]
    raising = [one for one in varied if one.answer.parts[0] == "raised"][: int(_MOST_RAISING * _MOST_KEPT)]
    rest = [one for one in varied if one.answer.parts[0] == "returned"]
    chosen = [*recorded, *raising, *rest[: _MOST_KEPT - len(recorded) - len(raising)]]
    kept, total = [], 0.0
    for one in sorted(chosen, key=lambda one: one.answer.seconds):
        total += one.answer.seconds
        if total <= seconds:
            kept.append(one.key.digest)
    return [replace(one, key=replace(one.key, slack=one.slack)) for one in chosen if one.key.digest in kept]
