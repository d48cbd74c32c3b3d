"""Discover projects and select those that can give instances (steps 1 and 2), by the topics of `topics.toml`.

Both steps use this one data file, so that search and selection cannot drift apart.
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
    """By import name of a library: its framework, or `array`, or `other`."""
    distributions: dict[str, str]
    """By name on the index: the import name, where they differ by more than dashes."""


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
    """Known words and classifiers in the package's summary, keywords and classifiers."""
    topics = read_topics()
    text = re.sub(r"[\s_-]+", " ", f"{package.summary} , {package.keywords}".lower())
    words = [word for word in topics.words if re.search(rf"(?<!\w){re.escape(word)}s?(?!\w)", text)]
    return words + [classifier for classifier in package.classifiers if classifier in topics.classifiers]


def to_one_line(text: object, most: int = 500) -> str:
    """The text as one line of limited length, safe for JSONL files; empty if it is not a string."""
    if not isinstance(text, str):
        return ""
    line = " ".join(text.encode("utf-8", "replace").decode().split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
