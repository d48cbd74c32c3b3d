"""The commands that ask the same in other words and let solutions and tests vote.

The command that shows the variants of a prompt: each with what was changed, and what was dropped and why.

How `run --technique dual-agreement` asks and chooses: variants, answers, matrix, choice; then what it gave.

The commands that look at a run with agreement: `agree choose` and `agree study`. Nothing is asked again.
"""

import asyncio
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dlbench.cli.analyze import PicturesOption, show, write_pictures
from dlbench.cli.app import (
    CORES,
    BenchmarkOption,
    ExecutorOption,
    JsonOption,
    MemoryOption,
    RayAddressOption,
    SandboxOption,
    SeatsOption,
    app,
    command,
)
from dlbench.cli.engine import Where
from dlbench.cli.models import (
    ApiKeyOption,
    BaseUrlOption,
    CommandOption,
    MaxCostOption,
    MaxRequestsOption,
    MaxTokensTotalOption,
    Opening,
    PricesOption,
    make_budget,
)
from dlbench.errors import DLBenchError

if TYPE_CHECKING:
    from dlbench.agreement.mutation import Variants
    from dlbench.agreement.requests import RequestOptions
    from dlbench.agreement.solutions import Answers
    from dlbench.agreement.study import Quality, RunArtifacts
    from dlbench.agreement.variants import Variant
    from dlbench.dataset import Benchmark, Instance
    from dlbench.execution import Engine
    from dlbench.generation import Budget, Limits, Model
    from dlbench.generation.sources import Sources
    from dlbench.scoring import Comparison


agree = typer.Typer(
    help="Ask the same in other words, and let solutions and tests vote.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(agree, name="agree")


OperatorOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Only this operator (repeatable): verbs, synonyms, upper-case, typos, passive, questions, declarative, "
        "reorder, rephrase, name-descriptive, name-neutral, name-misleading or parameter-names."
    ),
]


@command("mutate", agree)
def mutate(
    instance: Annotated[str, typer.Argument(help="Id of an instance.")],
    operator: OperatorOption = None,
    count: Annotated[int, typer.Option(min=1, help="Variants at most, the original among them.")] = 8,
    seed: Annotated[int, typer.Option(help="Of the operators' order and of all they draw.")] = 0,
    model: Annotated[
        str | None, typer.Option(help="As for `run`; asked where no rule helps. None is asked by default.")
    ] = None,
    model_command: CommandOption = None,
    base_url: BaseUrlOption = None,
    api_key: ApiKeyOption = None,
    max_requests: MaxRequestsOption = None,
    max_tokens_total: MaxTokensTotalOption = None,
    max_cost: MaxCostOption = None,
    prices: PricesOption = None,
    benchmark: BenchmarkOption = None,
    json: JsonOption = False,
) -> None:
    """Show the variants of an instance's prompt, what each changes, and what was dropped and why."""
    from dlbench.dataset import load
    from dlbench.generation import Limits
    from dlbench.generation.sources import Sources
    from dlbench.registry import find_known

    loaded = load(benchmark)
    found = find_known(instance, loaded.instances, "instance")
    asked = model or (Opening(command=model_command).names(None)[0] if model_command else None)
    opening = Opening(base_url, api_key, model_command, concurrency=1)
    limits = Limits(max_requests, max_tokens_total, max_cost)
    making = _make(found, Sources(loaded), operator or [], count, seed, asked, opening, limits, prices)
    variants = asyncio.run(making)
    if json:
        from dlbench.cli.output import print_json

        print_json(variants)
        return
    _show(variants)


async def _make(
    instance: "Instance",
    sources: "Sources",
    operators: list[str],
    count: int,
    seed: int,
    name: str | None,
    opening: Opening,
    limits: "Limits",
    prices: Path | None,
) -> "Variants":
    from dlbench.agreement.mutation import find_operators, gather_variants
    from dlbench.cli.output import log
    from dlbench.generation import RateLimiter

    find_operators(operators)  # before a model is started
    source = sources.module(instance)
    if name is None:
        return await gather_variants(instance, operators=operators, count=count, seed=seed, source=source)
    model = opening.open(name, sources)
    try:
        gate = RateLimiter(model, budget=make_budget(model, name, limits, prices), log=log)
        log(f"{model.name} is asked where no rule helps")
        return await gather_variants(instance, operators=operators, count=count, seed=seed, gate=gate, source=source)
    finally:
        await model.close()


