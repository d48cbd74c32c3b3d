"""Which files of a tree are there for its tests?

By name and place, as pytest and people go by them: what a test calls in such a file is the test's own, and no function
in it can become an instance.
"""

import re
from functools import cache
from pathlib import Path

_FOLDERS = frozenset({"test", "tests", "testing", "_tests", "_test", "testutils", "test_utils"})
_FILE = re.compile(r"^(test_.*|.*_test|.*_tests|conftest|test_?utils?|testing_?utils?|tests)$")


def is_test_code(path: str) -> bool:
    *folders, name = path.split("/")
    return bool(_FOLDERS & set(folders)) or bool(_FILE.match(name.removesuffix(".py")))


@cache
def list_test_code(tree: Path) -> list[str]:
    paths = [path.relative_to(tree).as_posix() for path in tree.rglob("*.py")]
    return sorted(path for path in paths if is_test_code(path))
