"""What do we look for, and does a package speak of it?

One data file, `topics.toml`, says it for all steps. Two lists that drift apart would search for one thing and select
another.

How does a stranger's text become a value of ours?

As one line that every reader of our files takes: a line break of a rarer kind would tear a line of JSON in two, and
half a surrogate pair could not be written at all.
"""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dlbench.workspace.package_index import Package

ARRAY, OTHER = "array", "other"


@dataclass(frozen=True)
class Topics:
    github: tuple[str, ...]
    classifiers: frozenset[str]
    words: tuple[str, ...]
    families: dict[str, str]
    """Import name of a library, and the framework that it belongs to; or `array`, or `other`."""
    distributions: dict[str, str]
    """Name on the index, where it differs from the import name by more than dashes."""


@cache
def read_topics() -> Topics:
    content = tomllib.loads(Path(__file__).with_name("topics.toml").read_text(encoding="utf-8"))
    return Topics(
        github=tuple(topic for group in content["github"].values() for topic in group),
        classifiers=frozenset(content["index"]["classifiers"]),
        words=tuple(content["index"]["words"]),
        families={name: family for family, names in content["libraries"].items() for name in names},
        distributions=dict(content["distributions"]),
    )


def find_topics(package: Package) -> list[str]:
    """Which of our words and classifiers the package carries; the long description is advertising and not read."""
    topics = read_topics()
    text = re.sub(r"[\s_-]+", " ", f"{package.summary} , {package.keywords}".lower())
    spoken = [word for word in topics.words if re.search(rf"(?<!\w){re.escape(word)}s?(?!\w)", text)]
    return spoken + [classifier for classifier in package.classifiers if classifier in topics.classifiers]


def to_one_line(text: object, most: int = 500) -> str:
    """Nothing for what is no text; long text is cut."""
    if not isinstance(text, str):
        return ""
    line = " ".join(text.encode("utf-8", "replace").decode().split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
