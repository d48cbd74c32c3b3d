"""How are several runs told apart, which are repeats of one another, and may they be compared at all?

Two runs of one model have the same name: shown under it, one of them would vanish from the table.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from dlbench.dataset import Benchmark
from dlbench.errors import DLBenchError
from dlbench.runs import Run
from dlbench.scoring import Spread, Summary, spread, spread_of_samples

_OWN = {"seed", "dlbench", "workers"}
"""In what a repeat may differ from the run that it repeats."""


def name_runs(runs: Sequence[Run]) -> dict[str, Run]:
    """By model; with technique where that tells runs apart, and with the folder where nothing else does."""
    _refuse_twice(runs)
    counted = {form: Counter(map(form, runs)) for form in (_by_model, _by_technique, _by_folder)}
    named: dict[str, Run] = {}
    for run in runs:
        fitting = (form(run) for form, counts in counted.items() if counts[form(run)] == 1 and form(run) not in named)
        named[next(fitting, f"{run.name} ({run.folder})")] = run
    return named


def find_copies(named: Mapping[str, Run]) -> list[list[str]]:
    """Names of runs that have the same answers throughout, two or more together: the same seed given again, or a
    model without any chance in it."""
    return group_alike({name: hash_answers(run) for name, run in named.items()})


def hash_answers(run: Run) -> str:
    """Of all answers of a run, in whatever order they were judged; empty where some are not known."""
    answers = sorted((one["instance"], one["sample"], one.get("answer_sha256") or "") for one in run.verdicts)
    known = answers and all(answer for _, _, answer in answers)
    return hashlib.sha256(repr(answers).encode()).hexdigest() if known else ""


def group_alike(answers: Mapping[str, str]) -> list[list[str]]:
    """Names with the same answers, two or more together; `answers` as `hash_answers` gives them."""
    alike: defaultdict[str, list[str]] = defaultdict(list)
    for name, digest in answers.items():
        alike[digest].append(name)
    return [names for digest, names in alike.items() if digest and len(names) > 1]


def repeats_itself(run: Run) -> bool:
    """There are several samples of an instance, and all samples of each instance are one answer."""
    answers: defaultdict[str, list[str]] = defaultdict(list)
    for record in run.verdicts:
        answers[record["instance"]].append(record.get("answer_sha256") or "")
    several = [each for each in answers.values() if len(each) > 1]
    return bool(several) and all("" not in each and len(set(each)) == 1 for each in several)


def find_repeats(named: Mapping[str, Run]) -> list[list[str]]:
    """Names of runs that were begun with the same settings but for the seed, two or more together. A copy of another
    is no repeat of it: nothing could vary between them."""
    alike: defaultdict[str, list[str]] = defaultdict(list)
    copies = {name for names in find_copies(named) for name in names[1:]}
    for name, run in named.items():
        if name in copies:
            continue
        settings = {key: value for key, value in run.config.items() if key not in _OWN}
        if "seed" in run.config:  # `evaluate` knows nothing of the model but the name of a file
            alike[repr(sorted(settings.items()))].append(name)
    return [names for names in alike.values() if len(names) > 1]


def find_spreads(named: Mapping[str, Run], summaries: Mapping[str, Summary]) -> dict[str, Spread]:
    """How pass@1 moves between repeats, and between the samples of a run that has several."""
    found = {}
    for names in find_repeats(named):
        found["; ".join(names)] = spread([summaries[name].overall.pass_at_1 for name in names])
    for name, run in named.items():
        between = spread_of_samples(run.verdicts)
        if between.runs > 1 and not repeats_itself(run):
            found[f"the samples of {name}"] = between
    return found


def check_comparable(runs: Sequence[Run]) -> None:
    """Scores on benchmarks of another comparability are not about the same thing."""
    versions = {str(run.config["benchmark"]): run for run in runs if "benchmark" in run.config}
    if len({version.partition(".")[0] for version in versions}) > 1:
        told = ", ".join(f"{run.folder.name} on {version}" for version, run in versions.items())
        fix = "judge the samples of the older run again with `dlbench evaluate`, on the newer benchmark"
        raise DLBenchError(f"the runs are on versions of the benchmark that cannot be compared: {told}", fix=fix)


def comparability_caveats(named: Mapping[str, Run], benchmark: Benchmark) -> list[str]:
    """Why scores that stand side by side are not about the same thing; nothing where they are."""
    told = []
    for name, run in named.items():
        version = str(run.config.get("benchmark", benchmark.version))
        if version.partition(".")[0] != str(benchmark.version.comparability):
            told.append(
                f"ANOTHER VERSION: {name} was judged on benchmark {version}, and this is {benchmark.version}: its score"
                " cannot be compared."
            )
    asked = [{record["instance"] for record in run.verdicts} for run in named.values()]
    shared = set.intersection(*asked) if asked else set()
    if any(each != shared for each in asked):
        counts = ", ".join(f"{name} {len(each)}" for name, each in zip(named, asked, strict=True))
        told.append(
            f"NOT THE SAME INSTANCES: {counts}; {len(shared)} are in every run. On those `dlbench compare` sets runs"
            " side by side."
        )
    told += [copies_caveat(names) for names in find_copies(named)]
    for name, run in named.items():
        if repeats_itself(run):
            told.append(
                f"THE SAME ANSWER EACH TIME: all samples of an instance are alike in {name}, as at temperature 0:"
                " pass@k is pass@1, and no spread between them is shown."
            )
    return told


def copies_caveat(names: Sequence[str]) -> str:
    return (
        f"THE SAME ANSWERS: {', '.join(names)} have the same answers throughout, and are one run; they are no repeats"
        " of one another."
    )


def find_unjudged(run: Run) -> int:
    """How many samples the run was to ask for, and has no verdict on yet."""
    asked, each = run.config.get("instances"), run.config.get("samples", 1)
    if not isinstance(asked, list) or not isinstance(each, int):
        return 0
    wanted = {(instance, sample) for instance in asked for sample in range(each)}
    return len(wanted - {(record["instance"], record["sample"]) for record in run.verdicts})


def _refuse_twice(runs: Sequence[Run]) -> None:
    folders: set[Path] = set()
    for run in runs:
        if run.folder.resolve() in folders:
            raise DLBenchError("the run is given twice", where=str(run.folder), fix="name each run once")
        folders.add(run.folder.resolve())


def _by_model(run: Run) -> str:
    return run.name


def _by_technique(run: Run) -> str:
    return f"{run.name}, {run.config['technique']}" if "technique" in run.config else run.name


def _by_folder(run: Run) -> str:
    return f"{run.name} ({run.folder.name})"
