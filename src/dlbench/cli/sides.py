"""What do commands that set runs side by side have in common? How runs are read, and when they cannot be compared."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dlbench.cli.app import Chosen
from dlbench.errors import DLBenchError

if TYPE_CHECKING:
    from dlbench.scoring import Tally


@dataclass(frozen=True)
class Sides:
    tallies: "dict[str, dict[str, Tally]]"
    """Of the chosen instances, by the name of the run."""
    outside: int
    """How many instances that were judged lie outside the choice."""
    warnings: list[str]
    """What must be known of the runs before the numbers; what of them is comparable, the comparison says."""


def read_sides(folders: Sequence[Path], chosen: Chosen) -> Sides:
    from dlbench.reporting import name_runs
    from dlbench.reporting.caveats import run_caveats
    from dlbench.reporting.run_names import check_comparable, group_alike, hash_answers, tell_copies
    from dlbench.runs import read_head, read_run
    from dlbench.scoring import tally
    from dlbench.scoring.compare import find_ground

    if len(folders) < 2:
        raise DLBenchError("one run cannot be compared", where=str(folders[0]), mend="give two run folders or more")
    wanted = {instance.id for instance in chosen.instances}
    named = name_runs([read_head(folder) for folder in folders])
    check_comparable(list(named.values()))
    judged, answers, warnings = {}, {}, []
    # of a hundred runs the tallies are a few megabytes, and the verdicts more than a gigabyte: one run at a time
    for name, head in named.items():
        run = read_run(head.folder)
        judged[name] = tally(run.verdicts, chosen.benchmark)
        answers[name] = hash_answers(run)
        warnings += run_caveats(name, run, chosen.benchmark)
    warnings += [tell_copies(names) for names in group_alike(answers)]
    tallies = {name: {key: one for key, one in each.items() if key in wanted} for name, each in judged.items()}
    outside = len({key for each in judged.values() for key in each} - wanted)
    ground = find_ground(tallies)
    if not ground.instances:
        raise DLBenchError(
            f"there is no instance to compare on: {len(ground.not_common)} are not in every run,"
            f" {len(ground.harness_errors)} met a harness error, {outside} lie outside the choice",
            mend="compare runs of the same instances; start a run with harness errors again, which tries them again",
        )
    return Sides(tallies, outside, warnings)
