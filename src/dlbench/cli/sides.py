"""What do commands that set runs side by side have in common? How runs are read, and when they cannot be compared."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dlbench.cli.app import Chosen
from dlbench.errors import DLBenchError

if TYPE_CHECKING:
    from dlbench.scoring import Tally


def read_sides(folders: Sequence[Path], chosen: Chosen) -> "tuple[dict[str, dict[str, Tally]], int]":
    """Tallies of the chosen instances by the name of the run, and how many instances lie outside the choice."""
    from dlbench.reporting import name_runs, read_run
    from dlbench.reporting.sides import check_comparable
    from dlbench.scoring import tally
    from dlbench.scoring.compare import find_ground

    if len(folders) < 2:
        raise DLBenchError("one run cannot be compared", where=str(folders[0]), mend="give two run folders or more")
    wanted = {instance.id for instance in chosen.instances}
    read = []
    for folder in folders:
        run = read_run(folder)
        # of a hundred runs the tallies are a few megabytes, and the verdicts more than a gigabyte
        read.append((replace(run, verdicts=[]), tally(run.verdicts, chosen.benchmark)))
    named = name_runs([run for run, _ in read])
    check_comparable(list(named.values()))
    judged = dict(zip(named, (tallies for _, tallies in read), strict=True))
    tallies = {name: {key: one for key, one in each.items() if key in wanted} for name, each in judged.items()}
    outside = len({key for each in judged.values() for key in each} - wanted)
    ground = find_ground(tallies)
    if not ground.instances:
        raise DLBenchError(
            f"there is no instance to compare on: {len(ground.not_common)} are not in every run,"
            f" {len(ground.harness_errors)} met a harness error, {outside} lie outside the choice",
            mend="compare runs of the same instances; start a run with harness errors again, which tries them again",
        )
    return tallies, outside
