"""Measure what replaying every pass costs: references as candidates, judged with and without replay in one run.

Prints the median seconds of a candidate after the first, which pays for the workers. By default five instances.
`python perf/replay.py [--each N] [--mode warm|fresh] [INSTANCE …]`
"""

import argparse
import statistics
import time

import dlbench
from dlbench.execution import Engine, choose_sandbox
from dlbench.execution.judge import Warm, judge
from dlbench.runs.verdict import Confirm
from dlbench.workspace import prepare

_PROJECTS = ("albucore", "seqeval", "pytorch-optimizer")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("instances", nargs="*")
    parser.add_argument("--each", type=int, default=5, help="candidates per instance")
    parser.add_argument("--mode", choices=("warm", "fresh"), default="warm")
    options = parser.parse_args()
    benchmark = dlbench.load()
    chosen = options.instances or [
        one
        for project in _PROJECTS
        for one in [key for key in benchmark.instances if key.startswith(f"{project}/")][:2]
    ]
    engines = {confirm: Engine(choose_sandbox(), confirm=confirm) for confirm in Confirm}
    ratios, confirmed = [], 0
    for name in chosen:
        instance = benchmark.instances[name]
        prepared = prepare(benchmark.projects[instance.project], benchmark.root)
        code = engines[Confirm.ALL].target(prepared, instance).target.text
        warm = {confirm: Warm(engine, prepared) for confirm, engine in engines.items()}
        seconds: dict[Confirm, list[float]] = {confirm: [] for confirm in Confirm}
        for _ in range(options.each + 1):
            for confirm, engine in engines.items():
                began = time.monotonic()
                verdict = (
                    warm[confirm].judge(instance, code)
                    if options.mode == "warm"
                    else judge(engine, prepared, instance, code)
                )
                seconds[confirm].append(time.monotonic() - began)
                assert verdict.passed, verdict
        confirmed += bool(verdict.extra.get("confirmed"))
        for one in warm.values():
            one.close()
        without, with_replay = (statistics.median(seconds[confirm][1:]) for confirm in (Confirm.UNUSUAL, Confirm.ALL))
        ratios.append((with_replay - without) / without)
        print(
            f"{name}: {without:.2f} s, with replay {with_replay:.2f} s (first {seconds[Confirm.ALL][0]:.1f} s), {verdict.mode}, {verdict.extra}",
            flush=True,
        )
    print(
        f"{confirmed} of {len(chosen)} confirmed; added time: {statistics.median(ratios):.0%} of a candidate's own time (median)"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
