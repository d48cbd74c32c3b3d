"""The command line as a user starts it: a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


class Ended:
    def __init__(self, process: subprocess.CompletedProcess[str]) -> None:
        self.status, self.out, self.err = process.returncode, process.stdout, process.stderr

    @property
    def said(self) -> str:
        return self.out + self.err


@pytest.fixture
def dlbench(tmp_path: Path):
    def run(*arguments: object, env: dict[str, str] | None = None, timeout: float = 300) -> Ended:
        command = [sys.executable, "-m", "dlbench", *map(str, arguments)]
        environment = {**os.environ, **(env or {})}
        return Ended(
            subprocess.run(
                command, capture_output=True, text=True, env=environment, timeout=timeout, cwd=tmp_path, check=False
            )
        )

    return run


@pytest.fixture
def write_samples(tmp_path: Path):
    def write(*records: dict, name: str = "samples.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        return path

    return write
