"""The commands that ask why candidates fail: bugs, and plant-bugs, which makes failures whose cause is known."""

from pathlib import Path
from typing import Annotated

import typer

from dlbench.cli.analyze import analyze
from dlbench.cli.app import Chosen, MemoryOption, SandboxOption, TimeoutOption, WorkersOption, command


@command("plant-bugs", analyze)
def plant_bugs(
    chosen: Chosen,
    out: Annotated[Path, typer.Option(help="Run folder that gets samples, what was planted, and verdicts.")],
    most: Annotated[int, typer.Option(min=1, help="Bugs of each category in one function, at most.")] = 1,
    seed: Annotated[int, typer.Option(help="Of the draw of bugs and of the two halves.")] = 0,
    workers: WorkersOption = 1,
    sandbox: SandboxOption = "auto",
    timeout: TimeoutOption = 5.0,
    memory: MemoryOption = 2048,
) -> None:
    """Plant known bugs of every category into references and judge them: failures whose cause is known."""
    from dlbench import __version__
    from dlbench.analysis.bugs.planting.sow import sow
    from dlbench.analysis.bugs.planting.truth import PLANTED, tell
    from dlbench.cli.engine import make_engine
    from dlbench.cli.progress import counted
    from dlbench.cli.run import Sources
    from dlbench.cli.scores import judge_into
    from dlbench.execution.samples import read_samples
    from dlbench.journal import rewrite
    from dlbench.reporting import open_run
    from dlbench.reporting.runs import SAMPLES

    engine = make_engine(sandbox, timeout, memory)
    ids = [instance.id for instance in chosen.instances]
    config = {"dlbench": __version__, "benchmark": str(chosen.benchmark.version), "model": "planted bugs"}
    open_run(out, config | {"seed": seed, "most": most, "timeout": timeout, "memory": memory, "instances": ids})
    sources = Sources(chosen.benchmark)
    truths, samples = [], []
    with counted("planting", len(ids), every=2.0) as advance:
        for instance in chosen.instances:
            for number, plant in enumerate(sow(instance, sources.module(instance), most, seed)):
                truths.append(tell(instance.id, number, plant, seed).as_record())
                samples.append({"instance": instance.id, "sample": number, "code": plant.code})
            advance(instance.id)
    rewrite(out / PLANTED, truths)
    rewrite(out / SAMPLES, samples)
    verdicts = judge_into(chosen.benchmark, read_samples(out / SAMPLES, chosen.benchmark), out, engine, workers)
    failed = sum(not one.passed for one in verdicts)
    typer.echo(f"{failed} of {len(verdicts)} planted bugs are failures in {out}: `dlbench analyze bugs {out}`")
