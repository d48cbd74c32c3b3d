"""Is the project documented?

Its functions by docstrings, or the whole by a text that a person can read. Without either nobody can say what a
function is meant to do, and no fair prompt can be written for it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from dlbench.construction.selection.modules import Module

LEAST_SHARE = 0.3
LEAST_WORDS = 200
_FOLDERS = ("docs", "doc", "documentation")
_TEXTS = (".md", ".rst", ".txt")


@dataclass(frozen=True)
class Documents:
    share: float
    public: int
    words: int

    @property
    def enough(self) -> bool:
        return self.share >= LEAST_SHARE or self.words >= LEAST_WORDS


def find_documents(tree: Path, modules: Iterable[Module], description: str) -> Documents:
    """`description` stands in for a README that the archive lacks: the index shows what it was."""
    public = documented = 0
    for module in modules:
        public += module.public
        documented += module.documented
    readme = sum(_count_words(path) for path in tree.iterdir() if path.name.lower().startswith("readme"))
    pages = (path for folder in _FOLDERS for path in (tree / folder).rglob("*") if path.suffix.lower() in _TEXTS)
    words = max(readme, len(description.split())) + sum(map(_count_words, pages))
    return Documents(documented / public if public else 0.0, public, words)


def _count_words(path: Path) -> int:
    if path.is_symlink() or not path.is_file():
        return 0
    return len(path.read_text(encoding="utf-8", errors="replace").split())
