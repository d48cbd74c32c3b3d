"""Name runs uniquely, find repeats and copies among them, and check that they can be compared.

Two runs of one model have the same name: in a table by name, one would hide the other.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from dlbench.dataset import Benchmark
from dlbench.errors import DLBenchError
from dlbench.runs import Run
from dlbench.scoring import Spread, Summary, spread, spread_of_samples

_OWN = {"seed", "dlbench", "workers"}
"""Settings in which a repeat may differ from the run that it repeats."""
_FORMS: tuple[Callable[[Run], str], ...] = (
    lambda run: run.name,
    lambda run: f"{run.name}, {run.config['technique']}" if "technique" in run.config else run.name,
    lambda run: f"{run.name} ({run.folder.name})",
)


def name_runs(runs: Sequence[Run]) -> dict[str, Run]:
    """By model; with the technique or the folder where that is needed to distinguish runs."""
    folders: set[Path] = set()
    for run in runs:
        if run.folder.resolve() in folders:
            raise DLBenchError("the run is given twice", where=str(run.folder), fix="name each run once")
        folders.add(run.folder.resolve())
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


def group_alike(answers: Mapping[str, str]) -> list[list[str]]:
    """Groups of two or more names with the same answers; `answers` as `hash_answers` gives them."""
    alike: defaultdict[str, list[str]] = defaultdict(list)
    for name, digest in answers.items():
        alike[digest].append(name)
    return [names for digest, names in alike.items() if digest and len(names) > 1]


def find_copies(named: Mapping[str, Run]) -> list[list[str]]:
    """Groups of runs with the same answers throughout: the same seed again, or a deterministic model."""
    return group_alike({name: hash_answers(run) for name, run in named.items()})


def repeats_itself(run: Run) -> bool:
    """Some instances have several samples, and all samples of each instance are equal."""
    answers: defaultdict[str, list[str]] = defaultdict(list)
    for record in run.verdicts:
        answers[record["instance"]].append(record.get("answer_sha256") or "")
    several = [each for each in answers.values() if len(each) > 1]
    return bool(several) and all("" not in each and len(set(each)) == 1 for each in several)


def find_repeats(named: Mapping[str, Run]) -> list[list[str]]:
    """Groups of runs with the same settings but for the seed. A copy is no repeat: nothing varies between them."""
    alike: defaultdict[str, list[str]] = defaultdict(list)
    copies = {name for names in find_copies(named) for name in names[1:]}
    for name, run in named.items():
        # `evaluate` knows nothing of the model but the name of a file, and writes no seed
        if name not in copies and "seed" in run.config:
            settings = {key: value for key, value in run.config.items() if key not in _OWN}
            alike[repr(sorted(settings.items()))].append(name)
    return [names for names in alike.values() if len(names) > 1]


def find_spreads(named: Mapping[str, Run], summaries: Mapping[str, Summary]) -> dict[str, Spread]:
    """Run-to-run variance of pass@1: between repeats, and between the samples of a run that has several."""
    found = {}
    for names in find_repeats(named):
        found["; ".join(names)] = spread([summaries[name].overall.pass_at_1 for name in names])
    for name, run in named.items():
        between = spread_of_samples(run.verdicts)
        if between.runs > 1 and not repeats_itself(run):
            found[f"the samples of {name}"] = between
    return found


def check_comparable(runs: Sequence[Run]) -> None:
    """Scores on benchmarks of different comparability measure different things."""
    versions = {str(run.config["benchmark"]): run for run in runs if "benchmark" in run.config}
    if len({version.partition(".")[0] for version in versions}) > 1:
        listed = ", ".join(f"{run.folder.name} on {version}" for version, run in versions.items())
        fix = "judge the samples of the older run again with `dlbench evaluate`, on the newer benchmark"
        raise DLBenchError(f"the runs are on benchmark versions that cannot be compared: {listed}", fix=fix)


def comparability_caveats(named: Mapping[str, Run], benchmark: Benchmark) -> list[str]:
    """Why scores side by side measure different things; empty where they do not."""
    found = []
    for name, run in named.items():
        version = str(run.config.get("benchmark", benchmark.version))
        if version.partition(".")[0] != str(benchmark.version.comparability):
            found.append(
                f"ANOTHER VERSION: {name} was judged on benchmark {version}, this is {benchmark.version}. Its score"
                " cannot be compared."
            )
    judged = [{record["instance"] for record in run.verdicts} for run in named.values()]
    shared = set.intersection(*judged) if judged else set()
    if any(each != shared for each in judged):
        counts = ", ".join(f"{name} {len(each)}" for name, each in zip(named, judged, strict=True))
        found.append(
            f"NOT THE SAME INSTANCES: {counts}; {len(shared)} are in every run. `dlbench compare` compares on those."
        )
    found += [copies_caveat(names) for names in find_copies(named)]
    for name, run in named.items():
        if repeats_itself(run):
            found.append(
                f"THE SAME ANSWER EACH TIME: all samples of an instance are equal in {name}, as at temperature 0."
                " pass@k equals pass@1, and no variance between samples is shown."
            )
    return found


def copies_caveat(names: Sequence[str]) -> str:
    return f"THE SAME ANSWERS: {', '.join(names)} have the same answers throughout. They are one run, not repeats."


def find_unjudged(run: Run) -> int:
    """How many samples of the run's configuration have no verdict yet."""
    instances, samples = run.config.get("instances"), run.config.get("samples", 1)
    if not isinstance(instances, list) or not isinstance(samples, int):
        return 0
    expected = {(instance, sample) for instance in instances for sample in range(samples)}
    return len(expected - {(record["instance"], record["sample"]) for record in run.verdicts})
