"""Define a variant of a prompt, and read the variants of a run.

An answer to a variant may define `f1(a, b)` where the project calls `scale(x, factor)`, so a variant carries the names
that it shows. The file makes a resumed run ask the same requests.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dlbench.errors import DLBenchError
from dlbench.jsonl import read_lines

ORIGINAL = "original"
VARIANTS = "variants.jsonl"


@dataclass(frozen=True, slots=True)
class Variant:
    """One paraphrase of one instance's prompt; `function` is the name that it shows; `parameters` maps the project's
    parameter names to those shown, if they differ."""

    instance: str
    index: int
    operator: str
    task: str
    function: str
    parameters: Mapping[str, str] = field(default_factory=dict)

    @property
    def own_name(self) -> str:
        """The project's name of the function."""
        return self.instance.rpartition(".")[2]

    @property
    def owner(self) -> str:
        """The class of a method, or the module of a function."""
        return self.instance.rpartition("/")[2].split(".")[-2]

    @property
    def own_parameters(self) -> dict[str, str]:
        """The project's names by the names shown, where they differ."""
        return {shown: own for own, shown in self.parameters.items() if shown != own}


def read_variants(path: Path) -> dict[str, list[Variant]]:
    """Variants by instance, in the order of their index, the original first."""
    found: dict[str, list[Variant]] = {}
    for number, record in read_lines(path):
        where = f"{path}:{number}"
        try:
            variant = Variant(**record)
        except TypeError as error:
            fix = "write one object per line, as `dlbench agree mutate --json` prints it"
            raise DLBenchError(f"not a variant: {error}", where=where, fix=fix) from None
        own = found.setdefault(variant.instance, [])
        if variant.index != len(own) or (variant.operator == ORIGINAL) != (not own):
            what = f"variant {variant.index} ({variant.operator}) of {variant.instance} is out of order"
            raise DLBenchError(what, where=where, fix="number the variants from 0, the original first")
        own.append(variant)
    return found
