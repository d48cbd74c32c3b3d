"""Which candidates are measured, and what of them is missing?

Only those that pass: what a wrong answer takes says nothing. Samples with the same code are one candidate.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dlbench.analysis.efficiency.keeping import Keeper, Kept, name_code, name_instance
from dlbench.analysis.efficiency.measuring import REFERENCE, Job, find_waiting
from dlbench.analysis.efficiency.upkeep import measure_upkeep
from dlbench.dataset import Instance
from dlbench.execution.answer import AnswerError
from dlbench.execution.engine import TargetInModule, read_module
from dlbench.execution.evaluate import find_code
from dlbench.runs.samples import Sample
from dlbench.runs.verdict import Status
from dlbench.workspace import Prepared


@dataclass(frozen=True)
class Passing:
    """What passes on one instance: by sample, the code."""

    instance: Instance
    codes: Mapping[int, str]

    @cached_property
    def about(self) -> str:
        return name_instance(self.instance)

    @cached_property
    def names(self) -> dict[int, str]:
        """By sample, the candidate's name."""
        return {sample: name_code(code) for sample, code in self.codes.items()}

    @cached_property
    def candidates(self) -> dict[str, str]:
        """By name, the code."""
        return {self.names[sample]: code for sample, code in self.codes.items()}


def find_passing(
    verdicts: Iterable[Mapping[str, Any]], samples: Iterable[Sample], instances: Iterable[Instance]
) -> list[Passing]:
    """Of the given instances."""
    passed = {(one["instance"], one["sample"]) for one in verdicts if one["status"] == Status.PASS}
    wanted = {instance.id: instance for instance in instances}
    found: defaultdict[str, dict[int, str]] = defaultdict(dict)
    for sample in samples:
        if sample.key in passed and sample.instance in wanted:
            code = find_code(sample, wanted[sample.instance].qualname).code
            if code is not None:
                found[sample.instance][sample.sample] = code
    return [Passing(wanted[name], codes) for name, codes in found.items()]


def plan_jobs(passing: Sequence[Passing], kept: Kept, repeats: int) -> list[Job]:
    """What is to be run yet."""
    jobs = [Job(one.instance, one.candidates, tuple(kept.rounds.get(one.about, ()))) for one in passing]
    return [job for job in jobs if find_waiting(job.codes, job.done, repeats)]


def find_unread(passing: Sequence[Passing], kept: Kept) -> list[Passing]:
    """Those with code whose upkeep nobody has measured."""
    return [one for one in passing if {REFERENCE, *one.candidates} - kept.upkeep.get(one.about, {}).keys()]


def read_upkeep(unread: Sequence[Passing], prepared: Mapping[str, Prepared], keeper: Keeper) -> None:
    for one in unread:
        asked = TargetInModule(one.instance, read_module(prepared[one.instance.project], one.instance))
        found = {}
        for name, code in ({REFERENCE: asked.target.text} | one.candidates).items():
            try:
                found[name] = measure_upkeep(asked.read(code).spliced)
            except AnswerError:  # its rounds will show that it does not pass
                continue
        keeper.keep_upkeep(one.instance, found)
