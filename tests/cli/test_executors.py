"""What a user mistypes about where to judge is said before anything is done."""

import sys

import pytest
from typer.testing import CliRunner

from dlbench.cli import app


@pytest.fixture
def ask(toy_root, tmp_path):
    (tmp_path / "s.jsonl").write_text('{"instance": "toy/toy.core.scale", "sample": 0, "code": "x"}\n')
    first = ["evaluate", str(tmp_path / "s.jsonl"), "--out", str(tmp_path / "out"), "--benchmark", str(toy_root)]
    yield lambda *words: CliRunner().invoke(app, [*first, *words])
    assert not (tmp_path / "out/verdicts.jsonl").exists()


def test_a_library_that_is_not_there_is_named_with_what_brings_it(ask, monkeypatch):
    monkeypatch.setattr(sys.modules["dlbench.cli.app"], "find_spec", lambda name: None if name == "ray" else object())
    ended = ask("--executor", "ray")
    assert ended.exit_code == 1
    assert "ray is not installed" in ended.output
    assert "dlbench[ray]" in ended.output


def test_an_address_where_nobody_answers_is_said_so(ask):
    pytest.importorskip("ray")
    ended = ask("--executor", "ray", "--ray-address", "127.0.0.1:1")
    assert ended.exit_code == 1
    assert "127.0.0.1:1: no Ray answers there" in ended.output
    assert "fix:" in ended.output


def test_an_address_from_the_environment_is_used_where_none_is_given(ask, monkeypatch):
    pytest.importorskip("ray")
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:2")
    assert "127.0.0.1:2: no Ray answers there" in ask("--executor", "ray").output


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["--executor", "cluster"], "there is no executor 'cluster'"),
        (["--ray-address", "here:1"], "--ray-address requires --executor ray"),
    ],
)
def test_what_makes_no_sense_is_refused(ask, words, what):
    ended = ask(*words)
    assert ended.exit_code == 1
    assert what in ended.output


@pytest.mark.parametrize("command", ["run", "evaluate", "validate", "construct admit", "agree study"], ids=str)
def test_every_command_that_executes_can_do_so_elsewhere(command):
    told = CliRunner().invoke(app, [*command.split(), "--help"], env={"COLUMNS": "200"}).output
    assert "--executor" in told
    assert "--ray-address" in told
