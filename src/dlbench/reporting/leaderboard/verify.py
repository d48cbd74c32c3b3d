"""Verify a submission: its consistency, its samples, and its verdicts; all faults are collected in one pass."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from dlbench.dataset import Benchmark, Instance, Selection, has_split, select
from dlbench.reporting.leaderboard import entry as entries
from dlbench.reporting.leaderboard.entry import Claim, Entry
from dlbench.runs.samples import Sample
from dlbench.runs.verdict import Status, Verdict

Key = tuple[str, int]
Judge = Callable[[Sequence[Sample]], Mapping[Key, Verdict]]
_EXACT = 1e-9
OTHER_VERSION = "another dataset version"
_STOPPED = {Status.TIMEOUT, Status.OUT_OF_MEMORY, Status.ERROR}


@dataclass(frozen=True)
class Fault:
    kind: str
    """Such as "missing sample"."""
    what: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.what}"


def check_entry(entry: Entry, benchmark: Benchmark) -> list[Fault]:
    """The faults that are visible without the samples."""
    others = list(_check_integrity(entry))
    same_version = entry.benchmark == str(benchmark.version)
    if not same_version and not is_about(entry, benchmark):
        what = f"made on {entry.benchmark}, this is {benchmark.version}; only that version can verify it"
        return [Fault(OTHER_VERSION, what), *others]
    if not has_split(benchmark, entry.split):
        return [Fault("unknown split", entry.split), *others]
    instances = select(benchmark, Selection(split=entry.split))
    faults = []
    if not _has_its_dataset(entry, benchmark):
        faults.append(Fault("changed dataset", f"prompts, tests or sources differ from version {entry.benchmark}"))
    faults += _check_keys(entry, instances)
    faults += _check_claims(entry, benchmark)
    return (faults or _check_score(entry, benchmark)) + others


def is_newer(entry: Entry, benchmark: Benchmark) -> bool:
    """Whether its dataset version does not exist here yet, so that nobody can have checked it."""
    return _read_version(entry.benchmark) > _read_version(str(benchmark.version))


def count_repeated(entry: Entry) -> int:
    """Samples with the same answer as another of their instance: at a temperature above 0 a hint of copies."""
    answers = Counter((claim.instance, claim.sha256) for claim in entry.verdicts)
    return sum(answers.values()) - len(answers)


def is_about(entry: Entry, benchmark: Benchmark) -> bool:
    """Whether its samples can be judged with this dataset: it has the entry's version, or a later one of the same
    comparability whose prompts, tests and sources are still the same."""
    if not has_split(benchmark, entry.split):
        return False
    made, here = _read_version(entry.benchmark), _read_version(str(benchmark.version))
    return made == here or (made[0] == here[0] and made < here and _has_its_dataset(entry, benchmark))


def _read_version(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def _has_its_dataset(entry: Entry, benchmark: Benchmark) -> bool:
    instances = select(benchmark, Selection(split=entry.split))
    return entries.hash_dataset(instances, benchmark) == entry.dataset_sha256


def check_samples(entry: Entry, samples: Iterable[Sample]) -> list[Fault]:
    """Check that these are exactly the samples that were judged."""
    known = {sample.key: sample for sample in samples}
    claims = {claim.key: claim for claim in entry.verdicts}
    faults = [Fault("missing sample", f"{_name(key)} is not in the file") for key in claims if key not in known]
    for key, sample in known.items():
        if key not in claims:
            faults.append(Fault("unclaimed sample", f"{_name(key)} is in the file and has no verdict"))
        elif claims[key].sha256 != sample.sha256:
            faults.append(Fault("changed sample", f"{_name(key)} is not the answer that was judged"))
    return faults


def draw_share(entry: Entry, share: float, seed: int) -> list[Key]:
    """The samples to run again, drawn uniformly: at least one, and all of them for 1."""
    keys = sorted({claim.key for claim in entry.verdicts})
    return sorted(Random(seed).sample(keys, min(len(keys), max(1, math.ceil(share * len(keys))))))


def check_verdicts(entry: Entry, samples: Sequence[Sample], benchmark: Benchmark, judge: Judge) -> list[Fault]:
    """Judge samples again. A different verdict is judged once more: a slow machine is not a forgery."""
    claims = {claim.key: claim for claim in entry.verdicts}
    found = dict(judge(samples))
    differing = [sample for sample in samples if not _agrees(claims[sample.key], found[sample.key], benchmark)]
    if differing:
        found |= judge(differing)
    faults = []
    for sample in differing:
        claim, verdict = claims[sample.key], found[sample.key]
        if verdict.status is Status.HARNESS_ERROR:
            faults.append(Fault("not judged", f"{_name(sample.key)}: harness error: {verdict.message[:200]}"))
        elif not _agrees(claim, verdict, benchmark):
            tests = entries.spell_tests(verdict.tests, benchmark.instances[sample.instance].tests)
            what = f"claimed {claim.status} ({claim.tests}), found {verdict.status} ({tests})"
            faults.append(Fault("wrong verdict", f"{_name(sample.key)}: {what}"))
    return faults


def _check_keys(entry: Entry, instances: Sequence[Instance]) -> Iterator[Fault]:
    expected = dict.fromkeys(instance.id for instance in instances)
    counts = Counter(claim.key for claim in entry.verdicts)
    judged = dict.fromkeys(claim.instance for claim in entry.verdicts)
    for one in judged:
        if one not in expected:
            yield Fault("unknown instance", f"{one} is not in {entry.split}")
    for key, count in counts.items():
        if count > 1:
            yield Fault("duplicated sample", f"{_name(key)} counts {count} times")
    for one in expected:
        if one not in judged:
            yield Fault("missing instance", one)
            continue
        for number in range(entry.samples):
            if (one, number) not in counts:
                yield Fault("missing sample", _name((one, number)))
    for key in sorted(counts):
        if key[1] >= entry.samples:
            yield Fault("unclaimed sample", f"{_name(key)}: there are {entry.samples} of each")


def _check_claims(entry: Entry, benchmark: Benchmark) -> Iterator[Fault]:
    for claim in entry.verdicts:
        name, instance = _name(claim.key), benchmark.instances.get(claim.instance)
        if instance is None:
            continue
        tests = len(instance.tests)
        if claim.status is Status.HARNESS_ERROR:
            yield Fault("harness error", f"{name} was not judged")
        elif len(claim.tests) != tests:
            yield Fault("impossible verdict", f"{name}: {len(claim.tests)} outcomes of {tests} tests")
        elif not _is_possible(claim):
            yield Fault("impossible verdict", f"{name}: {claim.status}, with the tests {claim.tests}")


def _is_possible(claim: Claim) -> bool:
    """Whether a verdict with these tests can have this status. A stopped candidate may have been stopped after its last
    test passed; code that never ran has run no test."""
    all_passed = set(claim.tests) == {"p"}
    if claim.status is Status.PASS:
        return all_passed
    if claim.status in _STOPPED:
        return True
    return not all_passed if claim.status is Status.FAIL else set(claim.tests) <= {"n"}


def _check_integrity(entry: Entry) -> Iterator[Fault]:
    """Hash of the verdicts, limits and verification, which do not depend on the dataset."""
    if entries.hash_verdicts(entry.verdicts) != entry.verdicts_sha256:
        yield Fault("changed verdicts", "their hash differs; some were changed after they were added")
    seconds, memory = entry.limits
    if seconds > entries.TIMEOUT or memory > entries.MEMORY:
        allowed = f"{entries.TIMEOUT:g} s and {entries.MEMORY} MiB"
        what = f"judged with {seconds:g} s and {memory} MiB; the leaderboard allows {allowed}"
        yield Fault("wider limits", what)
    mark = entry.verified
    if mark is not None and mark.entry_sha256 != entries.hash_entry(entry):
        yield Fault("false mark", "the entry was changed after it was verified")
    elif mark is not None and mark.checked > len(entry.verdicts):
        yield Fault("false mark", f"{mark.checked} samples verified of {len(entry.verdicts)}")


def _check_score(entry: Entry, benchmark: Benchmark) -> list[Fault]:
    found, claimed = (
        {key: value for key, value in score.model_dump().items() if key != "pass_at"}
        | {f"pass@{k}": value for k, value in score.pass_at.items()}
        for score in (entries.score_claims(entry.verdicts, benchmark), entry.score)
    )
    return [
        Fault("wrong score", f"{name}: claimed {claimed.get(name)}, the verdicts give {found.get(name)}")
        for name in {**found, **claimed}
        if not abs(found.get(name, math.inf) - claimed.get(name, -math.inf)) < _EXACT
    ]


def _agrees(claim: Claim, verdict: Verdict, benchmark: Benchmark) -> bool:
    tests = entries.spell_tests(verdict.tests, benchmark.instances[claim.instance].tests)
    if claim.status is not verdict.status or len(claim.tests) != len(tests):
        return False
    # how far a candidate came before it was stopped is random; the outcomes of tests that ran both times are not,
    # except whether one failed or ended in an error: seen for one candidate of 630, and no score depends on it
    is_stopped = claim.status in _STOPPED
    return all(
        a == b or {a, b} == {"f", "e"} or (is_stopped and "n" in (a, b))
        for a, b in zip(claim.tests, tests, strict=True)
    )


def _name(key: Key) -> str:
    return f"{key[0]}, sample {key[1]}"
