"""Commands for prompt variants and dual agreement: `agree mutate`, `choose` and `study`, and the technique of `run`."""

import asyncio
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from dlbench import dataset
from dlbench.cli import models
from dlbench.cli.analyze import PlotsOption, StudyOutput
from dlbench.cli.app import (
    BenchmarkOption,
    ExecutionOptions,
    JsonOption,
    MemoryOption,
    WorkerOptions,
    add_group,
    command,
)
from dlbench.cli.engine import judge_into, make_engine, prepare_projects
from dlbench.cli.output import counted, log, print_json
from dlbench.errors import DLBenchError
from dlbench.jsonl import rewrite
from dlbench.registry import find_known
from dlbench.runs import SAMPLES, read_run
from dlbench.runs.verdict import VERDICTS

if TYPE_CHECKING:
    from dlbench.agreement.answers import RequestOptions
    from dlbench.agreement.mutation import Variants
    from dlbench.agreement.study import RunArtifacts
    from dlbench.agreement.variants import Variant
    from dlbench.execution import Engine
    from dlbench.generation import Budget, Model, ModelOptions
    from dlbench.generation.sources import Sources
    from dlbench.scoring import Comparison

DUAL = "dual-agreement"

agree = add_group("agree", "Paraphrase prompts, and select solutions by the votes of a model's own tests.")

RuleOption = Annotated[str, typer.Option(help="dual-agreement: {rules}.")]
RunArgument = Annotated[Path, typer.Argument(help="Folder of a run with --technique dual-agreement.")]
SeedOption = Annotated[int | None, typer.Option(help="Seed of ties and draws (default: the run's own).")]


@command("mutate", agree)
def mutate(
    *,
    instance: Annotated[str, typer.Argument(help="Id of an instance.")],
    operator: Annotated[
        list[str] | None, typer.Option(help="Only this operator (repeatable); `list` shows all operators.")
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="Variants at most, including the original.")] = 8,
    seed: Annotated[int, typer.Option(help="Seed of the operators' order and draws.")] = 0,
    model: Annotated[
        str | None, typer.Option(help="As for `run`; paraphrases where no rule applies (default: none).")
    ] = None,
    model_command: models.CommandOption = None,
    base_url: models.BaseUrlOption = None,
    api_key: models.ApiKeyOption = None,
    budget: models.BudgetOptions,
    benchmark: BenchmarkOption = None,
    json: JsonOption = False,
) -> None:
    """Show the variants of an instance's prompt: what each changes, and what was dropped and why."""
    from dlbench.agreement.mutation import find_operators
    from dlbench.agreement.mutation.base import render_operators
    from dlbench.generation import ModelOptions
    from dlbench.generation.sources import Sources

    if operator == ["list"]:
        typer.echo(render_operators(), nl=False)
        return
    find_operators(operator or [])  # an unknown name is an error before a model starts
    loaded = dataset.load(benchmark)
    found = find_known(instance, loaded.instances, "instance")
    sources = Sources(loaded)
    opening = ModelOptions(base_url, api_key, model_command, concurrency=1)
    name = model or (opening.names(None)[0] if model_command else None)
    opened, limits = None, {}
    if name is not None:
        sources.module(found)  # a missing source is an error before a model starts
        opened = opening.open(name, sources, log)
        limits = {"budget": budget.open(opened, name), "log": log}
        log(f"{opened.name} paraphrases where no rule applies")
    making = _make_variants([found], sources, opened, limits, operators=operator or [], count=count, seed=seed)
    variants = asyncio.run(making)[found.id]
    if json:
        print_json(variants)
    else:
        _print_variants(variants)


async def _make_variants(
    instances: "list[dataset.Instance]",
    sources: "Sources",
    model: "Model | None",
    limits: dict[str, Any],
    advance: Callable[[str], None] = lambda text: None,
    **options: Any,  # noqa: ANN401 - of `gather_variants`
) -> "dict[str, Variants]":
    from dlbench.agreement.mutation import gather_variants
    from dlbench.generation import RateLimiter

    limiter = RateLimiter(model, **limits) if model is not None else None
    found: dict[str, Variants] = {}
    try:
        for one in instances:
            found[one.id] = await gather_variants(one, limiter=limiter, source=sources.module(one), **options)
            advance(f"{one.id}: {len(found[one.id].kept)}")
    finally:
        if model is not None:
            await model.close()
    return found


def _print_variants(variants: "Variants") -> None:
    from dlbench.agreement.mutation import show_difference

    original, *others = variants.kept
    typer.echo(f"--- 0 {original.operator}: {original.function}\n{original.task}\n")
    for variant in others:
        names = "".join(f", {own} as {shown}" for own, shown in variant.parameters.items())
        typer.echo(f"--- {variant.index} {variant.operator}: {variant.function}{names}")
        typer.echo(f"{show_difference(original.task, variant.task)}\n")
    for dropped in variants.dropped:
        typer.echo(f"dropped: {dropped.operator}: {dropped.reason}")
    typer.echo(f"{len(variants.kept)} variants, {len(variants.dropped)} dropped; similarity by {variants.measure}")


