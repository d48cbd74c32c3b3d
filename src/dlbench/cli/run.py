"""The commands that ask a model: `run` evaluates its answers, `prompt` shows what it would be sent."""

import asyncio
import hashlib
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dlbench import __version__, dataset
from dlbench.cli import models
from dlbench.cli.agree import DUAL, DualAgreement, RunSetup
from dlbench.cli.app import BenchmarkOption, Chosen, JudgingOptions, TrackOption, command
from dlbench.cli.engine import judge_into, judging, make_judging_engine, make_pool, prepare_projects
from dlbench.cli.output import Progress, counted, log
from dlbench.cli.report import show_scores
from dlbench.cli.run_tasks import RunPlan, build_task_prompt, plan_tasks, refuse_for_tasks
from dlbench.dataset.labels import Track
from dlbench.errors import DLBenchError
from dlbench.jsonl import Journal
from dlbench.registry import find_known
from dlbench.runs import SAMPLES, open_run
from dlbench.runs.verdict import Verdict

if TYPE_CHECKING:
    from dlbench.dataset.tracks import TrackBenchmark, TrackInstance
    from dlbench.execution.evaluate import Evaluation
    from dlbench.generation.sources import PromptBuilder
    from dlbench.runs.samples import Sample

CanaryOption = Annotated[
    bool, typer.Option("--canary", help="Add the benchmark's canary to each prompt, so that copies can be found.")
]
ShotsOption = Annotated[int | None, typer.Option(min=1, help="Examples in a few-shot prompt (default: 3).")]
PredictedStagesOption = Annotated[
    Path | None,
    typer.Option(
        help="For few-shot-predicted-stage: a classifier's predictions (`analyze stage evaluate` writes them)."
    ),
]
PromptTokensOption = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Limit on prompt tokens, estimated as characters/4; context is cut to fit. 0: no limit. Default: 6000 for "
        "functions, 24000 for tasks of many files.",
    ),
]
FUNCTION_TOKENS = 6000


