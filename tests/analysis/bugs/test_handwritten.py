"""Answers that a person wrote, with bugs in them, run for real: most are named rightly."""

import json
from collections import Counter

import pytest

from tests.analysis.bugs.handwritten import ANSWERS, write_small
from tests.cli.test_compare import ask


@pytest.mark.slow
def test_most_handwritten_bugs_are_named(tmp_path):
    benchmark = write_small(tmp_path)
    counts, truth, lines = Counter(), {}, []
    for qualname, category, code in ANSWERS:
        instance = f"small/small.numerics.{qualname}"
        truth[instance, counts[instance]] = category
        lines.append(json.dumps({"instance": instance, "sample": counts[instance], "code": code}) + "\n")
        counts[instance] += 1
    (tmp_path / "samples.jsonl").write_text("".join(lines))
    run = tmp_path / "run"
    ended = ask("evaluate", tmp_path / "samples.jsonl", "--benchmark", benchmark, "--out", run, "--timeout", 5)
    assert ended.exit_code == 0, ended.output
    ended = ask("analyze", "bugs", run, "--benchmark", benchmark, "--json")
    found = {(one["instance"], one["sample"]): one["category"] for one in json.loads(ended.stdout)["failures"]}
    assert set(found) == set(truth)
    assert sum(found[key] == truth[key] for key in truth) / len(truth) >= 0.8