@dataclass(frozen=True)
class RunSetup:
    """What a run works on, the model it asks within its limits, and where it writes."""

    benchmark: "dataset.Benchmark"
    instances: "list[dataset.Instance]"
    sources: "Sources"
    engine: "Engine"
    execution: ExecutionOptions
    folder: Path
    seed: int
    opening: "ModelOptions"
    name: str
    model: "Model"
    budget: "Budget"
    retries: int

    @property
    def inner(self) -> Path:
        from dlbench.agreement import FOLDER

        return self.folder / FOLDER


@dataclass(frozen=True)
class DualAgreement:
    """The technique `dual-agreement` of `run`: variants, answers, matrix, selection."""

    PLACE: ClassVar = 0
    variants: Annotated[
        int, typer.Option(min=1, help="dual-agreement: variants of each prompt, including the original.")
    ] = 8
    tests: Annotated[
        int, typer.Option(min=1, max=20, help="dual-agreement: tests to request for each variant; no more are used.")
    ] = 5
    rule: RuleOption = "codet"
    rewrite: Annotated[
        bool, typer.Option("--rewrite", help="dual-agreement: let the model paraphrase too, not only rules.")
    ] = False

    def refuse_for(self, technique: str) -> None:
        """Raise an error for an option that another technique would ignore."""
        if passed := [f"--{one.name}" for one in fields(self) if getattr(self, one.name) != one.default]:
            fix = f"remove it, or pass --technique {DUAL}"
            raise DLBenchError(f"{technique} does not use {', '.join(passed)}", where=passed[0], fix=fix)

    def check(self, samples: int) -> None:
        """Raise an error for invalid options, before any request is paid for."""
        from dlbench.agreement.selection import check_rule

        check_rule(self.rule)
        if samples != 1:
            fix = "leave out --samples; --variants sets how many solutions are requested"
            raise DLBenchError(f"{DUAL} gives one sample per instance, not {samples}", fix=fix)

    def ask_and_choose(self, setup: RunSetup, options: "RequestOptions") -> None:
        """Write one sample per instance, and everything it depends on beside it."""
        from dlbench.agreement import CHOICES, choose_for, list_rows, make_sample, read_choices
        from dlbench.agreement.answers import ANSWERS, read_answers
        from dlbench.agreement.matrix import MATRIX, describe_not_run, fill_matrix
        from dlbench.agreement.study import list_samples
        from dlbench.execution.cross_run import CrossRunPool

        variants = self._find_variants(setup)
        _ask(setup, options, variants)
        known = {instance.id: instance for instance in setup.instances}
        answers = read_answers(setup.inner / ANSWERS, known, variants)
        prepared = prepare_projects(setup.benchmark, setup.instances)
        pool = CrossRunPool(setup.engine, prepared, workers=setup.execution.count, outputs=True)
        rows = list_rows(setup.instances, answers)
        with counted("running solutions on tests", len(rows), every=1.0) as advance:
            matrix = fill_matrix(pool, rows, setup.inner / MATRIX, lambda row: advance(row.instance.id))
        if not_run := describe_not_run(matrix, rows):
            log(f"{not_run}; they count as not passed")
        if (setup.folder / VERDICTS).is_file():
            # a judged choice stays, even if runs lost to harness errors have a result since
            made = read_choices(setup.inner / CHOICES)
            choices = [made[one] for one in known]
        else:
            choices = [choose_for(matrix, one, answers[one], self.rule, setup.seed) for one in known]
        rewrite(setup.inner / CHOICES, map(asdict, choices))
        chosen = (make_sample(one, answers[one.instance], variants[one.instance], setup.model.name) for one in choices)
        rewrite(setup.folder / SAMPLES, chosen)
        # every variant's solution is judged after the choice, for the gain and the study
        if samples := list_samples(answers):
            judge_into(setup.benchmark, samples, setup.inner, setup.engine, setup.execution)

    def _find_variants(self, setup: RunSetup) -> "dict[str, list[Variant]]":
        """Made once: a resumed run asks the same requests. A model that paraphrases shares the run's budget."""
        from dlbench.agreement.variants import VARIANTS, read_variants

        path = setup.inner / VARIANTS
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_file():
            return read_variants(path)
        opened = setup.opening.open(setup.name, setup.sources, log) if self.rewrite else None
        limits = {"budget": setup.budget, "retries": setup.retries}
        options = {"count": self.variants, "seed": setup.seed}
        with counted("making variants", len(setup.instances), every=1.0) as advance:
            found = asyncio.run(_make_variants(setup.instances, setup.sources, opened, limits, advance, **options))
        rewrite(path.with_name("dropped.jsonl"), (asdict(each) for one in found.values() for each in one.dropped))
        rewrite(path, (asdict(variant) for one in found.values() for variant in one.kept))
        return {instance: one.kept for instance, one in found.items()}

    def show_gain(self, benchmark: "dataset.Benchmark", folders: list[Path]) -> None:
        from dlbench.agreement.study import read_artifacts
        from dlbench.reporting.studies.agreement import find_gain

        for folder in folders:
            artifacts = read_artifacts(folder, benchmark)
            _show_gain(find_gain(artifacts, read_run(folder), benchmark, (self.rule,)), artifacts, StudyOutput())


