"""Reports of rebuild tasks: hidden tests by size and task, compared by share, and never with functions."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from typer.testing import CliRunner

from dlbench.cli import app
from dlbench.dataset import load
from dlbench.dataset.file_task import Rebuild
from dlbench.dataset.labels import Track
from dlbench.dataset.tracks import TrackBenchmark, open_track, write_task
from dlbench.reporting.pages import write_browser
from dlbench.scoring import Tally, compare, summarise, tally
from dlbench.scoring.intervals import wilson

LINES = (700, 1499, 1500, 6000)
HIDDEN = tuple(f"tests/test_a.py::test_{number}" for number in range(10))
PROJECT = """name = "{0}"
version = "1.0"
released = 2026-01-01
path = "../{0}"
license = "MIT"
environment = "toy"
framework = "torch"
"""


def write_benchmark(root: Path, tasks: int, projects: int) -> Path:
    """Tasks of the sizes in `LINES`, in turn; each project has as many of them."""
    (root / "projects").mkdir(parents=True)
    (root / "VERSION").write_text("1.0")
    for number in range(projects):
        (root / f"projects/p{number}.toml").write_text(PROJECT.format(f"p{number}"))
    for number in range(tasks):
        project = f"p{number % projects}"
        record = Rebuild(
            id=f"{project}/rebuild-t{number}",
            project=project,
            version="1.0",
            files=("p/a.py",),
            visible=("tests/test_a.py::test_visible",),
            hidden=HIDDEN,
            lines=LINES[number % len(LINES)],
            definitions=40,
            sha256="0" * 64,
        )
        write_task(root, record)
    return root


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_benchmark(tmp_path / "tasks", 4, 2)


def verdict(instance: str, passed: int, sample: int = 0) -> dict:
    tests = {test: "passed" if place < passed else "failed" for place, test in enumerate(HIDDEN)}
    facts = {"message": "" if passed == len(HIDDEN) else "ValueError: no", "seconds": 1.0, "memory_mb": 10.0}
    return {
        "instance": instance,
        "sample": sample,
        "status": "pass" if not facts["message"] else "fail",
        "tests": tests,
        **facts,
    }


def write_run(folder: Path, benchmark: TrackBenchmark, *samples: tuple[int, ...], **config: object) -> Path:
    """`samples`: for each sample, how many hidden tests pass on each task, in the order of the benchmark."""
    folder.mkdir()
    facts = {"track": "rebuild", "model": folder.name, "benchmark": "1.0", **config}
    (folder / "config.json").write_text(json.dumps(facts))
    records = [
        verdict(one, passed, number)
        for number, counts in enumerate(samples)
        for one, passed in zip(benchmark.instances, counts, strict=True)
    ]
    (folder / "verdicts.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return folder


@pytest.fixture
def benchmark(root: Path) -> TrackBenchmark:
    return open_track(load(root), Track.REBUILD)


def invoke(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, [*map(str, arguments)])
    return done.exit_code, done.output


def read_table(text: str, title: str) -> list[list[str]]:
    """The rows of the table below a title of the terminal's output."""
    lines = text.split(f"{title} ")[1].splitlines()[1:]
    end = next(place for place, line in enumerate(lines) if line.startswith("└"))
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines[:end] if line.startswith("│")]


def test_report_shows_shares_by_size_and_task(root: Path, benchmark: TrackBenchmark, tmp_path: Path) -> None:
    # t0 and t2 are of p0, t1 and t3 of p1; tasks are read by their file names
    run = write_run(tmp_path / "agent", benchmark, (10, 5, 0, 9))
    status, output = invoke("report", run, "--benchmark", root)
    assert status == 0, output
    around = wilson(0.6, 2)
    shown = f"60.0 % ({100 * around.low:.0f} to {100 * around.high:.0f})"
    found = read_table(output, "hidden tests passed")
    assert found[0] == ["all", "all", "4", shown]
    assert [row[1:3] for row in found[1:]] == [
        ["500 to 1,499 lines", "2"],
        ["1,500 to 4,999 lines", "1"],
        ["5,000 to 19,999 lines", "1"],
    ]
    assert [row[3].split(" (")[0] for row in found[1:]] == ["50.0 %", "50.0 %", "90.0 %"]
    assert read_table(output, "tasks") == [
        ["p0/rebuild-t0", "700", "10", "100.0 %, pass"],
        ["p1/rebuild-t1", "1,499", "10", "0.0 %, fail"],
        ["p0/rebuild-t2", "1,500", "10", "50.0 %, fail"],
        ["p1/rebuild-t3", "6,000", "10", "90.0 %, fail"],
    ]
    text = (run / "report.md").read_text()
    assert "| p0/rebuild-t2 | 1,500 | 10 | 50.0 %, fail |" in text
    assert "stage" not in text