def _show(variants: "Variants") -> None:
    from dlbench.agreement.mutation import show_difference

    original, *others = variants.kept
    typer.echo(f"--- 0 {original.operator}: {original.function}\n{original.task}\n")
    for variant in others:
        names = "".join(f", {own} as {shown}" for own, shown in variant.parameters.items())
        typer.echo(f"--- {variant.index} {variant.operator}: {variant.function}{names}")
        typer.echo(f"{show_difference(original.task, variant.task)}\n")
    for dropped in variants.dropped:
        typer.echo(f"dropped: {dropped.operator}: {dropped.reason}")
    typer.echo(f"{len(variants.kept)} variants, {len(variants.dropped)} dropped; closeness by {variants.measure}")


DUAL = "dual-agreement"

VariantsOption = Annotated[int, typer.Option(min=1, help="dual-agreement: wordings of each task, the original first.")]
TestsOption = Annotated[
    int, typer.Option(min=1, max=20, help="dual-agreement: tests asked for with each wording; no more are taken.")
]
RuleOption = Annotated[str, typer.Option(help="dual-agreement: codet, b4, mbr-exec or random.")]
RewriteOption = Annotated[
    bool, typer.Option("--rewrite", help="dual-agreement: let the model rephrase too, not rules alone.")
]


@dataclass(frozen=True)
class RunSetup:
    """What is asked about, and where it goes."""

    benchmark: "Benchmark"
    instances: "list[Instance]"
    sources: "Sources"
    engine: "Engine"
    folder: Path
    seed: int

    @property
    def inner(self) -> Path:
        from dlbench.agreement import FOLDER

        return self.folder / FOLDER


@dataclass(frozen=True)
class ModelSetup:
    """Who is asked, and how far it may go."""

    opening: "Opening"
    name: str
    model: "Model"
    budget: "Budget"
    concurrency: int
    retries: int


