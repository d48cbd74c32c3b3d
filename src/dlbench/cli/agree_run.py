"""How `run --technique dual-agreement` asks and chooses: variants, answers, matrix, choice; then what it gave."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dlbench.errors import DLBenchError

if TYPE_CHECKING:
    from dlbench.agreement.mutation import Variants
    from dlbench.agreement.requests import Wording
    from dlbench.agreement.solutions import Answers
    from dlbench.agreement.variants import Variant
    from dlbench.cli.models import Opening
    from dlbench.dataset import Benchmark, Instance
    from dlbench.execution import Engine
    from dlbench.generation import Budget, Model
    from dlbench.generation.sources import Sources

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
class Setting:
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
class Asking:
    """Who is asked, and how far it may go."""

    opening: "Opening"
    name: str
    model: "Model"
    budget: "Budget"
    concurrency: int
    retries: int


@dataclass(frozen=True)
class Dual:
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
        from dlbench.dataset import find_known

        find_known(self.rule, dict.fromkeys(RULES), "rule of choice")
        if samples != 1:
            mend = "leave out --samples; --variants says how many solutions are asked for"
            raise DLBenchError(f"agreement gives one answer for each instance, not {samples}", mend=mend)

    def describe(self) -> dict[str, Any]:
        return {"variants": self.variants, "tests": self.tests, "rule": self.rule, "rewrite": self.rewrite}

    def ask_and_choose(self, setting: Setting, asking: Asking, wording: "Wording") -> None:
        """Leaves one sample for each instance, and beside them all it came from."""
        from dlbench.agreement import CHOICES, choose_for, list_rows, make_sample, meet_all, read_choices, write_choices
        from dlbench.agreement.matrix import MATRIX, tell_not_run
        from dlbench.agreement.requests import ANSWERS
        from dlbench.agreement.solutions import read_answers
        from dlbench.cli.engine import prepare_projects
        from dlbench.cli.progress import counted, say
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
        if told := tell_not_run(matrix, rows):
            say(f"{told}; they count as not passed")
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

    def _find_variants(self, setting: Setting, asking: Asking) -> "dict[str, list[Variant]]":
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

    async def _make_variants(self, setting: Setting, asking: Asking) -> "dict[str, Variants]":
        """Within the run's budget, where a model is asked to rephrase."""
        from dlbench.agreement.mutation import gather_variants
        from dlbench.cli.progress import counted
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

    def _ask(self, setting: Setting, asking: Asking, wording: "Wording", variants: "dict[str, list[Variant]]") -> None:
        from dlbench.agreement.requests import ANSWERS, count_requests, make_request
        from dlbench.cli.progress import counted, say
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
                say=say,
            )

    def _judge_all(self, setting: Setting, answers: "dict[str, Answers]") -> None:
        """What every variant's solution was worth, when the choice is made: for the gain and the study."""
        from dlbench.agreement.study import list_samples
        from dlbench.cli.scores import judge_into

        samples = list_samples(answers)
        if samples:
            judge_into(
                setting.benchmark, samples, setting.inner, setting.engine, self.workers, self.mode, self.pool_memory
            )

    def show_gain(self, benchmark: "Benchmark", folders: list[Path]) -> None:
        from dlbench.cli.agree_study import print_gain

        for folder in folders:
            print_gain(benchmark, folder, self.rule)