def _ask(setup: RunSetup, options: "RequestOptions", variants: "dict[str, list[Variant]]") -> None:
    from dlbench.agreement.answers import ANSWERS, make_request
    from dlbench.generation import generate

    total = sum(2 * len(variants[instance.id]) for instance in setup.instances)
    with counted(f"asking {setup.model.name}", total) as advance:
        generate(
            setup.model,
            setup.instances,
            lambda instance, sample: make_request(
                instance, setup.sources.module(instance), variants[instance.id], sample, options
            ),
            setup.inner / ANSWERS,
            lambda instance: 2 * len(variants[instance.id]),
            setup.opening.concurrency,
            lambda record: advance(f"{record['instance']} {record['operator']}: {record['asks_for']}"),
            budget=setup.budget,
            retries=setup.retries,
            log=log,
            on_kept=advance.keep,
        )


def _show_gain(found: "Comparison", artifacts: "RunArtifacts", output: StudyOutput) -> None:
    from dlbench.reporting.studies.agreement import describe_cost, describe_not_counted, tabulate_gain

    notes = [describe_not_counted(found), describe_cost(artifacts)]
    title = f"gain from agreement, on {len(found.instances)} instances"
    output.show({title: tabulate_gain(found)}, [note for note in notes if note], found)


@command("choose", agree)
def choose(
    run: RunArgument,
    benchmark: BenchmarkOption = None,
    rule: RuleOption = "codet",
    seed: SeedOption = None,
    json: JsonOption = False,
) -> None:
    """Select again from the kept matrix by another rule or seed, and show what it would have gained."""
    from dlbench.agreement.selection import RULES, check_rule
    from dlbench.agreement.study import read_artifacts
    from dlbench.reporting.studies.agreement import find_gain

    check_rule(rule)
    loaded = dataset.load(benchmark)
    artifacts = read_artifacts(run, loaded)
    rules = (rule, *(name for name in RULES if name not in {rule, "random"}))
    found = find_gain(artifacts, read_run(run), loaded, rules, seed)
    _show_gain(found, artifacts, StudyOutput(json=json))


@command("study", agree)
def study(
    run: RunArgument,
    workers: WorkerOptions,
    benchmark: BenchmarkOption = None,
    quality: Annotated[
        bool, typer.Option("--quality", help="Also run the model's tests on the reference and mutants of it.")
    ] = False,
    mutants: Annotated[int, typer.Option(min=1, help="Mutants of each reference, for --quality.")] = 5,
    seed: SeedOption = None,
    plots: PlotsOption = None,
    memory: MemoryOption = 4096,
    json: JsonOption = False,
) -> None:
    """Measure how sensitive a model is to paraphrases, by operator and instance, and what agreement gains."""
    from dlbench.agreement import FOLDER
    from dlbench.agreement.study import QUALITY, measure_quality, read_artifacts
    from dlbench.execution.cross_run import CrossRunPool
    from dlbench.reporting.studies.agreement import describe_flips, study_artifacts, tabulate_quality

    loaded = dataset.load(benchmark)
    artifacts = read_artifacts(run, loaded)
    studied = study_artifacts(artifacts, read_run(run), loaded, seed)
    tables = dict(studied.tables)
    record = {name: getattr(studied, name) for name in ("gain", "operators", "consistency", "effects")}
    notes = [studied.fault] if studied.fault else []
    if quality:
        instances = [loaded.instances[one] for one in artifacts.choices]
        engine = make_engine(workers, None, memory)
        pool = CrossRunPool(engine, prepare_projects(loaded, instances), workers=workers.count)
        with counted("running tests on references and mutants", len(instances) * (1 + mutants), every=1.0) as advance:
            path = run / FOLDER / QUALITY
            found = measure_quality(
                pool, instances, artifacts.answers, path, mutants, lambda row: advance(row.instance.id)
            )
        record["quality"] = found
        tables["the model's own tests"] = tabulate_quality(found)
        notes += [f"NOT COUNTED: {found.not_run}"] if found.not_run else []
    notes += describe_flips(studied.consistency)
    StudyOutput(plots, json).show(tables, notes, record, studied.plots)
