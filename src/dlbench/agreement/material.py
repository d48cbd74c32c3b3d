"""What does the folder of a run with agreement hold? Read once, for every figure that is made of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dlbench.agreement.agreeing import CHOICES, FOLDER, Chosen, read_choices
from dlbench.agreement.answers import Answers, read_answers
from dlbench.agreement.asking import ANSWERS
from dlbench.agreement.matrix import MATRIX, Matrix, read_matrix
from dlbench.agreement.variant import Variant
from dlbench.agreement.variants_file import VARIANTS, read_variants
from dlbench.dataset import Benchmark, Instance, find_known
from dlbench.errors import DLBenchError
from dlbench.jsonl import read_lines
from dlbench.runs.samples import Sample
from dlbench.runs.verdict import VERDICTS, Verdict
from dlbench.scoring import HARNESS_ERROR

NO_CODE, UNKNOWN = "no_code", "unknown"


@dataclass(frozen=True)
class Material:
    variants: Mapping[str, Sequence[Variant]]
    answers: Mapping[str, Answers]
    statuses: Mapping[str, Mapping[int, str]]
    """What the judge said of each variant's solution; `no_code` where there is none."""
    choices: Mapping[str, Chosen]
    matrix: Matrix

    @property
    def sound(self) -> list[str]:
        """Instances without a harness error."""
        return [one for one in self.choices if HARNESS_ERROR not in self.statuses[one].values()]

    def solved(self, instance: str) -> tuple[bool, ...]:
        """By variant, the original first."""
        return tuple(self.statuses[instance][variant.index] == "pass" for variant in self.variants[instance])


def read_material(folder: Path, benchmark: Benchmark) -> Material:
    inner = folder / FOLDER
    needed = (VARIANTS, ANSWERS, MATRIX, CHOICES)
    missing = [name for name in needed if not (inner / name).is_file()]
    if missing:
        mend = "give a folder that `dlbench run --technique dual-agreement` has written to its end"
        raise DLBenchError(f"{', '.join(missing)} is missing", where=str(inner), mend=mend)
    variants = read_variants(inner / VARIANTS)
    choices = read_choices(inner / CHOICES)
    known: dict[str, Instance] = {one: find_known(one, benchmark.instances, "instance") for one in choices}
    answers = read_answers(inner / ANSWERS, known, variants)
    statuses = {
        one: {variant.index: UNKNOWN if variant.index in answers[one].usable else NO_CODE for variant in variants[one]}
        for one in choices
    }
    if (inner / VERDICTS).is_file():
        for number, record in read_lines(inner / VERDICTS):
            verdict = Verdict.from_record(record, f"{inner / VERDICTS}:{number}")
            if verdict.instance in statuses:
                statuses[verdict.instance][verdict.sample] = str(verdict.status)
    _refuse_unjudged(statuses, answers, inner)
    return Material(variants, answers, statuses, choices, read_matrix(inner / MATRIX))


def _refuse_unjudged(statuses: Mapping[str, Mapping[int, str]], answers: Mapping[str, Answers], inner: Path) -> None:
    """A solution with code and without a verdict would count as a failure."""
    unjudged = [
        f"{one}, variant {index}"
        for one in statuses
        for index in answers[one].usable
        if statuses[one][index] == UNKNOWN
    ]
    if unjudged:
        what = f"{len(unjudged)} solutions have no verdict yet, the first of {unjudged[0]}"
        raise DLBenchError(what, where=str(inner), mend="start the run's own command again, which goes on with it")


def list_samples(answers: Mapping[str, Answers]) -> list[Sample]:
    """Every variant's solution, to be judged by the project's tests; the sample's number is the variant's."""
    return [
        Sample(instance, index, solution.code, is_code=True)
        for instance, found in answers.items()
        for index, solution in found.usable.items()
    ]
