"""What does inspect ask? Exactly what `dlbench run` asks with the same options, and as hot and as long as it does.

The reference is never part of it: a log is a file that people pass on, and it would hold the projects' own code.

Who judges for inspect, while it asks models at its own pace?

One desk for every set of limits, opened with the first answer and kept until the process ends: tasks, epochs and models
of one evaluation share its warm workers. Where none was opened, nothing was started.

How does inspect ask what a technique wants asked?

A technique has one turn or several; the first is the sample's input, and the others stand in its metadata. `baseline`
asks nobody: it gives the best and the worst answer, to see that a set-up scores them 1 and 0.

What is an answer worth to inspect?

1 when every test passed and 0 otherwise, by the verdict that `dlbench evaluate` would give, which stands whole in the
score's metadata: status, an outcome for every test, what went wrong. What was our own fault counts as 0, as in all our
scores, but never in silence: it is told in the log's messages and by the score's reason.
"""

import atexit
import os
from dataclasses import dataclass
from functools import cache
from logging import getLogger
from pathlib import Path
from threading import Lock

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from inspect_ai import Epochs, Task, task
from inspect_ai.dataset import MemoryDataset
from inspect_ai.dataset import Sample as InspectSample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    ModelOutput,
)
from inspect_ai.scorer import Score, Scorer, Target, accuracy, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver

from dlbench import __version__
from dlbench.dataset import Benchmark, Instance, Selection, load, select
from dlbench.errors import DLBenchError
from dlbench.execution import Engine, Limits, choose_sandbox
from dlbench.execution.evaluate import Judge
from dlbench.execution.pool import MODES, Pool
from dlbench.generation import Message, ReferenceModel, Request, StubModel
from dlbench.generation.sources import Sources, make_prompt_builder
from dlbench.generation.techniques import PromptBuilder
from dlbench.registry import find_known
from dlbench.runs.samples import Sample
from dlbench.runs.verdict import Outcome, Status, Verdict
from dlbench.scoring.summary import KS
from dlbench.workspace import Prepared, prepare
from dlbench.workspace.home import Log, quiet


@dataclass(frozen=True)
class JudgeSettings:
    """As the options of `dlbench evaluate`; no benchmark is ours, and no number of workers is that of the cores."""

    benchmark: str | None = None
    sandbox: str = "auto"
    mode: str = "auto"
    timeout: float = 60.0
    memory: int = 4096
    workers: int | None = None


@cache
def read_benchmark(root: str | None) -> Benchmark:
    return load(Path(root) if root else None)


class InspectJudge:
    def __init__(self, terms: JudgeSettings) -> None:
        if terms.mode not in MODES:
            raise DLBenchError(f"there is no mode {terms.mode!r}", fix=f"use one of: {', '.join(MODES)}")
        self.benchmark = read_benchmark(terms.benchmark)
        self._prepared: dict[str, Prepared] = {}
        engine = Engine(choose_sandbox(terms.sandbox), Limits(test_seconds=terms.timeout, memory_mb=terms.memory))
        self._pool = Pool(engine, self._prepared, workers=terms.workers or os.cpu_count() or 1, mode=terms.mode)
        self._desk: Judge | None = None
        self._lock = Lock()

    def prepare(self, project: str, log: Log = quiet) -> None:
        if project not in self._prepared:
            self._prepared[project] = prepare(self.benchmark.projects[project], self.benchmark.root, log)

    def judge(self, sample: Sample) -> Verdict:
        instance = find_known(sample.instance, self.benchmark.instances, "instance")
        with self._lock:
            self.prepare(instance.project)
            if self._desk is None:
                self._desk = Judge(self._pool)
            desk = self._desk
        return desk.judge(sample, instance)

    def close(self) -> None:
        """Who asks again gets new workers."""
        with self._lock:
            desk, self._desk = self._desk, None
        if desk is not None:
            desk.close()


_judges: dict[JudgeSettings, InspectJudge] = {}


def find_judge(terms: JudgeSettings) -> InspectJudge:
    if terms not in _judges:
        _judges[terms] = InspectJudge(terms)
    return _judges[terms]


@atexit.register
def close_judges() -> None:
    for judge in _judges.values():
        judge.close()


LATER_TURNS = "later_turns"


def as_chat(messages: list[Message]) -> list[ChatMessage]:
    kinds: dict[str, type[ChatMessage]] = {
        "system": ChatMessageSystem,
        "user": ChatMessageUser,
        "assistant": ChatMessageAssistant,
    }
    return [kinds[message["role"]](content=message["content"]) for message in messages]


