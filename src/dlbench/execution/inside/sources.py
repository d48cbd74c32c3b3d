"""How can tests be imported when nobody may read their files any more?

The files that hold tests are read before anything of the project, and pytest's importer is given what was read; then
they are hidden for good. A candidate that is imported with the project finds them hidden already.
"""

from __future__ import annotations

import ast
import os
import types
from pathlib import Path
from typing import Any

from _pytest import runner
from _pytest.assertion import rewrite


def keep_tests(files: list[str]) -> None:
    """pytest takes these files from memory, each once."""
    kept = {}
    for file in files:
        if file.endswith(".py") and os.path.isfile(file):
            kept[file] = (os.stat(file), Path(file).read_bytes())
    original: Any = rewrite._rewrite_test

    def rewrite_test(fn: Path, config: object) -> tuple[os.stat_result, types.CodeType]:
        found = kept.pop(str(fn), None)
        if found is None:
            unread: tuple[os.stat_result, types.CodeType] = original(fn, config)
            return unread
        facts, source = found
        tree = ast.parse(source, filename=str(fn))
        rewrite.rewrite_asserts(tree, source, str(fn), config)  # type: ignore[arg-type]
        return facts, compile(tree, str(fn), "exec", dont_inherit=True)

    rewrite._rewrite_test = rewrite_test  # type: ignore[assignment]


def tell_nobody() -> None:
    """pytest writes the running test's name, parameters and all, where anybody can read it."""
    runner._update_current_test_var = lambda item, when: None
