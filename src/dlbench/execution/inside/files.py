"""Which files must a candidate not read, and which does pytest need all the same?"""

from __future__ import annotations

import os
from typing import Any


def find_hidden(job: dict[str, Any]) -> list[str]:
    """Files that a candidate must not read: those that hold tests, and the one that holds the reference."""
    return [os.path.join(job["tree"], path) for path in job["hidden"]]


def find_blinded(job: dict[str, Any]) -> list[str]:
    """Those of them that nobody in the process may read."""
    return [os.path.join(job["tree"], path) for path in job["blinded"]]


def find_tests(job: dict[str, Any]) -> list[str]:
    return [path for path in find_hidden(job) if path != os.path.join(job["tree"], job["path"])]


def find_needed(job: dict[str, Any]) -> list[str]:
    """Files that pytest imports for this instance: where its tests are, and what configures them."""
    tests = {os.path.join(job["tree"], test.partition("::")[0]) for test in job["tests"]}
    return [path for path in find_blinded(job) if path in tests or path.endswith("conftest.py")]
