"""Caveats appear in capitals wherever scores are shown."""

import json
from pathlib import Path

import pytest

from dlbench.reporting import write_report
from dlbench.reporting.caveats import run_caveats
from dlbench.runs import Run
from tests.reporting.pages import make_world
from tests.scoring.made import make_benchmark, verdicts


@pytest.fixture
def world(tmp_path):
    return make_world(tmp_path)


def warnings_of(world, *folders):
    return world.collect(*folders).warnings


def report_of(world, *folders):
    return write_report(world.collect(*folders))


def test_requests_beyond_the_context_are_reported(world):
    folder, other = world.write_run("m", "n00000"), world.write_run("other", "n00000")
    path = folder / "samples.jsonl"
    first, *rest = path.read_text().splitlines()
    refused = json.dumps(json.loads(first) | {"answer": "", "finish_reason": "context_length"})
    path.write_text("\n".join([refused, *rest]) + "\n")
    (caveat,) = warnings_of(world, folder, other)
    assert caveat.startswith("TOO LONG FOR THE MODEL: 1 of the answers of m are empty")
    assert caveat in report_of(world, folder, other)
    assert "TOO LONG FOR THE MODEL: 1 of the answers of m" in world.page(folder, other)


def change_answers(folder, count, **facts):
    path = folder / "samples.jsonl"
    lines = path.read_text().splitlines()
    changed = [json.dumps(json.loads(line) | facts) for line in lines[:count]]
    path.write_text("\n".join([*changed, *lines[count:]]) + "\n")


def test_content_filtered_answers_are_reported(world):
    folder = world.write_run("m", "n00000")
    change_answers(folder, 1, answer="", finish_reason="content_filter")
    (caveat,) = warnings_of(world, folder)
    assert caveat.startswith("WITHHELD: a content filter of the endpoint removed 1 of the answers of m,")
    assert caveat in report_of(world, folder)
    assert "WITHHELD: a content filter of the endpoint removed 1 of the answers of m" in world.page(folder)


def test_answers_parsed_as_reasoning_are_reported(world):
    folder = world.write_run("m", "nnn000")
    change_answers(folder, 6, answer="", finish_reason="stop", reasoning="def f0(x): return x")
    (caveat,) = warnings_of(world, folder)
    assert caveat.startswith("ONLY REASONING: 6 of the 12 answers of m are empty")


@pytest.mark.parametrize(
    "facts",
    [
        {"finish_reason": "stop", "reasoning": "hm"},  # it said something, too
        {"finish_reason": "length", "reasoning": "hm", "answer": ""},  # cut off, which is caveat by itself
        {"finish_reason": "stop", "answer": ""},  # it had nothing to say
    ],
)
def test_reasoning_is_no_caveat_without_a_parser_problem(world, facts):
    folder = world.write_run("m", "nnnnnn")
    change_answers(folder, 12, **facts)
    assert warnings_of(world, folder) == []


def test_cut_off_answers_are_reported_with_the_limit(world):
    cut, whole = world.write_run("m", "1cc000", max_tokens=512), world.write_run("other", "110000", max_tokens=512)
    (caveat,) = warnings_of(world, cut, whole)
    assert caveat.startswith("CUT OFF: 33.3 % of the answers of m (4 of 12) are incomplete, with --max-tokens 512.")
    assert caveat in report_of(world, cut, whole)
    assert "CUT OFF: 33.3 % of the answers of m" in world.page(cut, whole)


def test_cut_off_answers_are_reported_with_an_unknown_limit(world):
    (caveat,) = warnings_of(world, world.write_run("m", "1cc000"))
    assert "CUT OFF: 33.3 %" in caveat
    assert "an unknown limit" in caveat


@pytest.mark.parametrize(("cut", "expected"), [(0, False), (1, False), (2, True)])
def test_cut_off_caveat_starts_above_five_percent(cut, expected):
    benchmark = make_benchmark(20)
    judged = [
        record | {"truncated": True} if n < cut else record for n, record in enumerate(verdicts(benchmark, "1" * 20))
    ]
    caveat = run_caveats("m", Run(Path("x"), {}, judged), benchmark)
    assert [line.startswith("CUT OFF: 10.0 %") for line in caveat] == [True] * expected


def test_run_without_verdicts_has_no_caveat():
    assert run_caveats("m", Run(Path("x"), {}, []), make_benchmark(2)) == []
