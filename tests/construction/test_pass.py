"""A pass over several packages yields admissible functions, records bad projects, and repeats no work.

Everything is real: archives are fetched from an index, environments are built by uv. Only pytest and numpy come from the
index that this machine is configured for.
"""

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dlbench.analysis.official import Release, find_files, read_files, repair_all
from dlbench.analysis.official.runnable import RUNNABLE, make_runnable
from dlbench.cli import app
from dlbench.construction import WorkFolder, render_tables, summarize_all, summarize_project
from dlbench.construction.pipeline import run_all
from dlbench.construction.project_spec import ProjectSpec
from dlbench.dataset.validation import check_records
from dlbench.execution import Engine, Limits, choose_sandbox
from dlbench.workspace.home import quiet
from dlbench.workspace.pip_config import read_pip_config

from ..analysis.official import write_official
from ..workspace.parts import Index, sha256
from .fake_index import isolate, publish
from .tiny import FILES, NAME, SECOND, SECOND_RELEASE, SOFTMAX, publish_tiny

pytestmark = pytest.mark.slow

LIMITS = Limits(load_seconds=45, test_seconds=10)
BAD = {
    "dlbench-tiny-crash": "import ctypes\n\nctypes.string_at(0)\n\ndef test_nothing(): ...\n",
    "dlbench-tiny-hang": "import time\n\ntime.sleep(600)\n\ndef test_nothing(): ...\n",
    "dlbench-tiny-untested": "",
}
"""The tests of each bad project; none can be collected."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A local index beside the machine's own, shared by this module so that environments are built once."""
    folder = tmp_path_factory.mktemp("pass")
    machine = read_pip_config()
    with pytest.MonkeyPatch.context() as patch, Index(folder / "served") as index:
        isolate(folder, patch)
        patch.setenv("PIP_INDEX_URL", machine.index_url or "")
        patch.setenv("PIP_EXTRA_INDEX_URL", " ".join([index.url, *machine.extra_index_urls]))
        patch.setenv("PIP_FIND_LINKS", " ".join(machine.find_links))
        patch.setenv("PIP_CERT", machine.cert or "")
        publish_tiny(index)
        for name, tests in BAD.items():
            package = name.replace("-", "_")
            files = {"PKG-INFO": f"Name: {name}\n", f"{package}/__init__.py": SOFTMAX.replace("numpy", "math")}
            publish(index, name, files | ({"tests/test_bad.py": tests} if tests else {}))
        yield folder


@pytest.fixture(scope="module")
def work(folder: Path) -> WorkFolder:
    """The work folder after one run over all projects; the good one comes last."""
    work = WorkFolder(folder / "work")
    run_all(
        Engine(choose_sandbox(), LIMITS),
        work,
        [*map(ProjectSpec, BAD), ProjectSpec(NAME)],
        lambda text: None,
        workers=1,
    )
    return work


def read_measured(work: WorkFolder) -> dict[str, tuple[str, int]]:
    return {row["id"]: (row["reason"], len(row["tests"])) for row in work.read("measured", NAME)}


def test_good_project_yields_admissible_functions(work: WorkFolder) -> None:
    assert read_measured(work) == {
        "dlbench-tiny/dlbench_tiny.layers.softmax": ("", 4),
        "dlbench-tiny/dlbench_tiny.layers.leaky_relu": ("", 3),
    }
    counts = {"tests collected": 7, "tests run": 7, "tests passed": 7, "functions under test": 2, "screened": 2}
    assert summarize_project(work, NAME).items() >= (counts | {"measured": 2, "admissible": 2}).items()


def test_missing_test_requirements_are_detected_and_locked(work: WorkFolder) -> None:
    assert "numpy==" in (work.root / "benchmark/locks/dlbench-tiny.txt").read_text()
    assert (work.root / "benchmark/locks/dlbench-tiny.in").read_text() == "pytest\nnumpy\n"


def test_bad_projects_are_left_out_with_reasons(work: WorkFolder) -> None:
    reasons = {row["project"]: row["why"] for row in work.read("left_out")}
    assert list(reasons) == list(BAD)
    assert "pytest collects no test" in reasons["dlbench-tiny-crash"]
    assert "exit code" in reasons["dlbench-tiny-crash"]
    assert "pytest collects no test" in reasons["dlbench-tiny-hang"]
    assert "timeout" in reasons["dlbench-tiny-hang"]
    assert reasons["dlbench-tiny-untested"] == "the source contains no tests"
    text = render_tables(summarize_all(work))
    assert "| **1 projects** | 7 | 7 | 7 | 2 | 2 | 2 | 2 |" in text
    assert all(f"| {name} | " in text for name in BAD)


def test_rerun_repeats_only_failed_projects(work: WorkFolder) -> None:
    def list_files() -> dict[Path, tuple[int, bytes]]:
        return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in (work.root / NAME).iterdir()}

    messages: list[str] = []
    before = list_files()
    engine = Engine(choose_sandbox(), LIMITS)
    assert run_all(engine, work, [ProjectSpec(NAME)], messages.append, workers=1) == {}
    assert messages == []
    assert {path: kept for path, kept in list_files().items() if before[path] != kept} == {}
    assert list(run_all(engine, work, [ProjectSpec("dlbench-tiny-crash")], messages.append, workers=1)) == [
        "dlbench-tiny-crash"
    ]
    assert [text for text in messages if "building" in text or "fetching" in text] == []
    assert [row["project"] for row in work.read("left_out")] == list(BAD)


