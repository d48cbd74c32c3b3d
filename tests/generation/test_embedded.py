"""The embedded model is real, runs in its own process, and leaves nothing behind."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator

import pytest

from dlbench.errors import DLBenchError
from dlbench.execution.processes import is_alive
from dlbench.generation import Answer, EmbeddedModel, Request, embedded

PROMPT = "Write a Python function add(a, b)."


def request(prompt: str, tokens: int = 16) -> Request:
    return Request("toy/toy.add", 0, [{"role": "user", "content": prompt}], 0.0, tokens, 1)


def has_exited(pid: int) -> bool:
    for _ in range(100):
        if not is_alive(pid):
            return True
        time.sleep(0.1)
    return False


def ask(model: EmbeddedModel, *requests: Request) -> list[Answer]:
    async def ask_all() -> list[Answer]:
        try:
            return [await model.answer(request) for request in requests]
        finally:
            for server in model.servers:
                await server.client.close()

    return asyncio.run(ask_all())


@pytest.fixture(scope="module")
def model() -> Iterator[EmbeddedModel]:
    model = EmbeddedModel(parallel=2)
    yield model
    asyncio.run(model.close())


def test_answers_with_code_and_is_deterministic(model: EmbeddedModel) -> None:
    first, second = ask(model, request(PROMPT), request(PROMPT))
    assert "def add" in first.text
    assert first.usage["completion_tokens"] <= 16
    assert first.finish_reason in ("stop", "length")
    assert second.text == first.text


def test_prompt_longer_than_the_context_does_not_affect_others(model: EmbeddedModel) -> None:
    refused, answered = ask(model, request("word " * 9000), request(PROMPT, 4))
    assert (refused.text, refused.finish_reason) == ("", "context_length")
    assert answered.text


def test_engine_output_stays_off_the_terminal_and_close_ends_it(capfd: pytest.CaptureFixture[str]) -> None:
    messages: list[str] = []
    model = EmbeddedModel(parallel=1, log=messages.append)
    pid = model.servers[0].process.pid
    asyncio.run(model.close())
    asyncio.run(model.close())
    assert has_exited(pid)
    assert capfd.readouterr() == ("", "")
    assert messages[-1].startswith("starting the embedded model")


def test_server_that_dies_is_an_error() -> None:
    model = EmbeddedModel(parallel=1)
    os.kill(model.servers[0].process.pid, signal.SIGKILL)
    with pytest.raises(DLBenchError, match="exited with status -9") as caught:
        ask(model, request(PROMPT))
    assert "finished work is kept" in caught.value.fix
    asyncio.run(model.close())


@pytest.mark.slow
def test_server_exits_with_its_parent() -> None:
    """A killed run must not leave a busy server behind."""
    code = """
        import time
        from dlbench.generation import EmbeddedModel
        model = EmbeddedModel(parallel=1)
        print(model.servers[0].process.pid, flush=True)
        time.sleep(60)
    """
    parent = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    assert is_alive(pid)
    parent.kill()
    parent.communicate()
    assert has_exited(pid)


def test_occupied_port_is_an_error() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(DLBenchError, match="cannot listen on the port"):
            EmbeddedModel(port=taken.getsockname()[1])


def test_missing_engine_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(DLBenchError) as caught:
        EmbeddedModel()
    assert caught.value.fix == 'pip install "dlbench[embedded]"'


def test_importing_generation_loads_no_heavy_library() -> None:
    code = "import sys, dlbench.generation; print({'aiohttp', 'xllamacpp', 'libcst', 'torch'} & set(sys.modules))"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "set()"
