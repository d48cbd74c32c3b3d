"""What `run`, `evaluate` and `prompt` do for tasks of many files, each written in one answer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from dlbench import dataset
from dlbench.cli.app import Chosen, ExecutionOptions
from dlbench.cli.engine import make_judging_engine
from dlbench.cli.task import open_records
from dlbench.dataset.labels import Track
from dlbench.errors import DLBenchError

if TYPE_CHECKING:
    from dlbench.dataset.file_task import FileTask
    from dlbench.dataset.tracks import TrackBenchmark, TrackInstance
    from dlbench.execution import Engine
    from dlbench.execution.evaluate import AnswerJudge
    from dlbench.execution.file_task import OpenTask
    from dlbench.generation.model import Request
    from dlbench.generation.techniques import Conversation


@dataclass(frozen=True)
class RunPlan:
    """What a run does with any model."""

    benchmark: "TrackBenchmark"
    instances: "Sequence[TrackInstance]"
    engine: "Engine"
    request: "Callable[..., Request]"
    """Of an instance and the number of a sample."""
    open_judge: "Callable[[], AnswerJudge]"
    facts: dict[str, Any]
    """Its part of the run's configuration."""


def plan_tasks(
    chosen: Chosen, track: Track, execution: ExecutionOptions, tokens: int | None, samples: int, *, canary: bool
) -> "tuple[RunPlan, dict[str, Callable[[str], str]]]":
    """The plan, and what gives the answers of the baselines."""
    from dlbench.execution.file_judge import write_answer
    from dlbench.execution.task_prompt import TOKENS, TaskPrompts
    from dlbench.generation.sources import find_canary

    engine = make_judging_engine(execution)
    benchmark = chosen.open_track(track)
    tasks = {one.record.id: one for one in open_records(benchmark)}
    records = [one.record for one in tasks.values()]
    prompts = TaskPrompts(tasks, TOKENS if tokens is None else tokens, find_canary(benchmark) if canary else "")
    for record in records:  # an error in a prompt must not cost anything
        prompts.build(record)
    facts = {"track": str(track), "technique": "zero-shot", "prompt_tokens": prompts.tokens}
    open_judge = plan_judge(engine, tasks, execution.count, len(records) * samples)
    return RunPlan(benchmark, records, engine, prompts.request, open_judge, facts), {
        "reference": lambda name: write_answer(tasks[name], solved=True),
        "stub": lambda name: write_answer(tasks[name], solved=False),
    }


def plan_judge(
    engine: "Engine", tasks: "dict[str, OpenTask]", workers: int, answers: int
) -> "Callable[[], AnswerJudge]":
    """Where answers are fewer than workers, the tests of each are split."""
    from dlbench.execution.file_judge import FileJudge

    at_once = max(1, min(workers, answers))
    return partial(FileJudge, engine, tasks, at_once, workers // at_once)


def build_task_prompt(
    benchmark: "dataset.Benchmark", record: "FileTask", tokens: int | None, *, canary: bool
) -> "Conversation":
    from dlbench.dataset.tracks import open_track
    from dlbench.execution.task_prompt import TOKENS, build_prompt
    from dlbench.generation.sources import find_canary

    opened = replace(open_track(benchmark, record.track), instances={record.id: record})
    (task,) = open_records(opened)
    return build_prompt(task, TOKENS if tokens is None else tokens, find_canary(benchmark) if canary else "")


def refuse_for_tasks(execution: ExecutionOptions | None = None, **options: object) -> None:
    """Refuse what only functions have. `options`: further ones, by name, with a value if they were passed."""
    used = execution or ExecutionOptions()
    passed = {"mode": used.mode != "auto", "executor": used.executor != "local", **options}
    for name in (name for name, value in passed.items() if value):
        shown = "--model mutant" if name == "model_mutant" else f"--{name.replace('_', '-')}"
        raise DLBenchError(f"{shown} is for functions", where="--track", fix="leave it out")
