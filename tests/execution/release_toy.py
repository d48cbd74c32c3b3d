"""A later release of the toy project, and the task of what it added: a module, a method, and their export."""

from pathlib import Path

from dlbench.dataset.file_task import Release
from dlbench.dataset.labels import Data, Stage, Task
from dlbench.dataset.loading import load
from dlbench.dataset.records import Labels
from dlbench.dataset.skeleton import hash_skeleton
from dlbench.dataset.tracks import write_task
from tests.execution.file_task_toy import CORE, CORE_TESTS, FILES, UNCHANGED

NAME = "toylib/release-1.1-mode"
MODES = '''"""Frequencies of values."""

from collections import Counter as Frequencies


def mode(values):
    """The most frequent value; the smallest of several."""
    counts = Frequencies(values)
    return min(counts, key=lambda value: (-counts[value], value))
'''
BACK = '''
    def back(self, by=1):
        """Take from the count and return it."""
        self.count -= by
        return self.count
'''
GROWN = f"{CORE}{BACK}"
EXPORT = "from .modes import mode\n"
NEW_TESTS = """

@pytest.mark.parametrize("values, expected", [([1, 2, 2], 2), ([3, 1], 1)])
def test_mode(values, expected):
    assert mode(values) == expected


def test_counter_back():
    assert Counter(3).back(2) == 1
"""
NEXT = {
    "toylib/modes.py": MODES,
    "toylib/core.py": GROWN,
    "toylib/__init__.py": FILES["toylib/__init__.py"] + EXPORT,
    "tests/test_core.py": CORE_TESTS.replace("import constants, core\n", "import constants, core, mode\n") + NEW_TESTS,
}
TESTS = "tests/test_core_next.py"
HIDDEN = (
    *(f"{TESTS}::test_mode[values{case}-{value}]" for case, value in ((0, 2), (1, 1))),
    f"{TESTS}::test_counter_back",
)
DESCRIPTION = "`toylib.mode(values)`, in `toylib/modes.py`, is the most frequent value, the smallest of several. "
DESCRIPTION += "`Counter.back(by=1)` takes `by` from the count and returns it."


def write_release(benchmark: Path) -> None:
    """Add the task to the toys."""
    newer = benchmark.parent / "newer"
    for path, text in (FILES | NEXT).items():
        (newer / path).parent.mkdir(parents=True, exist_ok=True)
        (newer / path).write_text(text)
    project = load(benchmark).projects["toylib"]
    files = ("toylib/__init__.py", "toylib/core.py", "toylib/modes.py")
    given = {path: FILES[path] for path in files if path in FILES}
    write_task(
        benchmark,
        Release(
            id=NAME,
            project="toylib",
            version="1.0",
            older=project,
            newer=project.model_copy(update={"version": "1.1", "path": "../newer"}),
            taken=("toylib/modes.py", "toylib/core.py::Counter.back"),
            files=files,
            hidden=HIDDEN,
            unchanged=(*UNCHANGED, "tests/test_core.py::test_clip"),
            description=DESCRIPTION,
            labels=Labels(stage=Stage.TRAINING, task=Task.GENERAL, data=Data.OTHERS),
            lines=10,
            definitions=2,
            sha256=hash_skeleton(given),
        ),
    )
