"""Which variants was a run asked with? Kept, so that a second start asks the same and a study knows what was asked."""

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from dlbench.agreement.variant import Variant
from dlbench.errors import DLBenchError
from dlbench.jsonl import read_lines, rewrite

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
            mend = "one object a line, as `dlbench agree mutate --json` prints it"
            raise DLBenchError(f"not a variant: {error}", where=where, mend=mend) from None
        own = found.setdefault(variant.instance, [])
        if variant.index != len(own) or variant.is_original != (not own):
            what = f"variant {variant.index} ({variant.operator}) of {variant.instance} is out of turn"
            raise DLBenchError(what, where=where, mend="count from 0, the original first")
        own.append(variant)
    return found