@dataclass(frozen=True)
class DualAgreement:
    variants: int
    tests: int
    rule: str
    rewrite: bool
    workers: int
    mode: str
    pool_memory: int

    def check(self, samples: int) -> None:
        """Before anything is paid for."""
        from dlbench.agreement.selection import RULES
        from dlbench.registry import find_known

        find_known(self.rule, dict.fromkeys(RULES), "rule of choice")
        if samples != 1:
            fix = "leave out --samples; --variants says how many solutions are asked for"
            raise DLBenchError(f"agreement gives one answer for each instance, not {samples}", fix=fix)

    def describe(self) -> dict[str, Any]:
        return {"variants": self.variants, "tests": self.tests, "rule": self.rule, "rewrite": self.rewrite}

    def ask_and_choose(self, setting: RunSetup, asking: ModelSetup, wording: "RequestOptions") -> None:
        """Leaves one sample for each instance, and beside them all it came from."""
        from dlbench.agreement import CHOICES, choose_for, list_rows, make_sample, meet_all, read_choices, write_choices
        from dlbench.agreement.matrix import MATRIX, describe_not_run
        from dlbench.agreement.requests import ANSWERS
        from dlbench.agreement.solutions import read_answers
        from dlbench.cli.engine import prepare_projects
        from dlbench.cli.output import counted, log
        from dlbench.execution.cross_run import CrossRunPool
        from dlbench.jsonl import rewrite
        from dlbench.runs import SAMPLES
        from dlbench.runs.verdict import VERDICTS

        variants = self._find_variants(setting, asking)
        self._ask(setting, asking, wording, variants)
        known = {instance.id: instance for instance in setting.instances}
        answers = read_answers(setting.inner / ANSWERS, known, variants)
        prepared = prepare_projects(setting.benchmark, setting.instances)
        rooms = CrossRunPool(setting.engine, prepared, workers=self.workers, outputs=True)
        rows = list_rows(setting.instances, answers)
        with counted("solutions meet tests", len(rows), every=1.0) as advance:
            matrix = meet_all(
                rooms, setting.instances, answers, setting.inner / MATRIX, lambda row: advance(row.instance.id)
            )
        if told := describe_not_run(matrix, rows):
            log(f"{told}; they count as not passed")
        if (setting.folder / VERDICTS).is_file():
            # what was judged stays chosen, even where meetings that were our fault have been made up for since
            made = read_choices(setting.inner / CHOICES)
            choices = [made[one] for one in known]
        else:
            choices = [choose_for(matrix, one, answers[one], self.rule, setting.seed) for one in known]
        write_choices(setting.inner / CHOICES, choices)
        rewrite(
            setting.folder / SAMPLES,
            (make_sample(one, answers[one.instance], variants[one.instance], asking.model.name) for one in choices),
        )
        self._judge_all(setting, answers)

    def _find_variants(self, setting: RunSetup, asking: ModelSetup) -> "dict[str, list[Variant]]":
        """Made once: a second start asks what the first one asked."""
        import asyncio

        from dlbench.agreement.variants import VARIANTS, read_variants, write_variants
        from dlbench.jsonl import rewrite

        path = setting.inner / VARIANTS
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_file():
            return read_variants(path)
        found = asyncio.run(self._make_variants(setting, asking))
        rewrite(path.with_name("dropped.jsonl"), (asdict(each) for one in found.values() for each in one.dropped))
        write_variants(path, [variant for one in found.values() for variant in one.kept])
        return {instance: one.kept for instance, one in found.items()}

    async def _make_variants(self, setting: RunSetup, asking: ModelSetup) -> "dict[str, Variants]":
        """Within the run's budget, where a model is asked to rephrase."""
        from dlbench.agreement.mutation import gather_variants
        from dlbench.cli.output import counted
        from dlbench.generation import RateLimiter

        model = asking.opening.open(asking.name, setting.sources) if self.rewrite else None
        gate = RateLimiter(model, budget=asking.budget, retries=asking.retries) if model is not None else None
        found: dict[str, Variants] = {}
        try:
            with counted("making variants", len(setting.instances), every=1.0) as advance:
                for instance in setting.instances:
                    source = setting.sources.module(instance)
                    found[instance.id] = await gather_variants(
                        instance, count=self.variants, seed=setting.seed, gate=gate, source=source
                    )
                    advance(f"{instance.id}: {len(found[instance.id].kept)}")
        finally:
            if model is not None:
                await model.close()
        return found

    def _ask(
        self, setting: RunSetup, asking: ModelSetup, wording: "RequestOptions", variants: "dict[str, list[Variant]]"
    ) -> None:
        from dlbench.agreement.requests import ANSWERS, count_requests, make_request
        from dlbench.cli.output import counted, log
        from dlbench.generation import generate

        total = sum(count_requests(variants[instance.id]) for instance in setting.instances)
        with counted(f"asking {asking.model.name}", total) as advance:
            generate(
                asking.model,
                setting.instances,
                lambda instance, sample: make_request(
                    instance, setting.sources.module(instance), variants[instance.id], sample, wording
                ),
                setting.inner / ANSWERS,
                lambda instance: count_requests(variants[instance.id]),
                asking.concurrency,
                lambda record: advance(f"{record['instance']} {record['operator']}: {record['asks_for']}"),
                budget=asking.budget,
                retries=asking.retries,
                log=log,
            )

    def _judge_all(self, setting: RunSetup, answers: "dict[str, Answers]") -> None:
        """What every variant's solution was worth, when the choice is made: for the gain and the study."""
        from dlbench.agreement.study import list_samples
        from dlbench.cli.report import judge_into

        samples = list_samples(answers)
        if samples:
            judge_into(
                setting.benchmark, samples, setting.inner, setting.engine, self.workers, self.mode, self.pool_memory
            )

    def show_gain(self, benchmark: "Benchmark", folders: list[Path]) -> None:

        for folder in folders:
            print_gain(benchmark, folder, self.rule)


RunArgument = Annotated[Path, typer.Argument(help="A run with --technique dual-agreement.")]
SeedOption = Annotated[int | None, typer.Option(help="Of ties and lots; the run's own by default.")]


