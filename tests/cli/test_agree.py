"""Dual agreement from the command line, with a real endpoint, variants and matrix; nothing is asked or run twice."""

import json
import re

import pytest

from dlbench.agreement.model_tests import MAX_TESTS
from tests.generation.endpoint import Endpoint, completion

pytestmark = pytest.mark.slow

SCALE = "toy/toy.core.scale"
TESTS = """```python
def test_1():
    assert {name}([1, 2]) == [2, 4]

def test_2():
    assert {name}({values}=[3], {factor}=3) == [9]

def test_3():
    import pytest
    with pytest.raises(ValueError):
        {name}([1], 0)

def test_wrong():
    assert {name}([1]) == [7]

def test_hostile():
    import os
    os._exit(0)
    {name}([1])
```"""
RIGHT = """```python
def {name}({values}, {factor}=2):
    if {factor} == 0:
        raise ValueError("zero")
    return [each * {factor} for each in {values}]
```"""
WRONG = "```python\ndef {name}({values}, {factor}=2):\n    return [each + {factor} for each in {values}]\n```"


def reply(number, body):
    """Solves the task under any names, but fails on the original prompt."""
    prompt = body["messages"][-1]["content"]
    name, values, factor = re.search(r"def (\w+)\((\w+), (\w+)=2\)", prompt).groups()
    if "test functions" in prompt:
        answer = TESTS
    else:
        answer = WRONG if "Give back a list in which each number of `values`" in prompt and name == "scale" else RIGHT
    return completion(answer.format(name=name, values=values, factor=factor))


def run(dlbench, root, out, url, *more):
    return dlbench(
        *("run", "--benchmark", root, "--model", "fake", "--base-url", url, "--api-key", "k", "--out", out),
        *("--technique", "dual-agreement", "--variants", "6", "--tests", "5", "--instance", SCALE, *more),
    )


@pytest.fixture
def agreed(dlbench, toy_root, tmp_path):
    with Endpoint(reply) as endpoint:
        ended = run(dlbench, toy_root, tmp_path / "out", endpoint.url)
        asked = len(endpoint.requests)
        again = run(dlbench, toy_root, tmp_path / "out", endpoint.url)
        assert len(endpoint.requests) == asked, "the second start sent requests"
    assert ended.status == 0, ended.said
    assert again.status == 0, again.said
    return ended, asked, tmp_path / "out"


def test_solution_of_a_variant_is_selected(agreed, dlbench, toy_root):
    ended, asked, out = agreed
    (sample,) = [json.loads(line) for line in (out / "samples.jsonl").read_text().splitlines()]
    (verdict,) = [json.loads(line) for line in (out / "verdicts.jsonl").read_text().splitlines()]
    assert verdict["status"] == "pass"
    assert sample["operator"] != "original"
    assert "def scale(values, factor=2)" in sample["code"]
    assert sample["requests"] == asked > 2
    assert sample["usage"] == {"prompt_tokens": 3 * asked, "completion_tokens": 2 * asked}
    assert "original alone" in ended.out
    assert f"it took {asked} requests" in ended.out

    chosen = dlbench("agree", "choose", out, "--benchmark", toy_root, "--rule", "b4", "--json")
    assert chosen.status == 0, chosen.said
    standings = {one["name"]: one["pass_at_1"] for one in json.loads(chosen.out)["standings"]}
    assert standings["b4"] == 1.0
    assert standings["original alone"] == 0.0
    assert 0 < standings["random choice"] < 1
    assert standings["best possible"] == 1.0

    plots = out / "plots"
    studied = dlbench(
        *("agree", "study", out, "--benchmark", toy_root, "--quality", "--mutants", "3", "--json"),
        *("--plots", plots),
    )
    assert studied.status == 0, studied.said
    found = json.loads(studied.out)
    assert found["consistency"]["helped"] == [SCALE]
    assert found["consistency"]["from_variants"] == 1.0
    assert found["quality"]["distinct"] == 5
    assert found["quality"]["right"] == pytest.approx(3 / 5)
    assert found["quality"]["killed"] == 1.0
    assert sum(found["effects"][name]["helped"] for name in found["effects"]) >= 1
    assert len(list(plots.glob("*.svg"))) == 3

    shown = dlbench("report", out, "--out", out / "page", "--benchmark", toy_root)
    assert shown.status == 0, shown.said
    for path in (out / "page").glob("report.*"):
        if path.suffix in (".md", ".html"):
            assert f"For the choice it took {asked} requests" in path.read_text()
            assert "original alone" in path.read_text()
    assert "pass@1 in percent, by operator" in (out / "page/report.html").read_text()

    (out / "agreement/matrix.jsonl").write_text("{}\n")
    shown = dlbench("report", out, "--out", out / "page", "--benchmark", toy_root)
    assert shown.status == 0, shown.said
    for name in ("report.md", "report.html"):
        assert "NOT SHOWN" in (out / "page" / name).read_text()


