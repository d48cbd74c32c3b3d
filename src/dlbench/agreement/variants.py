"""What is a variant of a prompt, and how is it told apart from the original?

A variant that forgot under which names it asked could not be judged: the answer defines `f1(a, b)` where the project
calls `scale(x, factor)`. So a variant carries the names it showed, and every later step (answers, tests, the matrix,
the study) reads them from here.

Which variants was a run asked with? Kept, so that a second start asks the same and a study knows what was asked.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from dlbench.errors import DLBenchError
from dlbench.jsonl import read_lines, rewrite

ORIGINAL = "original"


@dataclass(frozen=True, slots=True)
class Variant:
    """One wording of one instance's task.

    `index` counts the variants of one instance from 0, the original first; `task` is the prompt's text; `function` is
    the name under which the function is asked for; `parameters` maps the project's names to those shown, if others.
    """

    instance: str
    index: int
    operator: str
    task: str
    function: str
    parameters: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_original(self) -> bool:
        """The untouched prompt, against which the others are compared."""
        return self.operator == ORIGINAL


VARIANTS = "variants.jsonl"


def write_variants(path: Path, variants: Iterable[Variant]) -> None:
    rewrite(path, (asdict(variant) for variant in variants))


def read_variants(path: Path) -> dict[str, list[Variant]]:
    """By instance, in the order of their index; the original must be the first."""
    found: dict[str, list[Variant]] = {}
    for number, record in read_lines(path):
        where = f"{path}:{number}"
        try:
            variant = Variant(**record)
        except TypeError as error:
            fix = "one object a line, as `dlbench agree mutate --json` prints it"
            raise DLBenchError(f"not a variant: {error}", where=where, fix=fix) from None
        own = found.setdefault(variant.instance, [])
        if variant.index != len(own) or variant.is_original != (not own):
            what = f"variant {variant.index} ({variant.operator}) of {variant.instance} is out of turn"
            raise DLBenchError(what, where=where, fix="count from 0, the original first")
        own.append(variant)
    return found
