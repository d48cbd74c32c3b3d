"""Read the candidates of a run, and rate the difficulty of instances."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from textwrap import indent

from dlbench.dataset import Benchmark, Instance
from dlbench.dataset.file_task import FileTask
from dlbench.dataset.tracks import TrackInstance
from dlbench.execution.sample_judge import find_code
from dlbench.reporting.leaderboard.entry import BASELINES
from dlbench.runs import SAMPLES, Run
from dlbench.runs.samples import Sample, read_samples
from dlbench.scoring import Tally
from dlbench.scoring.tally import mean

LONGEST = 20_000
"""Characters of a candidate that are shown: no honest function has more, and some answers are megabytes of a word."""
_DEPTHS = ("", " " * 4, " " * 8)


@dataclass(frozen=True)
class Candidate:
    text: str
    is_code: bool
    """Otherwise it is the model's answer, in which no code was found."""
    left_out: int = 0
    """Characters that are not shown."""


Candidates = dict[tuple[str, int], Candidate]


def read_candidates(
    run: Run, benchmark: Benchmark, *, public: bool, on_read: Callable[[str], None] = lambda instance: None
) -> Candidates:
    """By instance and sample; empty where the folder has no samples. `public`: without references and their mutants."""
    path = run.folder / SAMPLES
    if not path.is_file():
        return {}
    found: Candidates = {}
    for sample in read_samples(path, benchmark):
        instance = benchmark.instances[sample.instance]
        code = _find_code(sample.text, sample.is_code, instance.qualname)
        text = sample.text if code is None else code
        candidate = Candidate(text[:LONGEST], code is not None, max(0, len(text) - LONGEST))
        is_theirs = run.config.get("model") in ("reference", "mutant") or is_reference(candidate.text, instance)
        if not (public and is_theirs):
            found[sample.key] = candidate
        on_read(sample.instance)
    return found


def is_reference(code: str, instance: Instance) -> bool:
    """By hash, so that it works without the source; the hash of a method includes its indentation."""
    texts = (indent(code.strip("\n"), depth) for depth in _DEPTHS)
    return instance.sha256 in {hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest() for text in texts}


@lru_cache(maxsize=4096)  # at temperature 0 answers repeat, and extraction takes milliseconds
def _find_code(text: str, is_code: bool, qualname: str) -> str | None:
    return find_code(Sample("", 0, text, is_code), qualname).code


LEVELS = ("easy", "medium", "hard", "unsolved", "unknown")
_SMALL, _LARGE = (10, 5), (30, 15)
"""Lines of code and cognitive complexity: small has neither above its limit, large has either above its limit."""


def informs_difficulty(run: Run) -> bool:
    """False for the baselines: the reference solves everything and the stub nothing."""
    return run.config.get("model") not in BASELINES


def find_difficulty(instance: TrackInstance, runs: Sequence[Mapping[str, Tally]]) -> str:
    """One of `LEVELS`, by thirds of the share that passes, each run counting the same; without runs, an estimate."""
    if not runs:
        return _estimate(instance)
    found = [tallies[instance.id] for tallies in runs if instance.id in tallies]
    shares = [one.share for one in found if not one.harness_errors]
    if not shares:
        return "unknown"
    share = mean(shares)
    return "unsolved" if not share else "hard" if share < 1 / 3 else "medium" if share < 2 / 3 else "easy"


def _estimate(instance: TrackInstance) -> str:
    if isinstance(instance, FileTask):
        return "unknown"
    loc, cognitive = instance.measures.loc, instance.measures.cognitive
    if loc is None or cognitive is None:
        return "unknown"
    if loc > _LARGE[0] or cognitive > _LARGE[1]:
        return "hard"
    return "easy" if loc <= _SMALL[0] and cognitive <= _SMALL[1] else "medium"
