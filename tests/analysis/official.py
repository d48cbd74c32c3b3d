"""Files in the format of the official dataset."""

from pathlib import Path

FILE = """stage: {stage}
task: {task}
data: {data}

prompt:
{prompt}

 ground Truth:{path}

 repo:{repo}

 {key}:{function}
 {rest}
"""
DEFAULTS = {
    "stage": "Training",
    "task": "",
    "data": "Image",
    "prompt": "Write a function that halves.\n\nclass: none\n function: keep this line",
    "path": "toy/core.py",
    "repo": "toy",
    "key": "function",
    "function": "halve",
    "rest": "test_cases:tests/test_core.py::test_halve",
}


def write_official(folder: Path, name: str = "toyhalve1.txt", **fields: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(FILE.format(**(DEFAULTS | fields)), encoding="utf-8")
    return path
