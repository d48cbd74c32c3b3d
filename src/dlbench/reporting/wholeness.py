"""Does a run hold all that a score should be over, or only what somebody kept?

A file of answers says nothing of those that are not in it. Were they passed over in silence, a pipeline that drops
empty answers would raise its model's score with every one.
"""

from collections import Counter

from dlbench.dataset import Benchmark, Selection, name_live, select
from dlbench.runs import Run


def find_nearest_split(judged: set[str], benchmark: Benchmark) -> tuple[str, set[str]]:
    """The split whose instances are nearest to these, and its instances."""
    days = [benchmark.instances[one].introduced for one in judged if one in benchmark.instances]
    names = dict.fromkeys(["full", *benchmark.splits, *([name_live(min(days))] if days else [])])
    members = {name: {one.id for one in select(benchmark, Selection(split=name))} for name in names}
    name = min(members, key=lambda name: len(members[name] ^ judged))
    return name, members[name]


def tell_partial(name: str, run: Run, benchmark: Benchmark) -> list[str]:
    """What a run that does not say what it was to ask lacks of the split it seems to be about."""
    if not run.verdicts or isinstance(run.config.get("instances"), list):
        return []
    counts = Counter(str(record["instance"]) for record in run.verdicts)
    split, members = find_nearest_split(set(counts), benchmark)
    told = []
    if lacking := members - set(counts):
        told.append(
            f"NOT A WHOLE SPLIT: {name} has no answer to {len(lacking)} of the {len(members)} instances of {split}, the"
            " split nearest to it. They are not counted, as failed or otherwise."
        )
    fewest, most = min(counts.values()), max(counts.values())
    if fewest < most:
        told.append(
            f"NOT AS MANY SAMPLES OF EACH: {name} has {fewest} to {most} an instance. Each instance counts the same."
        )
    return told
