"""Name runs uniquely, find repeats and copies among them, and check that they can be compared."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter

from dlbench.dataset.labels import Track
from dlbench.dataset.rebuild import TrackBenchmark
from dlbench.errors import DLBenchError
from dlbench.registry import find_known
from dlbench.runs import NOTES, Run
from dlbench.scoring import Spread, Summary, spread, spread_of_samples
from dlbench.scoring.tally import group_by

_OWN = {"seed", "dlbench", "workers", *NOTES}
"""Settings in which a repeat may differ from the run that it repeats."""
_FORMS: tuple[Callable[[Run], str], ...] = (
    lambda run: run.name,
    lambda run: f"{run.name}, {run.config['technique']}" if "technique" in run.config else run.name,
    lambda run: f"{run.name} ({run.folder.name})",
)


def name_runs(runs: Sequence[Run]) -> dict[str, Run]:
    """By model; with the technique or the folder where one of two runs would hide the other."""
    folders = [run.folder.resolve() for run in runs]
    for place, run in enumerate(runs):
        if folders[place] in folders[:place]:
            raise DLBenchError("the run is given twice", where=str(run.folder), fix="name each run once")
    counted = {form: Counter(map(form, runs)) for form in _FORMS}
    named: dict[str, Run] = {}
    for run in runs:
        unique = (form(run) for form, counts in counted.items() if counts[form(run)] == 1 and form(run) not in named)
        named[next(unique, f"{run.name} ({run.folder})")] = run
    return named


def hash_answers(run: Run) -> str:
    """Of all answers of a run, in any order of judging; empty where some are unknown."""
    answers = sorted((one["instance"], one["sample"], one.get("answer_sha256") or "") for one in run.verdicts)
    known = answers and all(answer for _, _, answer in answers)
    return hashlib.sha256(repr(answers).encode()).hexdigest() if known else ""


def group_alike(marks: Mapping[str, str]) -> list[list[str]]:
    """Groups of two or more names with the same mark, such as `hash_answers` gives; an empty mark forms none."""
    alike = group_by(marks, lambda name: marks[name])
    return [names for mark, names in alike.items() if mark and len(names) > 1]


def find_copies(named: Mapping[str, Run]) -> list[list[str]]:
    """Groups of runs with the same answers throughout: the same seed again, or a deterministic model."""
    return group_alike({name: hash_answers(run) for name, run in named.items()})


def repeats_itself(run: Run) -> bool:
    """Some instances have several samples, and all samples of each instance are equal."""
    several = [each for each in group_by(run.verdicts, itemgetter("instance")).values() if len(each) > 1]
    answers = [{record.get("answer_sha256") or "" for record in each} for each in several]
    return bool(answers) and all("" not in each and len(each) == 1 for each in answers)


def find_repeats(named: Mapping[str, Run]) -> list[list[str]]:
    """Groups of runs with the same settings but for the seed. A copy is no repeat: nothing varies between them."""
    copies = {name for names in find_copies(named) for name in names[1:]}
    # `evaluate` knows nothing of the model but the name of a file, and writes no seed
    settings = {
        name: repr(sorted((key, value) for key, value in run.config.items() if key not in _OWN))
        for name, run in named.items()
        if name not in copies and "seed" in run.config
    }
    return group_alike(settings)


def find_spreads(named: Mapping[str, Run], summaries: Mapping[str, Summary]) -> dict[str, Spread]:
    """Run-to-run variance of pass@1: between repeats, and between the samples of a run that has several."""
    found = {
        "; ".join(names): spread([summaries[name].overall.pass_at_1 for name in names]) for names in find_repeats(named)
    }
    for name, run in named.items():
        between = spread_of_samples(run.verdicts)
        if between.runs > 1 and not repeats_itself(run):
            found[f"the samples of {name}"] = between
    return found


def find_track(runs: Iterable[Run]) -> Track:
    """The track of all runs; functions where a configuration names none."""
    tracks = {str(run.config.get("track", Track.FUNCTION)): run for run in runs}
    if len(tracks) > 1:
        listed = ", ".join(f"{run.folder.name} on {track}" for track, run in tracks.items())
        what = f"scores of different tracks are not mixed: {listed}"
        raise DLBenchError(what, fix="pass the runs of one track at a time")
    return find_known(next(iter(tracks)), {str(track): track for track in Track}, "track")


def check_comparable(runs: Sequence[Run]) -> None:
    """Scores on benchmarks of different comparability measure different things."""
    versions = {str(run.config["benchmark"]): run for run in runs if "benchmark" in run.config}
    if len({version.partition(".")[0] for version in versions}) > 1:
        listed = ", ".join(f"{run.folder.name} on {version}" for version, run in versions.items())
        fix = "judge the samples of the older run again with `dlbench evaluate`, on the newer benchmark"
        raise DLBenchError(f"the runs are on benchmark versions that cannot be compared: {listed}", fix=fix)


def comparability_caveats(named: Mapping[str, Run], benchmark: TrackBenchmark) -> Iterator[str]:
    """Why scores side by side measure different things."""
    for name, run in named.items():
        version = str(run.config.get("benchmark", benchmark.version))
        if version.partition(".")[0] != str(benchmark.version.comparability):
            yield (
                f"ANOTHER VERSION: {name} was judged on benchmark {version}, this is {benchmark.version}. Its score"
                " cannot be compared."
            )
    judged = [{record["instance"] for record in run.verdicts} for run in named.values()]
    shared = set.intersection(*judged) if judged else set()
    if any(each != shared for each in judged):
        counts = ", ".join(f"{name} {len(each)}" for name, each in zip(named, judged, strict=True))
        yield f"NOT THE SAME INSTANCES: {counts}; {len(shared)} are in every run. `dlbench compare` compares on those."
    yield from map(copies_caveat, find_copies(named))
    for name, run in named.items():
        if repeats_itself(run):
            yield (
                f"THE SAME ANSWER EACH TIME: all samples of an instance are equal in {name}, as at temperature 0."
                " pass@k equals pass@1, and no variance between samples is shown."
            )


def copies_caveat(names: Sequence[str]) -> str:
    return f"THE SAME ANSWERS: {', '.join(names)} have the same answers throughout. They are one run, not repeats."


def find_unjudged(run: Run) -> int:
    """How many samples of the run's configuration have no verdict yet."""
    instances, samples = run.config.get("instances"), run.config.get("samples", 1)
    if not isinstance(instances, list) or not isinstance(samples, int):
        return 0
    expected = {(instance, sample) for instance in instances for sample in range(samples)}
    return len(expected - {(record["instance"], record["sample"]) for record in run.verdicts})
