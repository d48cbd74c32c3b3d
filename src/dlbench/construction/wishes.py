"""Which projects shall be gone through, and what is known of each beforehand?

A TOML file with a table `project` for each; only the name must be there. What a release needs beside what it says is a
fact that somebody found out once, and belongs into a file that others can use.
"""

import tomllib
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from dlbench.construction.project import Wish
from dlbench.errors import DLBenchError


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    version: str = ""
    requirements: tuple[str, ...] = ()
    only_these: bool = False
    env: dict[str, str] = {}
    args: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    framework: str = ""
    files: dict[str, str] = {}


def read_wishes(path: Path) -> list[Wish]:
    mend = 'write a table [[project]] for each, with name = "…" and what else is known; see docs/construction'
    try:
        content: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
        tables = [_Table(**table) for table in content["project"]]
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, KeyError, TypeError, ValidationError) as error:
        raise DLBenchError(f"not a list of projects: {error}", where=str(path), mend=mend) from None
    return [Wish(**table.model_dump()) for table in tables]
