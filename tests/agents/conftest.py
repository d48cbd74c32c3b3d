"""A benchmark with a task of each kind, and each sandbox for agents that works here."""

from pathlib import Path

import pytest

from dlbench.agents.sandbox import choose_agent_sandbox
from dlbench.errors import DLBenchError
from tests.execution.file_task_toy import write_toy
from tests.execution.release_toy import write_release


@pytest.fixture(scope="session")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = write_toy(tmp_path_factory.mktemp("agents"), {"AGENTS.md": "Work so.\n"})
    write_release(made)
    return made


@pytest.fixture(params=["bubblewrap", pytest.param("sandlock", marks=pytest.mark.slow)])
def sandbox(request: pytest.FixtureRequest) -> str:
    try:
        return choose_agent_sandbox(request.param).name
    except DLBenchError as error:
        pytest.skip(str(error))
