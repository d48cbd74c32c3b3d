"""Further inputs from the command line: choose them, judge with them, report and compare."""

import json

import pytest

import dlbench
from dlbench.dataset import load
from dlbench.dataset.plus import read_plus

ID = "toy/toy.core.scale"
HEAD = "def scale(values, factor=2):\n    if factor == 0:\n        raise ValueError\n"
RIGHT = f"{HEAD}    return [one * factor for one in values]\n"
OTHER = f"{HEAD}    return list(map(lambda one: one * factor, values))\n"
WRONG = f"{HEAD}    return [abs(one) * factor for one in values]\n"


def list_samples(*codes):
    return [{"instance": ID, "sample": number, "code": code} for number, code in enumerate(codes)]


def read_verdicts(out):
    return [json.loads(line) for line in (out / "verdicts.jsonl").read_text().splitlines()]


@pytest.mark.slow
def test_wrong_code_that_passes_the_tests_is_found(dlbench, toy_root, tmp_path, write_samples):
    alone = dlbench("construct", "plus", "--solutions", write_samples(*list_samples(RIGHT)), "--benchmark", toy_root)
    assert "no instance has two solutions" in alone.err
    solutions = write_samples(*list_samples(RIGHT, OTHER))
    chosen = dlbench(
        *("construct", "plus", "--solutions", solutions, "--benchmark", toy_root, "--mutants", "6", "--workers", "1")
    )
    assert chosen.status == 0, chosen.err
    assert "1 instances have further inputs" in chosen.out
    record = read_plus(toy_root)[ID]
    assert len(record.inputs) > 20
    assert 0 < record.killed <= record.killed_plus <= record.mutants <= 6

    again = dlbench("construct", "plus", "--solutions", solutions, "--benchmark", toy_root)
    assert "0 instances have further inputs" in again.out
    assert "1 instances have a record" in again.err

    samples = write_samples(*list_samples(RIGHT, WRONG))
    for name, more in (("plus", []), ("plain", ["--no-plus"])):
        ended = dlbench("evaluate", samples, "--out", tmp_path / name, "--benchmark", toy_root, *more)
        assert ended.status == 0, ended.err
        assert ("pass@1+" in ended.out) == (name == "plus")
    assert [one["plus"] for one in read_verdicts(tmp_path / "plus")] == ["passed", "failed"]
    assert not any("plus" in one for one in read_verdicts(tmp_path / "plain"))
    report = (tmp_path / "plus/report.md").read_text()
    assert "100.0 %" in report
    assert "50.0 %" in report

    valid = dlbench("validate", "--plus", "--benchmark", toy_root)
    assert valid.status == 0, valid.out + valid.err

    compared = dlbench("compare", tmp_path / "plus", tmp_path / "plain", "--plus", "--benchmark", toy_root)
    assert compared.status != 0
    assert "was not judged on further inputs" in compared.err


def test_comparison_counts_failures_on_further_inputs(dlbench, toy_root, tmp_path):
    for name, plus in (("a", "passed"), ("b", "failed")):
        (tmp_path / name).mkdir()
        verdict = {"instance": ID, "sample": 0, "status": "pass", "tests": {"t": "passed"}, "plus": plus}
        (tmp_path / name / "verdicts.jsonl").write_text(json.dumps(verdict) + "\n")
    for more, solved in (([], [1, 1]), (["--plus"], [1, 0])):
        ended = dlbench("compare", tmp_path / "a", tmp_path / "b", "--json", "--benchmark", toy_root, *more)
        assert ended.status == 0, ended.err
        assert [one["solved"] for one in json.loads(ended.out)["comparison"]["standings"]] == solved


def test_score_counts_instances_without_inputs_by_their_tests():
    verdict = {"sample": 0, "status": "pass", "tests": {"t": "passed"}}
    names = list(dlbench.load("demo").instances)[:4]
    plus = [{"plus": "passed"}, {"plus": "failed"}, {"plus": "not available"}, {}]
    records = [verdict | {"instance": name} | more for name, more in zip(names, plus, strict=True)]
    found = dlbench.score(records).overall
    assert (found.pass_at_1, found.plus) == (1.0, 0.75)
    without = dlbench.score([verdict | {"instance": name} for name in names]).overall
    assert without.plus != without.plus  # not a number: the run was not judged on them


@pytest.mark.slow
def test_references_of_the_demo_hold_on_their_further_inputs(dlbench):
    """Tensors, gradients, objects of projects and texts, made anew on this machine."""
    benchmark = load()
    records = read_plus(benchmark.root)
    assert sum(name in records and bool(records[name].inputs) for name in benchmark.splits["demo"]) >= 6
    ended = dlbench("validate", "--split", "demo", "--plus")
    assert ended.status == 0, ended.out
