"""Inject known bugs into references and measure how well `dlbench analyze bugs` names them.

python studies/bug_injection/run.py inject --out injected --project albucore --seed 1
python studies/bug_injection/run.py measure injected [options of `dlbench analyze bugs`, such as --judge MODEL --out F]
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bug_injection.inject import UNSTATED, inject_bugs
from bug_injection.records import BUILDING, INJECTED, MEASURING, make_record, measure_accuracy, read_records
from dlbench.dataset import Selection, load, select
from dlbench.errors import DLBenchError
from dlbench.generation.sources import Sources
from dlbench.jsonl import rewrite

SAMPLES, RUN = "samples.jsonl", "run"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("inject", help="Write candidates with known bugs and judge them.")
    one.set_defaults(command=inject)
    one.add_argument("--out", type=Path, required=True, help="Folder for samples, injected bugs and the run.")
    one.add_argument("--benchmark", type=Path, help="Benchmark folder; the packaged one by default.")
    one.add_argument("--instance", action="append", default=[], help="Only this instance (repeatable).")
    one.add_argument("--project", action="append", default=[], help="Only this project (repeatable).")
    one.add_argument("--most", type=int, default=1, help="Bugs of each category per function, at most.")
    one.add_argument("--seed", type=int, default=0, help="Seed of the bugs and of the two halves.")
    one.add_argument("--timeout", type=float, default=5.0, help="Seconds per candidate.")
    one.add_argument("--memory", type=int, default=2048, help="MiB per candidate.")
    one = commands.add_parser("measure", help="Compare injected categories with those that raters name.")
    one.set_defaults(command=measure)
    one.add_argument("folder", type=Path, help="Folder that `inject` wrote.")
    one.add_argument("--benchmark", type=Path, help="Benchmark folder; the packaged one by default.")
    one.add_argument("--half", choices=[BUILDING, MEASURING, "all"], default=MEASURING, help="Which instances.")
    options, rest = parser.parse_known_args(arguments)
    try:
        options.command(options, rest)
    except DLBenchError as error:
        print(f"bug_injection: {error}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        return int(error.returncode)
    return 0


def inject(options: argparse.Namespace, rest: list[str]) -> None:
    """Further options go to `dlbench evaluate`."""
    benchmark = load(options.benchmark)
    sources = Sources(benchmark)
    records, samples = [], []
    for instance in select(benchmark, Selection(instances=options.instance, projects=options.project)):
        for number, bug in enumerate(inject_bugs(instance, sources.module(instance), options.most, options.seed)):
            records.append(make_record(instance.id, number, bug, options.seed).as_record())
            samples.append({"instance": instance.id, "sample": number, "code": bug.code})
    options.out.mkdir(parents=True, exist_ok=True)
    rewrite(options.out / INJECTED, records)
    rewrite(options.out / SAMPLES, samples)
    limits = ["--timeout", str(options.timeout), "--memory", str(options.memory)]
    _dlbench("evaluate", options.out / SAMPLES, "--out", options.out / RUN, *limits, *rest, benchmark=options.benchmark)


def measure(options: argparse.Namespace, rest: list[str]) -> None:
    """Further options go to `dlbench analyze bugs`."""
    records = read_records(options.folder / INJECTED)
    printed = _dlbench("analyze", "bugs", options.folder / RUN, "--json", *rest, benchmark=options.benchmark)
    found = json.loads(printed)
    keys = {
        f"{one['run']}:{one['instance']}#{one['sample']}": (one["instance"], one["sample"]) for one in found["failures"]
    }
    rules = {failure: one["category"] for failure, one in zip(keys, found["failures"], strict=True)}
    for rater, votes in {"rules": rules, **found.get("votes", {})}.items():
        rated = [(records[keys[failure]], category) for failure, category in votes.items()]
        # `analyze bugs` shows the instance's own prompt, so a requirement cut from it is not missing for other raters.
        pairs = [
            (record.category, category)
            for record, category in rated
            if options.half in (record.half, "all") and (rater == "rules" or record.category != UNSTATED)
        ]
        if not pairs:
            print(f"{rater}: no failures in this half")
            continue
        accuracy = measure_accuracy(pairs)
        print(
            f"{rater}: {accuracy.failures} failures, accuracy {accuracy.accuracy:.3f}, macro-F1 {accuracy.macro_f1:.3f}"
        )
        for name, row in accuracy.by_category.items():
            figures = ", ".join(f"{key} {row[key]:.2f}" for key in ("precision", "recall", "f1"))
            print(f"  {name:<28} {row['injected']:>5.0f} injected, {figures}")
        for injected, predicted, count in accuracy.confusions[:15]:
            print(f"  {injected} named {predicted}: {count}")


def _dlbench(*arguments: object, benchmark: Path | None) -> str:
    chosen = ["--benchmark", str(benchmark)] if benchmark else []
    command = [sys.executable, "-m", "dlbench", *map(str, arguments), *chosen]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
