"""`prompt --technique` shows what `run --technique` sends, and the run records the technique."""

import json
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from dlbench.cli.app import app
from dlbench.generation.model import describe_clients
from dlbench.generation.techniques import TECHNIQUES
from tests.generation.endpoint import Endpoint, completion

STEP, SCALE = "toy/toy.core.Counter.step", "toy/toy.core.scale"


@pytest.fixture
def cli():
    import dlbench.cli.run  # noqa: F401 - registers the commands

    return lambda *arguments: CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def unjudged(monkeypatch):
    """Skip the evaluation of answers."""
    for name in ("make_judging_engine", "prepare_projects", "make_pool", "show_scores", "_judge_new"):
        monkeypatch.setattr(f"dlbench.cli.run.{name}", lambda *_: None)
    monkeypatch.setattr("dlbench.cli.run.judging", lambda *_: nullcontext(SimpleNamespace(finish=lambda samples: None)))


def shown(out: str) -> list[tuple[str, str]]:
    parts = [part.partition("\n") for part in ("\n" + out).split("\n--- ")[1:]]
    return [(role, text.strip()) for role, _, text in parts]


@pytest.mark.parametrize("technique", [name for name in TECHNIQUES if TECHNIQUES[name].feedback is None])
def test_prompt_shows_what_run_sends(technique, cli, unjudged, toy_root, tmp_path, monkeypatch):
    monkeypatch.setenv("DLBENCH_API_KEY", "k")
    common = (
        "--benchmark",
        toy_root,
        "--technique",
        technique,
        "--seed",
        3,
        *(("--shots", 1) if technique.startswith("few-shot") else ()),
    )
    prompted = cli("prompt", STEP, *common)
    assert prompted.exit_code == 0, prompted.output
    with Endpoint(lambda number, body: completion(f"answer {number}")) as endpoint:
        where = ("--model", "m", "--base-url", endpoint.url, "--out", tmp_path / "run", "--instance", STEP)
        ended = cli("run", *where, *common)
        assert ended.exit_code == 0, ended.output
        sent = [(message["role"], message["content"]) for message in endpoint.requests[-1]["messages"]]
    answers = {"(the model's answer to turn 1)": "answer 0"}
    assert sent == [(role, answers.get(text, text)) for role, text in shown(prompted.stdout)]
    assert len(endpoint.requests) == (2 if technique == "self-planning" else 1)
    record = json.loads((tmp_path / "run/samples.jsonl").read_text())
    config = json.loads((tmp_path / "run/config.json").read_text())
    assert record["technique"] == config["technique"] == technique
    assert config["shots"] == (1 if TECHNIQUES[technique].uses_examples else 0)
    if TECHNIQUES[technique].uses_examples and technique != "few-shot-other-projects":
        assert record["shots"] == [SCALE]


def test_run_resumes_only_with_its_own_technique(cli, unjudged, toy_root, tmp_path):
    common = ("run", "--model", "stub", "--benchmark", toy_root, "--out", tmp_path / "run")
    assert cli(*common, "--technique", "guided").exit_code == 0
    refused = cli(*common, "--technique", "zero-shot")
    assert refused.exit_code == 1
    assert "started with technique guided, you passed zero-shot" in refused.output


def test_help_lists_the_registries(cli):
    for command in ("run", "prompt"):
        text = " ".join(cli(command, "--help").output.split()).replace("- ", "-")
        assert ", ".join(TECHNIQUES) in text
        assert command != "run" or describe_clients() in text


def test_unknown_technique_lists_the_known_ones(cli, toy_root):
    ended = cli("prompt", STEP, "--benchmark", toy_root, "--technique", "telepathy")
    assert ended.exit_code == 1
    assert "there is no technique 'telepathy'" in ended.output
    assert "self-planning" in ended.output


def test_prompt_of_dual_agreement_points_to_mutate(cli, toy_root):
    ended = cli("prompt", STEP, "--benchmark", toy_root, "--technique", "dual-agreement")
    assert ended.exit_code == 1
    assert f"`dlbench agree mutate {STEP}` shows its wordings" in ended.output


def test_shortage_of_examples_is_reported_before_the_run(cli, unjudged, toy_root, tmp_path):
    where = ("--model", "stub", "--benchmark", toy_root, "--out", tmp_path / "run")
    ended = cli("run", *where, "--technique", "few-shot-other-projects")
    assert ended.exit_code == 0
    assert "2 of 2 instances have fewer than 3 examples, 2 have none" in ended.output
