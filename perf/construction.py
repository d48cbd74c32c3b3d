"""Measure the time and memory of `dlbench construct run` on one project, from its name to admissible functions.

The steps collect, trace, extract, screen and admit run in a temporary work folder; the project's environment may exist
already. Memory is that of all processes together, with shared pages counted once, sampled twice a second. Prints both as
shares of the limits, 15 minutes and 6 GiB for a project of a thousand tests. Exits with 1 above a limit or without results.
`python perf/construction.py [--project NAME] [--most FUNCTIONS]`
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dlbench.execution.processes import find_descendants, memory_mb

KNOWN = Path(__file__).parents[1] / "studies" / "projects.toml"
MINUTES = 15.0
GIB = 6.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--project", default="albucore")
    parser.add_argument("--most", type=int, help="functions to measure, sampled by hash; all by default")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "dlbench", "construct", "run", options.project, "--work", folder]
        command += ["--projects", str(KNOWN)]
        command += ["--most", str(options.most)] if options.most else []
        began, peak = time.monotonic(), 0.0
        process = subprocess.Popen(command)
        while process.poll() is None:
            peak = max(peak, memory_mb(find_descendants(process.pid), 0.0) / 1024)
            time.sleep(0.5)
        minutes = (time.monotonic() - began) / 60
        work = Path(folder) / options.project
        tests, screened, measured = (_count(work / name) for name in ("collected", "screened", "measured"))
    print(
        f"{options.project}: {tests} tests collected, {screened} functions screened, {measured} measured: "
        f"{minutes:.1f} minutes ({minutes / MINUTES:.2f} of the limit), {peak:.2f} GiB ({peak / GIB:.2f})"
    )
    return int(process.returncode != 0 or not measured or minutes > MINUTES or peak > GIB)


def _count(path: Path) -> int:
    file = path.with_suffix(".jsonl")
    return len(file.read_text().splitlines()) if file.is_file() else 0


if __name__ == "__main__":
    sys.exit(main())