def test_gain_is_that_of_the_samples_for_any_seed(dlbench, toy_root, tmp_path):
    """If nothing passes, the draw decides, and another seed draws another solution."""

    def fail_all_tests(number, body):
        name, *_ = re.search(r"def (\w+)\(", body["messages"][-1]["content"]).groups()
        if "test functions" in body["messages"][-1]["content"]:
            return completion(f"```python\ndef test_it():\n    assert {name}([1]) == 'nothing'\n```")
        return reply(number, body)

    out = tmp_path / "out"
    with Endpoint(fail_all_tests) as endpoint:
        for seed in range(3):
            ended = run(dlbench, toy_root, out / str(seed), endpoint.url, "--seed", str(seed))
            assert ended.status == 0, ended.said
            (verdict,) = [json.loads(line) for line in (out / str(seed) / "verdicts.jsonl").read_text().splitlines()]
            chosen = dlbench("agree", "choose", out / str(seed), "--benchmark", toy_root, "--json")
            (codet, *_) = json.loads(chosen.out)["standings"]
            assert codet["pass_at_1"] == (verdict["status"] == "pass")


def test_every_variant_is_judged_in_the_requested_mode(dlbench, toy_root, tmp_path):
    with Endpoint(reply) as endpoint:
        ended = run(dlbench, toy_root, tmp_path / "out", endpoint.url, "--mode", "fresh", "--variants", "2")
    assert ended.status == 0, ended.said
    lines = (tmp_path / "out/agreement/verdicts.jsonl").read_text().splitlines()
    assert [json.loads(line)["mode"] for line in lines] == ["fresh", "fresh"]


@pytest.mark.parametrize(
    ("options", "message"),
    [(("--rule", "codez"), "selection rule"), (("--samples", "3"), "--variants sets how many")],
    ids=["rule", "samples"],
)
def test_invalid_option_is_an_error_before_any_request(dlbench, toy_root, tmp_path, options, message):
    with Endpoint(reply) as endpoint:
        ended = run(dlbench, toy_root, tmp_path / "out", endpoint.url, *options)
        assert endpoint.requests == []
    assert ended.status == 1
    assert message in ended.err


def test_tests_above_the_limit_are_an_error(dlbench, toy_root, tmp_path):
    with Endpoint(reply) as endpoint:
        ended = run(dlbench, toy_root, tmp_path / "out", endpoint.url, "--tests", str(MAX_TESTS + 1))
        assert endpoint.requests == []
    assert ended.status == 2
    assert f"less than or equal to {MAX_TESTS}" in ended.err


def test_prompt_points_to_the_variants(dlbench, toy_root):
    ended = dlbench("prompt", SCALE, "--technique", "dual-agreement", "--benchmark", toy_root)
    assert ended.status == 1
    assert f"dlbench agree mutate {SCALE}" in ended.err
    assert "dual-agreement" not in dlbench("prompt", "--help").out


def test_folder_without_agreement_is_an_error(dlbench, toy_root, tmp_path):
    ended = dlbench("agree", "study", tmp_path, "--benchmark", toy_root)
    assert ended.status == 1
    assert "dual-agreement" in ended.err
