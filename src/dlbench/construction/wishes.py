"""Which projects shall be gone through, and what is known of each beforehand?

A TOML file with a table `project` for each; only the name must be there. What a release needs beside what it says is a
fact that somebody found out once, and belongs into a file that others can use.
"""

import tomllib
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from dlbench.construction.project import Wish
from dlbench.dataset.labels import Framework
from dlbench.errors import DLBenchError

_MEND = 'write a table [[project]] for each, with name = "…" and what else is known; see docs/construction'


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
    framework: Framework | None = None
    files: dict[str, str] = {}


def read_wishes(path: Path) -> list[Wish]:
    """Raises DLBenchError for the first table that is wrong, before anything is done with those before it."""
    try:
        content: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
        tables = list(content["project"])
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise DLBenchError(f"not a list of projects: {error}", where=str(path), mend=_MEND) from None
    return [_read_table(table, f"{path}: project {number}") for number, table in enumerate(tables, 1)]


def _read_table(table: object, where: str) -> Wish:
    try:
        return Wish(**_Table.model_validate(table).model_dump())
    except ValidationError as error:
        first = error.errors()[0]
        what = f"not a list of projects: {'.'.join(map(str, first['loc'])) or 'the table'}: {first['msg']}"
        if isinstance(table, dict) and isinstance(table.get("name"), str):
            where += f" ({table['name']})"
        if first["type"] == "enum":
            raise DLBenchError(f"{what}, not {first['input']!r}", where=where, mend="use one of those listed") from None
        raise DLBenchError(what, where=where, mend=_MEND) from None
