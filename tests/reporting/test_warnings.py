"""What must be known before the numbers is told in capitals, everywhere where the numbers are."""

import json

import pytest

from dlbench.reporting.report import tell_warnings, write_report
from tests.reporting.pages import make_world


@pytest.fixture
def world(tmp_path):
    return make_world(tmp_path)


def warnings_of(world, *folders):
    standing = world.stand(*folders)
    return [line for line in tell_warnings(standing.runs, standing.summaries, world.benchmark) if line]


def report_of(world, *folders):
    standing = world.stand(*folders)
    return write_report(standing.runs, standing.summaries, standing.usages, standing.repeats, world.benchmark)


def test_a_request_that_did_not_fit_into_the_context_does_not_become_a_failure_in_silence(world):
    folder, other = world.write_run("m", "n00000"), world.write_run("other", "n00000")
    path = folder / "samples.jsonl"
    first, *rest = path.read_text().splitlines()
    refused = json.dumps(json.loads(first) | {"answer": "", "finish_reason": "context_length"})
    path.write_text("\n".join([refused, *rest]) + "\n")
    (told,) = warnings_of(world, folder, other)
    assert told.startswith("TOO LONG FOR THE MODEL: 1 of the answers of m are empty")
    assert told in report_of(world, folder, other)
    assert "TOO LONG FOR THE MODEL: 1 of the answers of m" in world.page(folder, other)
