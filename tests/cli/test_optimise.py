"""The optimise track from the command line: make a workload, look at it, judge answers, report and compare."""

import json

import pytest

from dlbench.dataset.optimise import SIZES, read_eligible
from tests.adversarial.costs import CHEATS, HONEST, REFERENCE
from tests.adversarial.test_optimise import NAME, write_close


def write_run(folder, speedups):
    """A run as `evaluate` leaves it; None is an answer that fails."""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"model": folder.name, "benchmark": "1.0", "track": "optimise"}))
    ratio = {"value": 1.0, "low": 0.9, "high": 1.1, "rounds": 8, "seconds": 0.1}
    rows = []
    for sample, speedup in enumerate(speedups):
        row = {
            "instance": NAME,
            "sample": sample,
            "status": "fail" if speedup is None else "pass",
            "tests": {"t": "passed"},
        }
        cost = {"cost": "measured", "speedup": speedup, "sizes": dict.fromkeys(SIZES, ratio), "memory_ratio": 0.5}
        rows.append(row | (cost if speedup is not None else {}))
    (folder / "verdicts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.fixture
def workload(tmp_path):
    folder = write_close(tmp_path)
    (folder / "optimise").mkdir()
    size = {"factor": 1.0, "seconds": 0.05, "shape": "length of argument 0: 10"}
    record = {
        "instance": NAME,
        "call": "0",
        "growing": [".0.0#"],
        "sizes": dict.fromkeys(SIZES, size),
        "made": "2026-01-02",
    }
    (folder / "optimise/close.jsonl").write_text(json.dumps(record) + "\n")
    return folder


def test_report_and_compare_show_speedups(dlbench, workload, tmp_path):
    runs = [write_run(tmp_path / "fast", [4.0, 1.0]), write_run(tmp_path / "slow", [None, 0.5])]
    reported = dlbench("report", *runs, "--benchmark", workload, "--out", tmp_path / "pages")
    assert reported.status == 0, reported.err
    report = (tmp_path / "pages/report.md").read_text()
    assert "| fast | 1 | 1.00 |" in report
    assert "| slow | 1 | 0.00 |" in report
    compared = dlbench("compare", *runs, "--benchmark", workload)
    assert "difference of mean log2 speed-ups +1.00" in compared.out, compared.said


def test_the_prompt_shows_the_code_and_hides_the_size_that_decides(dlbench, workload):
    listed = dlbench("list", "--track", "optimise", "--benchmark", workload)
    assert listed.out.split() == [NAME]
    shown = dlbench("prompt", NAME, "--track", "optimise", "--benchmark", workload)
    assert "for other in values if abs(other - value) <= limit" in shown.out, shown.said
    assert "- large: length of argument 0: 10" in shown.out
    assert "held" not in shown.out


def test_the_best_known_cost_is_kept(dlbench, workload, tmp_path):
    run = write_run(tmp_path / "fast", [4.0, 3.0])
    assert dlbench("construct", "optimise", "--best", run, "--benchmark", workload).status == 0
    best = read_eligible(workload)[NAME].best
    assert best is not None
    assert (best.speedup, best.memory, best.by) == (4.0, 0.5, "fast")
    again = dlbench("construct", "optimise", "--best", write_run(tmp_path / "slower", [2.0]), "--benchmark", workload)
    assert again.out == ""
    assert read_eligible(workload)[NAME].best == best


@pytest.mark.timing
def test_a_workload_is_made_and_answers_are_measured_on_it(dlbench, tmp_path, write_samples):
    folder = write_close(tmp_path)
    made = dlbench("construct", "optimise", "--benchmark", folder)
    assert "1 functions are eligible" in made.out, made.said
    record = read_eligible(folder)[NAME]
    seconds = [record.sizes[name].seconds for name in ("medium", "held_out", "large")]
    assert seconds == sorted(seconds)

    codes = (HONEST, REFERENCE, CHEATS["nothing for large inputs"])
    samples = write_samples(*({"instance": NAME, "sample": n, "code": code} for n, code in enumerate(codes)))
    judged = dlbench("evaluate", samples, "--track", "optimise", "--out", tmp_path / "run", "--benchmark", folder)
    assert judged.status == 0, judged.said
    verdicts = [json.loads(line) for line in (tmp_path / "run/verdicts.jsonl").read_text().splitlines()]
    honest, same, cheat = sorted(verdicts, key=lambda one: one["sample"])
    assert honest["speedup"] > 3
    assert 0.8 < same["speedup"] < 1.2
    assert (cheat["status"], cheat["cost"], cheat["speedup"]) == ("pass", "wrong", 0.0)
    assert "speed-ups" in judged.out
