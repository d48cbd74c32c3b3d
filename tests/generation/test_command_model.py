"""A program's output is the answer; its failure never is."""

import asyncio
import json
import shlex
import sys
import time
from pathlib import Path

import pytest

from dlbench.errors import DLBenchError
from dlbench.execution.processes import is_alive
from dlbench.generation import Answer, Request
from dlbench.generation.command_model import CommandModel

REQUEST = Request("toy/toy.f", 2, [{"role": "user", "content": "häh?"}], 0.5, 7, 5)


def ask(code: str, timeout: float = 30, **more: str) -> Answer:
    model = CommandModel(f"{sys.executable} -c {shlex.quote(code)}", timeout=timeout, **more)
    return asyncio.run(model.answer(REQUEST))


def test_program_reads_the_request_and_its_output_is_the_answer() -> None:
    answer = ask("import sys; print(sys.stdin.read(), end='')")
    assert json.loads(answer.text) == {
        "model": "command",
        "instance": "toy/toy.f",
        "sample": 2,
        "turn": 0,
        "messages": [{"role": "user", "content": "häh?"}],
        "temperature": 0.5,
        "max_tokens": 7,
        "seed": 5,
    }
    assert answer.seconds > 0


def test_program_need_not_read_its_input() -> None:
    assert ask("print('x')").text == "x\n"


def test_nonzero_status_is_an_error_with_the_end_of_stderr() -> None:
    with pytest.raises(DLBenchError, match="status 3") as caught:
        ask("import sys; print('def f(): pass'); print('a' * 5000 + ' no such model', file=sys.stderr); sys.exit(3)")
    assert caught.value.what.endswith("no such model")
    assert len(caught.value.what) < 500
    assert "finished work is kept" in caught.value.fix


def test_hanging_program_is_killed_with_its_children(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    code = (
        f"import subprocess; p = subprocess.Popen(['sleep', '60']); open({str(pid)!r}, 'w').write(str(p.pid)); p.wait()"
    )
    start = time.monotonic()
    with pytest.raises(DLBenchError, match="did not answer within 2 s"):
        ask(code, timeout=2)
    assert time.monotonic() - start < 20
    # The kernel delivers the signal when the child is next scheduled.
    deadline = time.monotonic() + 20
    while is_alive(int(pid.read_text())):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_printed_keys_are_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-planted-123456")
    assert ask("import os; print(os.environ['SOME_API_KEY'])").text == "***\n"
    with pytest.raises(DLBenchError) as caught:
        ask("import os, sys; sys.exit(os.environ['SOME_API_KEY'])")
    assert "sk-planted" not in str(caught.value)


@pytest.mark.parametrize("command", ["", "no-such-program-here -x", "echo 'open"])
def test_command_that_cannot_run_is_refused_at_once(command: str) -> None:
    with pytest.raises(DLBenchError):
        CommandModel(command)