def test_folder_becomes_a_benchmark_that_scores_answers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole way of `docs/construction/README.md`, although the index has a package of the folder's name."""
    (folder / "own").mkdir()
    monkeypatch.chdir(folder / "own")
    pyproject = f'[project]\nname = "{NAME}"\nversion = "7.0"\ndependencies = ["numpy"]\n'
    for name, text in (FILES | SECOND | {"pyproject.toml": pyproject}).items():
        if name != "PKG-INFO":
            Path(NAME, name).parent.mkdir(parents=True, exist_ok=True)
            Path(NAME, name).write_text(text)

    def run(*arguments: str) -> str:
        ended = CliRunner().invoke(app, list(arguments))
        assert ended.exit_code == 0, ended.output
        return ended.stdout

    constructed = run("construct", "run", f"./{NAME}", "--workers", "1")
    assert "admissible 2" in constructed
    assert "next: dlbench construct review, then dlbench construct write --into BENCHMARK\n" in constructed
    listed = run("tests", NAME, "test_softmax_sums_to_one", "--benchmark", "construction/benchmark")
    assert listed.splitlines() == [f"tests/test_layers.py::test_softmax_sums_to_one[{size}]" for size in (2, 3, 4)]
    assert "2 instances written" in run("construct", "write", "--into", "bench", "--accept-all", "--annotator", "me")
    assert tomllib.loads(Path(f"bench/projects/{NAME}.toml").read_text())["path"] == f"../{NAME}"
    answer = SOFTMAX.partition("np\n")[2]
    sample = {"instance": f"{NAME}/dlbench_tiny.layers.softmax", "answer": f"```python\n{answer}```"}
    Path("samples.jsonl").write_text(json.dumps(sample) + "\n")
    run("evaluate", "samples.jsonl", "--benchmark", "bench", "--out", "results", "--workers", "1")
    assert json.loads(Path("results/verdicts.jsonl").read_text())["status"] == "pass"
    (Path(NAME) / "dlbench_tiny/layers.py").write_text(SOFTMAX)
    (Path(NAME) / "tests/test_layers.py").write_text(FILES["tests/test_layers.py"])
    ended = CliRunner().invoke(app, ["evaluate", "samples.jsonl", "--benchmark", "bench", "--out", "changed"])
    assert ended.exit_code == 1, "the tests are not those that were verified"
    assert "the source is not the one that was pinned" in ended.output
    assert "admissible 1" in run("construct", "run", f"./{NAME}", "--workers", "1")
    assert Path("construction/earlier", f"{NAME}-7.0").is_dir()


def test_official_files_become_runnable_where_the_release_has_function_and_tests(folder: Path) -> None:
    places = {"path": "dlbench_tiny/layers.py", "repo": "Tiny", "rest": "test_cases:tests/test_layers.py"}
    for name, fields in {
        "one": {"function": "softmax"},
        "two": {"function": "leaky_relu", "rest": "test_cases:tests/test_layers.py::test_leaky_relu"},
        "same": {"function": "softmax"},
        "gone": {"function": "sigmoid"},
        "untested": {"function": "softmax", "rest": "test_cases:tests/test_else.py"},
        "unreleased": {"function": "softmax", "repo": "elsewhere"},
    }.items():
        write_official(folder / "official", f"{name}.txt", **(places | fields))
    repaired = repair_all(read_files(find_files(folder / "official")))
    engine, work = Engine(choose_sandbox(), LIMITS), WorkFolder(folder / "runnable")
    archive = "dlbench_tiny-1.1.tar.gz"
    other = make_runnable(engine, repaired, work, quiet, workers=1, releases=[Release("Tiny", NAME, archive, "0")])
    assert "is not the pinned one" in other["Tiny/one"]
    releases = [Release("Tiny", NAME, archive, sha256(folder / "served/files" / archive))]
    for _ in range(2):  # the second time nothing is measured again
        outcomes = make_runnable(engine, repaired, work, quiet, workers=1, releases=releases)
        assert {key.rpartition("/")[2]: outcome for key, outcome in outcomes.items()} == {
            "one": RUNNABLE,
            "same": "another file asks for the same function",
            "two": RUNNABLE,
            "gone": "the release has no such function",
            "untested": "the release has none of its tests",
            "unreleased": "no source archive of its project is on the index",
        }
        assert len(work.read("measured", NAME)) == 2
    benchmark, problems = check_records(work.root / "benchmark")
    assert problems == []
    found = {key.rpartition(".")[2]: instance for key, instance in benchmark.instances.items()}
    assert {name: len(instance.tests) for name, instance in found.items()} == {"leaky_relu": 3, "softmax": 4}
    assert found["softmax"].prompt.startswith("Write a function that halves.")
    assert (found["softmax"].labels.stage, found["softmax"].introduced) == ("training", SECOND_RELEASE)


def test_live_proposes_only_new_functions(folder: Path, work: WorkFolder) -> None:
    options = ["--since", str(SECOND_RELEASE), "--work", str(folder / "editions"), "--workers", "1"]
    ended = CliRunner().invoke(app, ["construct", "live", NAME, "dlbench-tiny-untested", *options])
    assert ended.exit_code == 0, ended.output
    edition = WorkFolder(folder / "editions" / f"live-{SECOND_RELEASE}")
    assert read_measured(edition) == {"dlbench-tiny/dlbench_tiny.layers.leaky_relu": ("", 3)}
    left_out = [(row["name"], row["why"]) for row in edition.read("extract_left_out", NAME)]
    assert left_out == [("softmax", f"it was introduced before {SECOND_RELEASE}")]
    assert f"project {NAME}" in ended.output
    assert "dlbench-tiny-untested: its newest release is from 2026-01-01" in ended.output
