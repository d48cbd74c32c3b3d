"""Measure what the optimise track says of the reference itself, and of code that does twice and half its work.

Two functions of ours, one that computes and one that fills fresh memory. Prints the ratio of each size, its interval,
rounds and milliseconds of the reference. Exits with 1 if the reference against itself is not 1.00 ± 0.03.
`python perf/optimise.py [--repeat N]`
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from dlbench.execution.optimise import FULL
from dlbench.validation.optimise import TOLERANCE

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.adversarial.test_optimise import Setting

FUNCTION = """
def count_close(values, limit=2):
    for _ in range({times}):
        {extra}found = [sum(1 for other in values if abs(other - value) <= limit) for value in values]
    return found
"""
KINDS = {
    "computes": ("", 500, (90, 210, 140)),
    "fills memory": ("kept = b'x' * (100_000 * len(values)); ", 100, (60, 150, 100)),
}
"""What each pass does besides, calls together at the smallest size, and the factors of the other sizes."""
VARIANTS = {"itself": 2, "twice the work": 4, "half the work": 1}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    worst = 0.0
    for kind, (extra, calls, factors) in KINDS.items():
        with tempfile.TemporaryDirectory() as folder:
            setting = Setting(Path(folder), FUNCTION.format(times=2, extra=extra), calls, factors)
            for name, times in [*VARIANTS.items()] * options.repeat:
                began = time.monotonic()
                found = setting.measure(FUNCTION.format(times=times, extra=extra), FULL)
                for size, ratio in found.sizes.items():
                    if times == 2 and ratio.rounds >= FULL.least:
                        worst = max(worst, abs(ratio.value - 1))
                    print(
                        f"{kind:14}{name:16}{size:10}{ratio.value:7.3f} [{ratio.low:.3f}, {ratio.high:.3f}]"
                        f"{ratio.rounds:4} rounds{1000 * ratio.seconds:8.1f} ms"
                    )
                print(f"{time.monotonic() - began:.0f} s, load {os.getloadavg()[0]:.1f}", flush=True)
    print(f"the reference against itself: at most {worst:.3f} from 1")
    return worst > TOLERANCE


if __name__ == "__main__":
    sys.exit(main())
