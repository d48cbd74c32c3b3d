"""An agent from the package index, mini-swe-agent, solves a component task by `--agent mini-swe-agent`."""

import os
import sys
from pathlib import Path

import pytest

from tests.agents.scripted import bash, play, run_agent
from tests.environments import make_environment
from tests.execution.file_task_toy import COMPONENT, RIGHT

NEEDS = ["litellm", "mcp", "jinja2", "platformdirs", "prompt-toolkit", "python-dotenv", "pyyaml", "rich", "tenacity"]
NEEDS += ["typer"]
SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


@pytest.mark.slow
def test_mini_swe_agent_solves_a_component(toys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = make_environment(tmp_path / "agent", sys.executable, "mini-swe-agent>=2.4", NEEDS)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    calls = [bash(f"cat > {path} <<'END'\n{text}END") for path, text in RIGHT.items()]
    calls += [bash("python -m pytest -q -p no:cacheprovider @VISIBLE_TESTS.txt"), bash(SUBMIT)]
    with play(calls) as endpoint:
        words = ("--agent", "mini-swe-agent", "--model", "m", "--base-url", endpoint.url, "--task", COMPONENT)
        done = run_agent(toys, tmp_path / "run", *words)
    [record] = done.records
    assert (done.status, record["status"], record["leaks"]) == (0, "pass", []), done.text
    assert (record["agent"]["exit"], record["agent"]["requests"]) == (0, len(calls))
    assert "1 passed" in done.outputs[-1]
