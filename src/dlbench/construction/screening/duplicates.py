"""Which functions are copies, or nearly copies, of another?

Projects repeat themselves: one layer for each number of dimensions, one method in every subclass. Two instances that
ask for the same code count one skill twice. Two functions are near when the sets of five tokens in a row of their
normal forms overlap by `threshold` (Jaccard); what is near to one of a group belongs to the group.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from dlbench.dataset.similarity import SHINGLE, normal_form, shingle
from dlbench.errors import DLBenchError

__all__ = ["SHINGLE", "find_duplicates", "find_near", "normal_form"]


def find_duplicates(segments: Mapping[str, str], threshold: float = 0.85) -> dict[str, str]:
    """Each that should go, with the one kept of its group: the shortest id, and of those the first in the alphabet."""
    if not 0 < threshold <= 1:
        raise DLBenchError(f"a share of {threshold} cannot overlap", where="threshold", fix="give one over 0, up to 1")
    groups: dict[str, list[str]] = defaultdict(list)
    for name in sorted(segments, key=_preference):
        groups[normal_form(segments[name])].append(name)
    forms = {names[0]: form for form, names in groups.items()}
    kept = _join(list(forms), find_near(forms, threshold))
    return {name: kept[names[0]] for names in groups.values() for name in names if name != kept[names[0]]}


def find_near(texts: Mapping[str, str], threshold: float) -> Iterator[tuple[str, str]]:
    """Every pair that is near, each once.

    Two sets overlap that much only if they share one of their rarest few members. So each set is looked up, and
    entered, under those alone, and nothing is compared with everything.
    """
    shingles = {name: shingle(text) for name, text in texts.items()}
    counts = Counter(member for found in shingles.values() for member in found)
    # the rarest first; in which order those of one rarity come changes how soon a pair is met, not whether
    rank = {member: place for place, member in enumerate(sorted(counts, key=counts.__getitem__))}
    sets = sorted(((name, {rank[member] for member in found}) for name, found in shingles.items()), key=_by_size)
    entered: dict[int, list[int]] = defaultdict(list)
    for place, (name, members) in enumerate(sets):
        least = math.ceil(threshold * len(members) - 1e-9)
        rarest = sorted(members)[: len(members) - least + 1]
        for other in sorted({other for member in rarest for other in entered[member]}):
            other_name, others = sets[other]
            if len(others) >= least and _overlap(members, others) >= threshold:
                yield other_name, name
        for member in rarest:
            entered[member].append(place)


def _by_size(item: tuple[str, set[int]]) -> tuple[int, str]:
    return len(item[1]), item[0]


def _overlap(one: set[int], other: set[int]) -> float:
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared)


def _join(names: list[str], pairs: Iterator[tuple[str, str]]) -> dict[str, str]:
    """The preferred name of each one's group, where groups are what the pairs connect."""
    parent = {name: name for name in names}

    def root(name: str) -> str:
        while parent[name] != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    for one, other in pairs:
        first, second = sorted((root(one), root(other)), key=_preference)
        parent[second] = first
    return {name: root(name) for name in names}


def _preference(name: str) -> tuple[int, str]:
    return len(name), name
