"""The commands that look at a run with agreement: `agree choose` and `agree study`. Nothing is asked again."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dlbench.cli.agree import agree
from dlbench.cli.agree_run import RuleOption
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
    command,
)
from dlbench.cli.engine import Where

if TYPE_CHECKING:
    from dlbench.agreement.study import Quality, RunArtifacts
    from dlbench.dataset import Benchmark
    from dlbench.scoring import Comparison

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
    from dlbench.agreement.study import read_material
    from dlbench.cli.printing import print_json
    from dlbench.dataset import find_known, load
    from dlbench.reporting.studies.agreement import find_gain
    from dlbench.runs import read_run

    find_known(rule, dict.fromkeys(RULES), "rule of choice")
    loaded = load(benchmark)
    material = read_material(run, loaded)
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
    from dlbench.agreement.study import read_material
    from dlbench.dataset import load
    from dlbench.reporting.studies.agreement import study_material, tabulate_quality, tell_flips
    from dlbench.runs import read_run

    loaded = load(benchmark)
    material = read_material(run, loaded)
    studied = study_material(material, read_run(run), loaded, seed)
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
    notes = [*faults, *tell_flips(studied.consistency)]
    show(tables, notes, record if json else None)
    write_pictures(pictures, studied.pictures)


def print_gain(benchmark: "Benchmark", folder: Path, rule: str) -> None:
    """What the technique gave, and beside it what it took."""
    from dlbench.agreement.study import read_material
    from dlbench.reporting.studies.agreement import find_gain
    from dlbench.runs import read_run

    material = read_material(folder, benchmark)
    _print_gain(find_gain(material, read_run(folder), benchmark, (rule,)), material)


def _print_gain(found: "Comparison", material: "RunArtifacts") -> None:
    from dlbench.cli.printing import open_console
    from dlbench.reporting.studies.agreement import tabulate_gain, tell_cost, tell_not_counted
    from dlbench.reporting.tables import draw

    open_console().print(draw(f"what agreement gives, on {len(found.instances)} instances", tabulate_gain(found)))
    if fault := tell_not_counted(found):
        typer.echo(fault)
    typer.echo(tell_cost(material))


def _measure_quality(
    material: "RunArtifacts", benchmark: "Benchmark", run: Path, where: Where, sandbox: str, memory: int, mutants: int
) -> "Quality":
    from dlbench.agreement import FOLDER
    from dlbench.agreement.study import QUALITY, measure_quality
    from dlbench.cli.engine import make_engine, prepare_projects
    from dlbench.cli.progress import counted
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
