"""Find functions that are copies or near copies of another.

Projects repeat themselves: one layer for each number of dimensions, one method in every subclass. Two instances of the
same code would count one skill twice. Two functions are near copies if the sets of five-token shingles of their normal
forms overlap by `threshold` (Jaccard); groups are the connected components.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from dlbench.dataset.similarity import normal_form, shingle


def find_duplicates(segments: Mapping[str, str], threshold: float = 0.85) -> dict[str, str]:
    """Each function to drop, with the one kept of its group: the shortest id, then the alphabetically first."""
    groups: dict[str, list[str]] = defaultdict(list)
    for name in sorted(segments, key=_preference):
        groups[normal_form(segments[name])].append(name)
    forms = {names[0]: form for form, names in groups.items()}
    kept = _join(list(forms), find_near(forms, threshold))
    return {name: kept[names[0]] for names in groups.values() for name in names if name != kept[names[0]]}


def find_near(texts: Mapping[str, str], threshold: float) -> Iterator[tuple[str, str]]:
    """Yield every pair of near copies once.

    Two sets can overlap that much only if they share one of their rarest members (prefix filtering). Sets are indexed
    by those members only, which avoids comparing all pairs.
    """
    shingles = {name: shingle(text) for name, text in texts.items()}
    counts = Counter(member for found in shingles.values() for member in found)
    # Rarest first; the order among equally rare members does not affect which pairs are found.
    rank = {member: index for index, member in enumerate(sorted(counts, key=counts.__getitem__))}
    sets = [(name, {rank[member] for member in found}) for name, found in shingles.items()]
    sets.sort(key=lambda pair: (len(pair[1]), pair[0]))
    by_member: dict[int, list[int]] = defaultdict(list)
    for index, (name, members) in enumerate(sets):
        least = math.ceil(threshold * len(members) - 1e-9)
        rarest = sorted(members)[: len(members) - least + 1]
        for other in sorted({other for member in rarest for other in by_member[member]}):
            other_name, others = sets[other]
            shared = len(members & others)
            if len(others) >= least and shared / (len(members) + len(others) - shared) >= threshold:
                yield other_name, name
        for member in rarest:
            by_member[member].append(index)


def _join(names: list[str], pairs: Iterator[tuple[str, str]]) -> dict[str, str]:
    """The preferred name of each name's group (union-find over the pairs)."""
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
