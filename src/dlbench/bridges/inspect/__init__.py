"""The inspect task: the prompts of `dlbench run`, solvers for conversations and baselines, and our judge as scorer.

Inspect's entry point loads this module. The reference is never part of a task, since logs are passed on and would
contain the projects' own code. Tasks, epochs and models share one judge per set of limits.
"""

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset
from inspect_ai.dataset import Sample as InspectSample
from inspect_ai.model import ChatMessage, GenerateConfig, ModelOutput
from inspect_ai.scorer import Score, Scorer, Target, accuracy, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver
from pydantic import TypeAdapter

from dlbench import __version__
from dlbench.bridges.inspect.agents import dl_bench_components
from dlbench.bridges.inspect.scores import as_score, make_epochs, warn_of_fault
from dlbench.bridges.shared import find_judge, read_benchmark
from dlbench.dataset import Instance, Selection, select
from dlbench.errors import DLBenchError
from dlbench.generation import Message, Model, ReferenceModel, Request, StubModel
from dlbench.generation.sources import PromptBuilder, Sources, make_prompt_builder
from dlbench.runs.samples import Sample
from dlbench.runs.verdict import Verdict

__all__ = ["as_score", "baseline", "converse", "dl_bench", "dl_bench_components", "verdict"]


LATER_TURNS = "later_turns"
_CHAT = TypeAdapter(list[ChatMessage])


def as_chat(messages: list[Message]) -> list[ChatMessage]:
    return _CHAT.validate_python(messages)


@solver
def converse() -> Solver:
    """Sends each turn after the answer to the previous one; the last answer counts."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state = await generate(state)
        for turn in state.metadata.get(LATER_TURNS, []):
            if state.output.stop_reason == "model_length":  # a longer conversation would not fit either
                break
            state.messages.extend(as_chat(turn))
            state = await generate(state)
        return state

    return solve


@solver
def baseline(name: str = "reference", benchmark: str | None = None) -> Solver:
    """Answers with the project's own code (`reference`) or with a function that raises (`stub`), without a model."""
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
"""Stop reasons of an incomplete answer."""


@scorer(metrics=[accuracy(), stderr()])
def verdict(
    benchmark: str | None = None,
    sandbox: str = "auto",
    mode: str = "auto",
    timeout: float = 60.0,
    memory: int = 4096,
    workers: int | None = None,
) -> Scorer:
    """Runs the project's own tests, sandboxed, in warm workers. The options are those of `dlbench evaluate`."""
    options = {"sandbox": sandbox, "mode": mode, "timeout": timeout, "memory": memory, "workers": workers}

    def judge(sample: Sample) -> Verdict:
        return find_judge(benchmark, cached=0, **options).submit(sample).result()

    async def score(state: TaskState, target: Target) -> Score:
        output = state.output
        is_cut = output.stop_reason in CUT
        sample = Sample(str(state.sample_id), state.epoch - 1, output.completion, is_truncated=is_cut)
        # its own limiter: the shared one is for short calls, and a verdict can take a minute
        found = await run_sync(judge, sample, limiter=CapacityLimiter(1), abandon_on_cancel=True)
        warn_of_fault(found)
        return as_score(found, output.completion)

    return score


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

    Options as those of `dlbench run`; `samples` becomes epochs, and more than one adds pass@k.
    """
    epochs = make_epochs(samples)
    options = {"sandbox": sandbox, "mode": mode, "timeout": timeout, "memory": memory, "workers": workers}
    judge = find_judge(benchmark, cached=0, **options)
    whole = judge.benchmark
    chosen = select(whole, Selection(split=split))
    judge.prepare(*dict.fromkeys(instance.project for instance in chosen))
    prompts = make_prompt_builder(Sources(whole), technique, shots, seed, prompt_tokens, canary=canary)
    if prompts.technique.feedback is not None:
        fix = "use `dlbench run`, or another technique"
        raise DLBenchError(f"{technique} needs verdicts between the answers, which Inspect does not give", fix=fix)
    return Task(
        dataset=MemoryDataset([make_sample(instance, prompts) for instance in chosen], name=f"dlbench {split}"),
        solver=converse(),
        scorer=verdict(benchmark, sandbox, mode, timeout, memory, workers),
        epochs=epochs,
        config=GenerateConfig(temperature=0.0, max_tokens=Model.max_tokens),
        version=str(whole.version),
        metadata={"dlbench": __version__, "benchmark": str(whole.version)},
    )


def make_sample(instance: Instance, prompts: PromptBuilder) -> InspectSample:
    conversation = prompts.build(instance)
    first, *later = conversation.turns
    facts = {"project": instance.project} | {axis: str(label) for axis, label in instance.labels.model_dump().items()}
    notes = dict(conversation.notes) | ({LATER_TURNS: later} if later else {})
    return InspectSample(id=instance.id, input=as_chat(first), metadata=facts | notes)
