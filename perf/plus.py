"""Measure what further inputs cost: the time that they add to a verdict, beside the tests' own time.

Each reference is judged with and without them, alternately, in warm workers that have made the inputs before. Exits
with 1 if a reference fails on them.
`python perf/plus.py [--instances N] [--repeat N]`
"""

import argparse
import statistics
import sys
import time
from dataclasses import replace

from engine import spread

from dlbench.dataset import load
from dlbench.dataset.plus import read_plus
from dlbench.execution import Engine, Limits, choose_sandbox
from dlbench.execution.judge import Warm
from dlbench.workspace import prepare


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instances", type=int, default=60, help="spread over all instances that have such inputs")
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    benchmark = load()
    records = {name: record for name, record in read_plus(benchmark.root).items() if record.inputs}
    chosen = spread([benchmark.instances[name] for name in sorted(records)], options.instances)
    with_plus = Engine(choose_sandbox(), Limits(), plus=records)
    ratios, seconds, failed, warm = [], [], 0, None
    for instance in chosen:
        if warm is None or warm.prepared.project.name != instance.project:
            if warm is not None:
                warm.close()
            warm = Warm(with_plus, prepare(benchmark.projects[instance.project], benchmark.root))
        code = with_plus.target(warm.prepared, instance).target.text
        first = warm.judge(instance, code)
        if first.extra.get("plus") != "passed":
            failed += first.extra.get("plus") == "failed"
            print(f"{instance.id}: {first.status} {first.extra.get('plus')} {first.extra.get('plus_message', '')}")
            continue
        added, own = [], []
        for _ in range(options.repeat):
            times = []
            for engine in (with_plus, replace(with_plus, plus={})):
                warm.engine = engine
                began = time.monotonic()
                verdict = warm.judge(instance, code)
                times.append(time.monotonic() - began)
            added.append(times[0] - times[1])
            own.append(verdict.test_seconds)
            warm.engine = with_plus
        seconds.append(statistics.median(added))
        ratios.append(statistics.median(added) / max(statistics.median(own), 0.001))
        print(
            f"{instance.id}: {seconds[-1]:.3f} s for {first.extra['plus_inputs']} inputs, {ratios[-1]:.2f} times the tests"
        )
    if warm is not None:
        warm.close()
    print(
        f"{len(ratios)} instances: {statistics.median(seconds):.3f} s more at the median,"
        f" {statistics.median(ratios):.2f} times the tests' own time (goal 1.0); {failed} references fail"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