def test_several_attempts_count_each(root: Path, benchmark: TrackBenchmark, tmp_path: Path) -> None:
    run = write_run(
        tmp_path / "agent", benchmark, (10, 5, 0, 9), (10, 10, 0, 9), samples=3, instances=list(benchmark.instances)
    )
    status, output = invoke("report", run, "--benchmark", root)
    assert (status, "NOT FINISHED: 4 samples of agent have no verdict" in output) == (0, True), output
    assert [row[3] for row in read_table(output, "tasks")] == [
        "100.0 %, 2 of 2 pass",
        "0.0 %, 0 of 2 pass",
        "75.0 %, 1 of 2 pass",
        "90.0 %, 0 of 2 pass",
    ]


@pytest.fixture
def page_file(root: Path, benchmark: TrackBenchmark, tmp_path: Path) -> Path:
    counts = {"a": (10, 5, 0, 9), "b": (3, 3, 3, 3)}
    runs = [write_run(tmp_path / name, benchmark, passed) for name, passed in counts.items()]
    status, output = invoke("report", *runs, "--out", tmp_path / "out", "--benchmark", root)
    assert (status, "a: pass@1 25.0 %" in output, "hidden tests 60.0 %" in output) == (0, True, True), output
    return tmp_path / "out/report.html"


def test_the_folder_has_the_same_tables(page_file: Path) -> None:
    text = page_file.read_text()
    row = text[text.index(">p0/rebuild-t2<") :].partition("</tr>")[0]
    assert re.findall(r"<td[^>]*>(.*?)</td>", row) == ["1,500", "10", "50.0 %, fail", "30.0 %, fail"]
    assert 'id="stage"' not in text
    for name in ("scores.csv", "verdicts.csv", "tables.tex"):
        assert "stage" not in page_file.with_name(name).read_text()


def test_the_page_lists_tasks_and_hidden_tests(page_file: Path, browser: Browser) -> None:
    page = browser.new_page()
    page.goto(f"{page_file.as_uri()}#view=instances")
    page.wait_for_selector("html[data-ready]")
    assert page.locator("#list th").all_inner_texts()[:3] == ["instance", "lines", "since"]
    page.click('#list a[href*="rebuild-t2"]')
    page.wait_for_selector("table.tests")
    assert page.locator("td.outcome").all_inner_texts() == ["passed"] * 5 + ["failed"] * 5
    page.close()


def test_the_interval_resamples_projects(tmp_path: Path) -> None:
    """Where tasks of a project go alike, there is less evidence than tasks."""
    benchmark = open_track(load(write_benchmark(tmp_path / "many", 36, 6)), Track.REBUILD)
    passed = {f"p{number}": 2 * number for number in range(6)}
    found = summarise([verdict(one.id, passed[one.project]) for one in benchmark.instances.values()], benchmark, ())
    clustered, plain = found.overall.rate_clustered, found.rate_interval
    assert (clustered.kind, plain.kind) == ("clustered", "bootstrap")
    assert clustered.low < found.overall.passing_rate == 0.5 < clustered.high
    assert clustered.high - clustered.low > 1.5 * (plain.high - plain.low)


def test_runs_are_compared_by_the_share_of_tests(root: Path, benchmark: TrackBenchmark, tmp_path: Path) -> None:
    runs = [
        write_run(tmp_path / name, benchmark, counts) for name, counts in (("a", (10, 5, 0, 9)), ("b", (10, 2, 0, 4)))
    ]
    status, output = invoke("compare", *runs, "--json", "--benchmark", root)
    comparison = json.loads(output[output.index("{") :])["comparison"]
    assert (status, comparison["figure"]) == (0, "tests passed")
    assert [(one["pass_at_1"], one["mean"], one["solved"]) for one in comparison["standings"]] == [
        (0.25, 0.6, 1),
        (0.25, 0.4, 1),
    ]
    assert comparison["pairs"][0]["difference"] == pytest.approx(0.2)
    status, output = invoke("compare", *runs, "--benchmark", root)
    assert read_table(output, "runs")[0][:3] == ["a", "25.0 %", "60.0 %"]