@solver
def converse() -> Solver:
    """Asks every turn after the answer to the one before; the last answer counts."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state = await generate(state)
        for turn in state.metadata.get(LATER_TURNS, []):
            if state.output.stop_reason == "model_length":  # what was too long once is not tried with more
                break
            state.messages.extend(as_chat(turn))
            state = await generate(state)
        return state

    return solve


@solver
def baseline(name: str = "reference", benchmark: str | None = None) -> Solver:
    """Answers with the project's own code (`reference`) or with a function that does nothing (`stub`)."""
    sources = Sources(read_benchmark(benchmark))
    models = {"reference": ReferenceModel(sources.reference), "stub": StubModel(sources.signature)}
    if name not in models:
        raise DLBenchError(f"there is no baseline {name!r}", fix=f"use one of: {', '.join(models)}")

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        answer = await models[name].answer(Request(str(state.sample_id), state.epoch - 1, []))
        state.output = ModelOutput.from_content(model=name, content=answer.text)
        state.messages.append(state.output.message)
        return state

    return solve


CUT = ("max_tokens", "model_length")
"""Reasons to stop that mean: the answer is not whole."""

_log = getLogger(__name__)


@scorer(metrics=[accuracy(), stderr()])
def verdict(
    benchmark: str | None = None,
    sandbox: str = "auto",
    mode: str = "auto",
    timeout: float = 60.0,
    memory: int = 4096,
    workers: int | None = None,
) -> Scorer:
    """Judges by the project's own tests, confined, in warm workers. The options are those of `dlbench evaluate`."""
    terms = JudgeSettings(benchmark, sandbox, mode, timeout, memory, workers)

    async def score(state: TaskState, target: Target) -> Score:
        output = state.output
        sample = Sample(
            str(state.sample_id), state.epoch - 1, output.completion, is_truncated=output.stop_reason in CUT
        )
        # a limiter of its own, since the shared one is for short calls and a verdict can take a minute
        found = await run_sync(find_judge(terms).judge, sample, limiter=CapacityLimiter(1), abandon_on_cancel=True)
        if found.status is Status.HARNESS_ERROR:
            _log.warning("harness error, counted as not passed: %s: %s", found.instance, found.message)
        return as_score(found, output.completion)

    return score


def as_score(found: Verdict, answer: str) -> Score:
    passed = sum(outcome is Outcome.PASSED for outcome in found.tests.values())
    told = f"{found.status}, {passed} of {len(found.tests)} tests passed"
    return Score(
        value=1.0 if found.passed else 0.0,
        answer=answer,
        explanation=f"{told}\n{found.message}" if found.message else told,
        reason=str(found.status) if found.status is Status.HARNESS_ERROR else None,
        metadata=found.as_record(),
    )


@task
def dl_bench(
    split: str = "full",
    technique: str = "zero-shot",
    samples: int = 1,
    shots: int = 3,
    prompt_tokens: int = 6000,
    seed: int = 0,
    canary: bool = False,
    benchmark: str | None = None,
    sandbox: str = "auto",
    mode: str = "auto",
    timeout: float = 60.0,
    memory: int = 4096,
    workers: int | None = None,
) -> Task:
    """One function of a real deep-learning project at a time, judged by the project's own tests.

    Options as those of `dlbench run`; `samples` becomes epochs, and with more than one pass@k is told too.
    """
    if samples < 1:
        raise DLBenchError("there must be a sample at least", fix="give -T samples=1 or more")
    judge = find_judge(JudgeSettings(benchmark, sandbox, mode, timeout, memory, workers))
    whole = judge.benchmark
    chosen = select(whole, Selection(split=split))
    for project in dict.fromkeys(instance.project for instance in chosen):
        judge.prepare(project, print)
    prompts = make_prompt_builder(Sources(whole), technique, shots, seed, prompt_tokens, canary=canary)
    return Task(
        dataset=MemoryDataset([make_sample(instance, prompts) for instance in chosen], name=f"dlbench {split}"),
        solver=converse(),
        scorer=verdict(benchmark, sandbox, mode, timeout, memory, workers),
        epochs=Epochs(samples, ["mean", *(f"pass_at_{k}" for k in KS if 1 < k <= samples)]),
        config=GenerateConfig(temperature=0.0, max_tokens=1024),
        version=str(whole.version),
        metadata={"dlbench": __version__, "benchmark": str(whole.version)},
    )


def make_sample(instance: Instance, prompts: PromptBuilder) -> InspectSample:
    conversation = prompts.build(instance)
    first, *later = conversation.turns
    facts = {"project": instance.project} | {axis: str(label) for axis, label in instance.labels.model_dump().items()}
    notes = dict(conversation.notes) | ({LATER_TURNS: later} if later else {})
    return InspectSample(id=instance.id, input=as_chat(first), metadata=facts | notes)