@command("run")
def run(
    *,
    chosen: Chosen,
    track: TrackOption = Track.FUNCTION,
    execution: JudgingOptions,
    model: Annotated[
        list[str] | None,
        typer.Option(help="{models}; or mutant: the reference with one change (repeatable). Default: embedded."),
    ] = None,
    model_command: models.CommandOption = None,
    out: Annotated[Path, typer.Option(help="Run folder; with several models, it holds one folder for each.")] = Path(
        "runs/latest"
    ),
    base_url: models.BaseUrlOption = None,
    api_key: models.ApiKeyOption = None,
    samples: Annotated[
        int, typer.Option("--samples", "-n", min=1, help="Samples per instance; a higher number extends a run.")
    ] = 1,
    sampling: models.SamplingOptions,
    technique: Annotated[
        str,
        typer.Option(
            help="Prompting technique: {techniques}; or dual-agreement: several wordings, and the model's own tests "
            "choose (docs/agreement.md)."
        ),
    ] = "zero-shot",
    repair_rounds: Annotated[
        int | None, typer.Option(min=1, help="repair: how often at most a failed answer is tried again (default: 1).")
    ] = None,
    shots: ShotsOption = None,
    dual: DualAgreement,
    predicted_stages: PredictedStagesOption = None,
    prompt_tokens: PromptTokensOption = None,
    seed: Annotated[int, typer.Option(help="Seed of the choice of examples and of the seeds of all samples.")] = 0,
    concurrency: Annotated[int, typer.Option(min=1, help="Requests in flight.")] = 4,
    reasoning: Annotated[
        bool, typer.Option("--reasoning", help="Omit the temperature, which reasoning models reject.")
    ] = False,
    stream: Annotated[
        bool, typer.Option("--stream", help="Stream answers, so that a long answer is not mistaken for a hang.")
    ] = False,
    request_timeout: models.RequestTimeoutOption = 900.0,
    retries: models.RetriesOption = 6,
    budget: models.BudgetOptions,
    canary: CanaryOption = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the embedded model; 0: any free one.")] = 0,
) -> None:
    """Evaluate a model on the chosen instances, each answer as it arrives; print pass@1 overall and by label."""
    import dlbench.validation.mutant_model  # noqa: F401 - registers `mutant`
    from dlbench.agreement.answers import RequestOptions
    from dlbench.dataset.validation import name_records
    from dlbench.generation import ModelOptions, generate
    from dlbench.generation.sources import Sources, make_prompt_builder
    from dlbench.runs.samples import read_samples

    options = ModelOptions(
        base_url,
        api_key,
        model_command,
        request_timeout,
        stream,
        reasoning,
        concurrency,
        port,
        sampling.top_p,
        sampling.reasoning_effort,
        sampling.read_extra_body(),
        sampling.read_headers(),
    )
    names = options.names(model)
    is_dual = technique == DUAL
    if is_dual:
        dual.check(samples)
    else:
        dual.refuse_for(technique)
    if track is Track.OPTIMISE:
        chosen = chosen.on_functions(track)
    sources = Sources(chosen.benchmark, log)
    if track in (Track.FUNCTION, Track.OPTIMISE):
        tokens = FUNCTION_TOKENS if prompt_tokens is None else prompt_tokens
        plain = "zero-shot" if is_dual else technique
        prompts = make_prompt_builder(sources, plain, shots or 3, seed, tokens, canary=canary, stages=predicted_stages)
        _refuse_shots(prompts, shots)
        plan = _plan_functions(chosen, execution, prompts, repair_rounds)
        stages = hashlib.sha256(predicted_stages.read_bytes()).hexdigest() if predicted_stages else None
        plan.facts.update(predicted_stages=stages, technique=technique)
    else:
        passed = {"technique": technique != "zero-shot", "repair_rounds": repair_rounds, "shots": shots}
        refuse_for_tasks(execution, **passed, predicted_stages=predicted_stages, model_mutant="mutant" in names)
        plan, baselines = plan_tasks(chosen, track, execution, prompt_tokens, samples, canary=canary)
        options = replace(options, written=baselines)
    benchmark, instances = plan.benchmark, plan.instances
    folders = [out if len(names) == 1 else out / name.replace("/", "_") for name in names]
    for name, folder in zip(names, folders, strict=True):
        client = options.open(name, sources, log)
        opened = budget.open(client, name)
        temperature, max_tokens = sampling.temperature, sampling.max_tokens or client.max_tokens
        config = {
            "dlbench": __version__,
            "benchmark": name_records(chosen.benchmark),
            "model": client.name if name != "embedded" else name,
            **plan.facts,
            "samples": samples,
            **client.describe_sampling(temperature, max_tokens),
            **sampling.describe(),
            "seed": seed,
            "timeout": execution.timeout,
            "memory": execution.memory,
            "canary": canary,
            "date": datetime.now(UTC).date().isoformat(),
            "endpoint": client.address or None,
            "split": chosen.split,
            "instances": [instance.id for instance in instances],
        }
        open_run(folder, config | (asdict(dual) if is_dual else {}))
        if is_dual:
            mark = chosen.benchmark.canary if canary else ""
            asked = RequestOptions(dual.tests, temperature, max_tokens, seed, plan.facts["prompt_tokens"], mark)
            setup = RunSetup(
                chosen.benchmark,
                chosen.instances,
                sources,
                plan.engine,
                execution,
                folder,
                seed,
                options,
                name,
                client,
                opened,
                retries,
            )
            dual.ask_and_choose(setup, asked)
            judge_into(chosen.benchmark, read_samples(folder / SAMPLES, benchmark), folder, plan.engine, execution)
        else:
            kept, total = _read_kept(folder / SAMPLES, benchmark), len(instances) * samples
            with (
                counted(f"asking {client.name}", total) as advance,
                judging(benchmark, plan.open_judge, kept, folder, total) as evaluation,
            ):
                review = {"judge": partial(_review, evaluation)} if plan.facts.get("repair_rounds") else {}
                generate(
                    client,
                    instances,
                    partial(plan.request, temperature=temperature, max_tokens=max_tokens, seed=seed, **review),
                    folder / SAMPLES,
                    samples,
                    concurrency,
                    partial(_judge_new, benchmark, evaluation, advance),
                    budget=opened,
                    retries=retries,
                    log=log,
                    on_kept=advance.keep,
                )
                evaluation.finish(read_samples(folder / SAMPLES, benchmark))
    show_scores(folders, out / "report.md", chosen.benchmark)
    if is_dual:
        dual.show_gain(chosen.benchmark, folders)


