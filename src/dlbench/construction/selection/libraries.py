"""Is it deep-learning code, and on which framework?

Said by what it depends on and what its modules import. One module of many that happens to offer a callback for keras
makes no deep-learning project, and numpy alone makes an array package, which counts only when it says itself that it
is about machine learning.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from dlbench.construction.selection.topics import ARRAY, OTHER, read_topics

FRAMEWORKS = ("torch", "jax", "tensorflow", "keras")
LEAST_SHARE = 0.1


@dataclass(frozen=True)
class Libraries:
    """`kind`: dl, array, or nothing. `figures` says in words what was found."""

    kind: str
    framework: str
    figures: str


def find_libraries(
    requires: Collection[str], packages: Collection[str], imports: Collection[frozenset[str]]
) -> Libraries:
    """`imports`: for each module of the project, what it imports."""
    families = read_topics().families
    own = {families[package] for package in packages if package in families}
    depends = sorted({name for name in _dependencies(requires) if name in families})
    needed = {families[name] for name in depends}
    used = Counter(
        family for names in imports for family in {families[name] for name in names - set(packages) if name in families}
    )
    figures = _describe(depends, used, len(imports))
    often = {family for family, count in used.items() if count >= max(1.0, LEAST_SHARE * len(imports))}
    deep = [family for family in (*FRAMEWORKS, OTHER) if family in own | needed | often]
    if not deep:
        array = ARRAY in own | needed | often
        return Libraries("array" if array else "", "numpy" if array else "", figures)
    best = max(deep, key=lambda family: (family in own, used[family]))
    if not (own | needed) & set(deep) and used[ARRAY] > used[best]:
        best = "numpy"
    return Libraries("dl", best, figures)


def _dependencies(requires: Collection[str]) -> Iterator[str]:
    """Import names of what is always installed; an extra is somebody else's wish."""
    topics = read_topics()
    for text in requires:
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            continue
        if not (requirement.marker and re.search(r"\bextra\b", str(requirement.marker))):
            name = canonicalize_name(requirement.name)
            yield topics.distributions.get(name, name.replace("-", "_"))


def _describe(depends: list[str], used: Counter[str], modules: int) -> str:
    needed = f"depends on {', '.join(depends)}" if depends else "depends on none that is known"
    counts = ", ".join(f"{count} import {family}" for family, count in used.most_common())
    return f"{needed}; of {modules} modules {counts or 'none imports one'}"