def test_differences_of_less_than_a_hundredth_are_compared(tmp_path: Path) -> None:
    benchmark = open_track(load(write_benchmark(tmp_path / "tasks", 6, 6)), Track.REBUILD)

    def judge(passed: int) -> dict[str, Tally]:
        tests = {f"t{number}": "passed" if number < passed else "failed" for number in range(400)}
        return tally([{**verdict(one, 0), "tests": tests} for one in benchmark.instances], benchmark)

    (pair,) = compare({"a": judge(201), "b": judge(200)}, benchmark).pairs
    assert pair.difference == pytest.approx(1 / 400)
    assert pair.permutation == pair.permutation_clustered == 2 / 2**6  # A is better on each of six


def test_attempts_with_leaks_are_named(root: Path, benchmark: TrackBenchmark, tmp_path: Path) -> None:
    runs = [write_run(tmp_path / name, benchmark, (10, 5, 0, 9)) for name in "ab"]
    records = [verdict(one, 3) | {"leaks": [{"kind": "network"}] * (one[1] == "1")} for one in benchmark.instances]
    (runs[0] / "verdicts.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    for command in ("report", "compare"):
        _, output = invoke(command, *runs, "--benchmark", root)
        assert output.count("LEAKS: in 2 of 4 attempts of a ") == output.count("LEAKS: ") == 1, output


@pytest.mark.parametrize("command", ["report", "compare"])
def test_tracks_are_never_mixed(root: Path, benchmark: TrackBenchmark, tmp_path: Path, command: str) -> None:
    runs = [
        write_run(tmp_path / "agent", benchmark, (10, 5, 0, 9)),
        write_run(tmp_path / "model", benchmark, (10, 5, 0, 9), track="function"),
    ]
    status, output = invoke(command, *runs, "--benchmark", root)
    assert status == 1
    assert "scores of different tracks are not mixed: agent on rebuild, model on function" in output


@pytest.mark.parametrize(
    ("config", "options", "message"),
    [
        ({"track": "function"}, (), "there is no instance 'p0/rebuild-t0'"),
        ({"track": "class"}, (), "there is no track 'class'"),
        ({}, ("--by", "stage"), "use any of: size, project, framework"),
        ({}, ("--cutoff", "2026-01-01"), "rebuild tasks are not split by date"),
    ],
)
def test_what_does_not_fit_the_track_is_refused(
    root: Path,
    benchmark: TrackBenchmark,
    tmp_path: Path,
    config: dict[str, str],
    options: tuple[str, ...],
    message: str,
) -> None:
    run = write_run(tmp_path / "run", benchmark, (10, 5, 0, 9), **config)
    status, output = invoke("report", run, *options, "--benchmark", root)
    assert (status, message in output) == (1, True), output


def test_robustness_is_measured_on_functions_only(root: Path, benchmark: TrackBenchmark, tmp_path: Path) -> None:
    runs = [write_run(tmp_path / name, benchmark, (10, 5, 0, 9)) for name in "ab"]
    status, output = invoke("analyze", "robustness", *runs, "--benchmark", root)
    assert (status, "functions only, these are runs on rebuild" in output) == (1, True), output


def test_the_dataset_browser_lists_tasks(root: Path) -> None:
    page = write_browser(load(root), [], lambda instance: None)
    row = page[page.index(">p1/rebuild-t3<") :].partition("</tr>")[0]
    assert re.findall(r"<td[^>]*>(.*?)</td>", row) == ["6000", "1", "40", "1", "10", ""]


def test_the_leaderboard_takes_functions_only(root: Path, benchmark: TrackBenchmark, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", benchmark, (10, 5, 0, 9))
    status, output = invoke("leaderboard", "add", run, "--samples-from", "here", "--benchmark", root)
    assert (status, "functions only, this is a run on rebuild" in output) == (1, True), output


def test_a_part_of_the_track_is_named(root: Path, benchmark: TrackBenchmark, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", benchmark, (10, 5, 0, 9))
    lines = (run / "verdicts.jsonl").read_text().splitlines(keepends=True)
    (run / "verdicts.jsonl").write_text(lines[0])
    assert "run has no answer to 3 of the 4 instances" in invoke("report", run, "--benchmark", root)[1]