def _plan_functions(
    chosen: Chosen, execution: JudgingOptions, prompts: "PromptBuilder", repair_rounds: int | None
) -> RunPlan:
    from dlbench.dataset.optimise import describe_track
    from dlbench.execution.sample_judge import SampleJudge
    from dlbench.generation.sources import describe_shortage

    benchmark, instances = chosen.benchmark, chosen.instances
    costs = benchmark.root if benchmark.track is Track.OPTIMISE else None
    engine = make_judging_engine(execution, benchmark.root if execution.plus else None, costs)
    technique = prompts.technique
    if repair_rounds is not None and technique.feedback is None:
        fix = "remove it, or pass --technique repair"
        raise DLBenchError(f"{technique.name} does not use --repair-rounds", where="--repair-rounds", fix=fix)
    rounds = (repair_rounds or 1) if technique.feedback is not None else 0
    prepared = prepare_projects(benchmark, instances)
    # All prompts are built before the first request: an error in one of them must not cost anything.
    if shortage := describe_shortage([prompts.build(instance) for instance in instances], prompts.shots):
        log(shortage)
    facts: dict[str, Any] = {
        "shots": prompts.shots if technique.uses_examples else 0,
        "prompt_tokens": prompts.tokens,
        **execution.describe(),
        **({"repair_rounds": rounds} if rounds else {}),
        **(describe_track(costs) if costs else {}),
    }
    request = partial(prompts.request, rounds=rounds)
    pool = make_pool(engine, prepared, execution)
    return RunPlan(benchmark, instances, engine, request, lambda: SampleJudge(pool), facts)


def _refuse_shots(prompts: "PromptBuilder", shots: int | None) -> None:
    if shots is not None and not prompts.technique.uses_examples:
        what, fix = f"{prompts.technique.name} does not use --shots", "remove it, or pass a few-shot --technique"
        raise DLBenchError(what, where="--shots", fix=fix)


def _read_kept(path: Path, benchmark: "TrackBenchmark") -> "list[Sample]":
    from dlbench.runs.samples import parse_samples

    with Journal(path) as journal:  # drops a line that a kill cut short
        records = journal.records()
    return parse_samples(enumerate(records, 1), str(path), benchmark) if records else []


async def _review(evaluation: "Evaluation", sample: "Sample") -> Verdict:
    return await asyncio.wrap_future(evaluation.review(sample))


def _judge_new(
    benchmark: "TrackBenchmark", evaluation: "Evaluation", advance: Progress, record: dict[str, Any]
) -> None:
    from dlbench.runs.samples import parse_samples

    advance(f"{record['instance']} ({record['finish_reason']})")
    for sample in parse_samples([(1, record)], SAMPLES, benchmark):
        evaluation.add(sample)


@command("prompt")
def prompt(
    instance: Annotated[str, typer.Argument(help="Id of an instance.")],
    benchmark: BenchmarkOption = None,
    technique: Annotated[str, typer.Option(help="Prompting technique: {techniques}.")] = "zero-shot",
    shots: ShotsOption = None,
    predicted_stages: PredictedStagesOption = None,
    prompt_tokens: PromptTokensOption = None,
    seed: Annotated[int, typer.Option(help="Seed of the choice of examples, as for `run`.")] = 0,
    canary: CanaryOption = False,
    track: Annotated[Track, typer.Option(help="optimise: how to ask for a faster function.")] = Track.FUNCTION,
) -> None:
    """Show exactly what a model would be sent, in all turns."""
    from dlbench.dataset.tracks import read_tasks
    from dlbench.generation.sources import Sources, make_prompt_builder

    if technique == DUAL:
        fix = f"`dlbench agree mutate {instance}` shows its wordings, each of which is sent as zero-shot"
        raise DLBenchError(f"{DUAL} has many prompts, not one", where="--technique", fix=fix)
    loaded = Chosen(benchmark).benchmark
    if track is Track.OPTIMISE:
        loaded = Chosen(benchmark).on_functions(track).benchmark
    tasks = read_tasks(loaded.root)
    known: dict[str, TrackInstance] = {**loaded.instances, **tasks}
    found = find_known(instance, known, "instance")
    kind = loaded.track if isinstance(found, dataset.Instance) else found.track
    if track not in (Track.FUNCTION, kind):
        raise DLBenchError(f"{instance} is a {kind} task", where=f"--track {track}", fix="leave it out")
    if isinstance(found, dataset.Instance):
        tokens = FUNCTION_TOKENS if prompt_tokens is None else prompt_tokens
        prompts = make_prompt_builder(
            Sources(loaded, log), technique, shots or 3, seed, tokens, canary=canary, stages=predicted_stages
        )
        _refuse_shots(prompts, shots)
        conversation = prompts.build(found)
    else:
        refuse_for_tasks(technique=technique != "zero-shot", predicted_stages=predicted_stages, shots=shots)
        conversation = build_task_prompt(loaded, found, prompt_tokens, canary=canary)
    for number, turn in enumerate(conversation.turns):
        if number:
            typer.echo(f"--- assistant\n(the model's answer to turn {number})\n")
        for message in turn:
            typer.echo(f"--- {message['role']}\n{message['content']}\n")
    for name, value in conversation.notes.items():
        log(f"{name}: {(', '.join(map(str, value)) or 'none') if isinstance(value, list) else value}")
