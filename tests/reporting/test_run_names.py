"""Run names are unique, repeats and copies are recognised, and incomparable runs are rejected."""

import json
import math
from pathlib import Path

import pytest

from dlbench.errors import DLBenchError
from dlbench.reporting import name_runs
from dlbench.reporting.caveats import (
    check_comparable,
    comparability_caveats,
    coverage_caveats,
    find_copies,
    find_repeats,
    find_spreads,
    find_unjudged,
    repeats_itself,
)
from dlbench.reporting.report_data import collect_report_data
from dlbench.reporting.sections import Text
from dlbench.reporting.sections.scores import several_samples
from dlbench.reporting.tables import make_plain
from dlbench.runs import Run
from dlbench.scoring import Interval, summarise
from tests.scoring.made import make_benchmark, verdicts


def run(folder, **config):
    return Run(Path(folder), config, [])


def test_two_runs_of_one_model_get_different_names():
    runs = [run("x/a", model="m"), run("x/b", model="m"), run("x/c", model="n")]
    assert list(name_runs(runs)) == ["m (a)", "m (b)", "n"]


def test_technique_precedes_folder_in_run_names():
    runs = [run("a", model="m", technique="zero-shot"), run("b", model="m", technique="guided")]
    assert list(name_runs(runs)) == ["m, zero-shot", "m, guided"]


def test_folders_with_equal_names_are_named_by_path():
    assert list(name_runs([run("x/a", model="m"), run("y/a", model="m")])) == ["m (x/a)", "m (y/a)"]


def test_run_given_twice_is_rejected():
    with pytest.raises(DLBenchError, match="twice"):
        name_runs([run("a"), run("b/../a")])


def test_repeats_differ_only_in_the_seed():
    settings = {"a": (0, 0), "b": (1, 0), "c": (0, 1)}
    named = name_runs([run(name, model="m", seed=seed, temperature=heat) for name, (seed, heat) in settings.items()])
    assert find_repeats(named) == [["m (a)", "m (b)"]]


def test_evaluated_files_with_equal_names_are_not_repeats():
    """`evaluate` names a run after its file, and two models may both have written samples.jsonl."""
    assert find_repeats(name_runs([run("a", model="samples"), run("b", model="samples")])) == []


def test_variance_is_computed_over_repeats_and_over_samples():
    benchmark = make_benchmark(4)
    made = {"a": ["1100", "1111"], "b": ["1000", "1110"]}
    runs = {
        name: Run(Path(name), {"model": "m", "seed": 0}, verdicts(benchmark, *marks)) for name, marks in made.items()
    }
    found = find_spreads(runs, {name: summarise(one.verdicts, benchmark) for name, one in runs.items()})
    # 6 and 4 of 8 pass: mean 5/8, variance 2 (1/8)²; the samples of a: 1/2 and 1, of b: 1/4 and 3/4
    assert found["a; b"].mean == pytest.approx(0.625)
    assert found["a; b"].variance == pytest.approx(2 / 64)
    assert found["the samples of a"].mean == pytest.approx(0.75)
    assert found["the samples of b"].deviation == pytest.approx(math.sqrt(1 / 8))


def answered(benchmark, *answers, **config):
    """A run in which sample i of every instance is the i-th answer."""
    judged = verdicts(benchmark, *("1100" for _ in answers))
    records = [record | {"answer_sha256": f"{record['instance']} {answers[record['sample']]}"} for record in judged]
    return Run(Path("x"), {"model": "m", **config}, records)


def test_copies_are_one_run_without_variance():
    benchmark = make_benchmark(4)
    runs = {name: answered(benchmark, answer, seed=0) for name, answer in (("a", "one"), ("b", "one"), ("c", "other"))}
    assert find_copies(runs) == [["a", "b"]]
    assert find_repeats(runs) == [["a", "c"]]
    assert find_repeats({name: runs[name] for name in "ab"}) == []
    (line,) = comparability_caveats(runs, benchmark)
    assert line.startswith("THE SAME ANSWERS: a, b have the same answers throughout")


def test_equal_samples_have_no_variance():
    benchmark = make_benchmark(4)
    runs = {"a": answered(benchmark, "one", "one"), "b": answered(benchmark, "one", "other")}
    assert [repeats_itself(run) for run in runs.values()] == [True, False]
    found = find_spreads(runs, {name: summarise(one.verdicts, benchmark) for name, one in runs.items()})
    assert list(found) == ["the samples of b"]
    (line,) = comparability_caveats(runs, benchmark)
    assert line.startswith("THE SAME ANSWER EACH TIME: all samples of an instance are equal in a,")
    (text,) = several_samples(collect_report_data({"a": runs["a"]}, benchmark))
    assert text == Text("No run has several different samples of every instance, and no run repeats another.")


def test_incomplete_coverage_is_reported():
    """An answer that was dropped before would otherwise raise the score."""
    benchmark = make_benchmark(4)
    judged = verdicts(benchmark, "1100", "1100")
    assert list(coverage_caveats("m", Run(Path("x"), {}, judged), benchmark)) == []
    (line,) = coverage_caveats(
        "m", Run(Path("x"), {}, [one for one in judged if one["instance"] != "p1/m.f3"]), benchmark
    )
    assert line.startswith("NOT A WHOLE SPLIT: m has no answer to 1 of the 4 instances of full")
    (line,) = coverage_caveats("m", Run(Path("x"), {}, judged[1:]), benchmark)
    assert line.startswith("NOT AS MANY SAMPLES OF EACH: m has 1 to 2 per instance")
    chosen = Run(Path("x"), {"instances": [judged[0]["instance"]]}, judged[:1])
    assert list(coverage_caveats("m", chosen, benchmark)) == []  # `run` says itself what it was to ask


def test_runs_of_different_comparability_are_rejected():
    check_comparable([run("a", benchmark="1.0"), run("b", benchmark="1.7"), run("c")])
    with pytest.raises(DLBenchError, match="cannot be compared"):
        check_comparable([run("a", benchmark="1.0"), run("b", benchmark="2.0")])


def test_different_instances_and_versions_are_reported():
    benchmark = make_benchmark(4)
    judged = verdicts(benchmark, "1100")
    whole, part = Run(Path("a"), {"benchmark": "1.7"}, judged), Run(Path("b"), {"benchmark": "1.0"}, judged[:3])
    assert list(comparability_caveats({"a": whole, "c": Run(Path("c"), {}, judged)}, benchmark)) == []
    (line,) = comparability_caveats({"a": whole, "b": part}, benchmark)
    assert line.startswith("NOT THE SAME INSTANCES: a 4, b 3; 3 are in every run.")
    (line,) = comparability_caveats({"old": Run(Path("o"), {"benchmark": "0.9"}, judged)}, benchmark)
    assert line.startswith("ANOTHER VERSION: old was judged on benchmark 0.9, this is 1.0.")


def test_unjudged_samples_are_counted():
    benchmark = make_benchmark(4)
    begun = Run(Path("a"), {"instances": list(benchmark.instances)}, verdicts(benchmark, "1100")[:3])
    assert find_unjudged(begun) == 1
    several = Run(Path("a"), begun.config | {"samples": 3}, begun.verdicts)
    assert find_unjudged(several) == 9
    assert find_unjudged(run("b")) == 0


def test_json_has_null_for_nan():
    plain = make_plain({1: Interval(math.nan, math.inf, "n/a"), "two": (1.5, [True])})
    assert plain == {"1": {"low": None, "high": None, "kind": "n/a"}, "two": [1.5, [True]]}
    json.dumps(plain, allow_nan=False)