@command("choose", agree)
def choose(
    run: RunArgument,
    benchmark: BenchmarkOption = None,
    rule: RuleOption = "codet",
    seed: SeedOption = None,
    json: JsonOption = False,
) -> None:
    """Choose again by another rule or seed, from the matrix that was kept; what would it have given?"""
    from dlbench.agreement.selection import RULES
    from dlbench.agreement.study import read_artifacts
    from dlbench.cli.output import print_json
    from dlbench.dataset import load
    from dlbench.registry import find_known
    from dlbench.reporting.studies.agreement import find_gain
    from dlbench.runs import read_run

    find_known(rule, dict.fromkeys(RULES), "rule of choice")
    loaded = load(benchmark)
    material = read_artifacts(run, loaded)
    rules = (rule, *(name for name in RULES if name not in {rule, "random"}))
    found = find_gain(material, read_run(run), loaded, rules, seed)
    if json:
        print_json(found)
    else:
        _print_gain(found, material)


@command("study", agree)
def study(
    run: RunArgument,
    benchmark: BenchmarkOption = None,
    quality: Annotated[
        bool, typer.Option("--quality", help="Also run the tests on the reference and mutants.")
    ] = False,
    mutants: Annotated[int, typer.Option(min=1, help="Mutants of each reference, for --quality.")] = 5,
    seed: SeedOption = None,
    pictures: PicturesOption = None,
    workers: SeatsOption = None,
    executor: ExecutorOption = "local",
    ray_address: RayAddressOption = None,
    sandbox: SandboxOption = "auto",
    memory: MemoryOption = 4096,
    json: JsonOption = False,
) -> None:
    """How brittle is the model to phrasing? By operator, by instance, and what agreement made of it."""
    from dlbench.agreement.study import read_artifacts
    from dlbench.dataset import load
    from dlbench.reporting.studies.agreement import describe_flips, study_artifacts, tabulate_quality
    from dlbench.runs import read_run

    loaded = load(benchmark)
    material = read_artifacts(run, loaded)
    studied = study_artifacts(material, read_run(run), loaded, seed)
    tables = dict(studied.tables)
    record: dict[str, object] = {
        "gain": studied.gain,
        "operators": studied.operators,
        "consistency": studied.consistency,
        "effects": studied.effects,
    }
    faults = [studied.fault] if studied.fault else []
    if quality:
        found = _measure_quality(material, loaded, run, Where(executor, ray_address, workers), sandbox, memory, mutants)
        record["quality"] = found
        tables["the model's own tests"] = tabulate_quality(found)
        faults += [f"NOT COUNTED: {found.not_run}"] if found.not_run else []
    notes = [*faults, *describe_flips(studied.consistency)]
    show(tables, notes, record if json else None)
    write_pictures(pictures, studied.pictures)


def print_gain(benchmark: "Benchmark", folder: Path, rule: str) -> None:
    """What the technique gave, and beside it what it took."""
    from dlbench.agreement.study import read_artifacts
    from dlbench.reporting.studies.agreement import find_gain
    from dlbench.runs import read_run

    material = read_artifacts(folder, benchmark)
    _print_gain(find_gain(material, read_run(folder), benchmark, (rule,)), material)


def _print_gain(found: "Comparison", material: "RunArtifacts") -> None:
    from dlbench.cli.output import open_console
    from dlbench.reporting.studies.agreement import describe_cost, describe_not_counted, tabulate_gain
    from dlbench.reporting.tables import draw

    open_console().print(draw(f"what agreement gives, on {len(found.instances)} instances", tabulate_gain(found)))
    if fault := describe_not_counted(found):
        typer.echo(fault)
    typer.echo(describe_cost(material))


def _measure_quality(
    material: "RunArtifacts", benchmark: "Benchmark", run: Path, where: Where, sandbox: str, memory: int, mutants: int
) -> "Quality":
    from dlbench.agreement import FOLDER
    from dlbench.agreement.study import QUALITY, measure_quality
    from dlbench.cli.engine import make_engine, prepare_projects
    from dlbench.cli.output import counted
    from dlbench.execution.cross_run import CrossRunPool

    instances = [benchmark.instances[one] for one in material.choices]
    engine = make_engine(sandbox, None, memory, where)
    rooms = CrossRunPool(engine, prepare_projects(benchmark, instances), workers=where.workers or CORES)
    with counted("references and mutants meet tests", len(instances) * (1 + mutants), every=1.0) as advance:
        return measure_quality(
            rooms,
            instances,
            material.answers,
            run / FOLDER / QUALITY,
            mutants,
            lambda row: advance(row.instance.id),
        )
