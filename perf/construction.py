"""How long does the whole way of one project take, from its name to admissible functions, and how much memory?

`dlbench construct run` goes through collect, trace, extract, screen and admit in a work folder of its own, with the
project's environment built beforehand or not, as it happens to be here. Memory is that of all its processes together,
pages that they share counted once, looked at twice a second. Prints both as shares of what we allow, 15 minutes and 6 GiB
for a project of a thousand tests; ends 1 where one is over, or where nothing came out.
`python perf/construction.py [--project NAME] [--most FUNCTIONS]`
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dlbench.execution.processes import find_descendants, memory_mb

KNOWN = Path(__file__).parents[1] / "docs" / "construction" / "projects.toml"
MINUTES = 15.0
GIB = 6.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--project", default="albucore")
    parser.add_argument("--most", type=int, help="functions to measure, drawn by their hashes; all by default")
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
        f"{minutes:.1f} minutes ({minutes / MINUTES:.2f} of what is allowed), {peak:.2f} GiB ({peak / GIB:.2f})"
    )
    return int(process.returncode != 0 or not measured or minutes > MINUTES or peak > GIB)


def _count(path: Path) -> int:
    file = path.with_suffix(".jsonl")
    return len(file.read_text().splitlines()) if file.is_file() else 0


if __name__ == "__main__":
    sys.exit(main())
