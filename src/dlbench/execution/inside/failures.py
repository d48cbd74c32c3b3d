"""Why did a test fail, in few words?

pytest shows the source of every frame, for which it parses each file on the way: of a failing candidate's time, most.
Here it is said where the error passed and what it was, without a look at any source.
"""

from __future__ import annotations

import traceback
from functools import partial
from typing import Any

import pytest

_FRAMES = 12
_MACHINERY = ("/_pytest/", "/pluggy/", "/unittest/")


def describe_briefly(items: list[pytest.Item], tree: str) -> None:
    for item in items:
        brief: Any = partial(_describe, tree)
        item.repr_failure = brief  # type: ignore[method-assign]
        item._repr_failure_py = brief  # type: ignore[method-assign]


def _describe(tree: str, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
    steps = [(frame.f_code, line) for frame, line in traceback.walk_tb(excinfo.tb)]
    shown = [
        f"{_shorten(code.co_filename, tree)}:{line}: in {code.co_name}"
        for code, line in steps
        if not any(part in code.co_filename for part in _MACHINERY)
    ]
    said = "".join(traceback.format_exception_only(excinfo.type, excinfo.value)).strip()
    cause = excinfo.value.__cause__
    if cause is not None:
        said += f"\ncaused by {''.join(traceback.format_exception_only(type(cause), cause)).strip()}"
    return "\n".join([*shown[-_FRAMES:], *(f"E   {line}" for line in said[:1500].split("\n"))])


def _shorten(path: str, tree: str) -> str:
    return path.removeprefix(tree + "/").rpartition("site-packages/")[2]
