"""Which packages does a project need, and its tests beside?

A release says what it needs, and often in an extra what its tests need; the rest is known only when tests are collected
and do not find a module. Names of modules are not names of packages: where they differ, a table of ours says so.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from email.parser import HeaderParser
from functools import cache
from pathlib import Path
from typing import Any

_TEST_EXTRAS = ("test", "tests", "testing", "dev", "develop", "unittest")
_MISSING = re.compile(r"No module named '([\w.]+)'")


def read_requirements(tree: Path, known: tuple[str, ...], *, only_these: bool, python: str) -> list[str]:
    """What the release says it needs, what it says its tests need, and what is known beside."""
    lines = [] if only_these else list(_read_metadata(tree, python))
    return list(dict.fromkeys([*lines, *known, "pytest"]))


def _read_metadata(tree: Path, python: str) -> Iterator[str]:
    from packaging.requirements import InvalidRequirement, Requirement

    metadata = tree / "PKG-INFO"
    text = metadata.read_text(encoding="utf-8", errors="replace") if metadata.is_file() else ""
    for line in HeaderParser().parsestr(text).get_all("Requires-Dist") or []:
        try:
            wanted = Requirement(line)
        except InvalidRequirement:
            continue
        environment = {"python_version": python, "python_full_version": f"{python}.9", "sys_platform": "linux"}
        is_plain = wanted.marker is None or wanted.marker.evaluate(environment | {"extra": ""})
        extra = next(
            (
                one
                for one in _TEST_EXTRAS
                if wanted.marker is not None and wanted.marker.evaluate(environment | {"extra": one})
            ),
            None,
        )
        is_tool = any(wanted.name.lower().startswith(tool) for tool in _tables()["tools"])
        if is_plain or (extra and not is_tool):
            wanted.marker = None
            yield str(wanted)


def find_missing(errors: list[str]) -> list[str]:
    """Packages for the modules that tests did not find, the most wanted first."""
    names = Counter(name for error in errors for name in set(_MISSING.findall(error)))
    modules = _tables()["modules"]
    packages = [
        modules.get(name) or modules.get(name.partition(".")[0]) or name.partition(".")[0]
        for name, _ in names.most_common()
    ]
    return list(dict.fromkeys(packages))


@cache
def _tables() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "packages.toml").read_text(encoding="utf-8"))
