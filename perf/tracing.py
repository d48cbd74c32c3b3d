"""Measure the overhead of tracing which functions a project's tests run.

The same tests run twice plainly and twice traced, one process after the other. Prints the best times and their ratio,
which must stay below 3. Exits with 1 if it does not, or if the outcomes differ.
`python perf/tracing.py [--project NAME …]`
"""

import argparse
import sys

from dlbench.construction.selection.source_layout import find_layout
from dlbench.construction.trace import trace
from dlbench.dataset import load
from dlbench.execution import Engine, Limits, choose_sandbox
from dlbench.workspace import prepare

MOST = 3.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--project", action="append", help="seqeval, albucore and pytorch-optimizer by default")
    parser.add_argument("--files", type=int, default=12, help="test files of a project, at most")
    options = parser.parse_args()
    benchmark = load()
    engine = Engine(choose_sandbox(), Limits(load_seconds=300.0, test_seconds=60.0))
    is_good = True
    for name in options.project or ["seqeval", "albucore", "pytorch-optimizer"]:
        prepared = prepare(benchmark.projects[name], benchmark.root)
        root = prepared.project.tests.root
        files = [file for file in find_layout(prepared.tree, name).tests if file.startswith(root)][: options.files]
        best: dict[bool, float] = {}
        outcomes: dict[bool, dict[str, str]] = {}
        for profile in (False, True, False, True):
            found = trace(engine, prepared, files, profile=profile)
            best[profile] = min(best.get(profile, found.seconds), found.seconds)
            outcomes[profile] = {test.id: test.outcome for test in found.tests}
        ratio = best[True] / best[False]
        same = outcomes[True] == outcomes[False]
        is_good &= ratio < MOST and same
        print(
            f"{name:20} {len(outcomes[True]):5} tests  plain {best[False]:6.1f} s  traced {best[True]:6.1f} s  "
            f"{ratio:4.2f} x  outcomes {'agree' if same else 'DIFFER'}",
            flush=True,
        )
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
