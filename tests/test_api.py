"""From Python the benchmark is as short as on the command line, and what docs/api.md shows is so."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dlbench
from tests.conftest import write_toy
from tests.reporting.boards import RIGHT, SCALE, STEP, WRONG

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return write_toy(tmp_path_factory.mktemp("api"))


def test_a_split_is_loaded_by_its_name(root):
    assert list(dlbench.load("demo", root).instances) == [SCALE]
    assert set(dlbench.load(root=root).instances) == {SCALE, STEP}
    with pytest.raises(dlbench.DLBenchError, match="there is no split 'dem'"):
        dlbench.load("dem", root)


def test_samples_become_verdicts_and_verdicts_a_score(root, tmp_path):
    benchmark = dlbench.load(root=root)
    samples = [
        {"instance": SCALE, "answer": f"Sure:\n```python\n{RIGHT[SCALE]}```\n"},
        dlbench.Sample(STEP, 0, WRONG[STEP], is_code=True),
        dlbench.Sample(STEP, 1, RIGHT[STEP]),
    ]
    verdicts = dlbench.evaluate(samples, benchmark, out=tmp_path / "run", timeout=20)
    assert [str(verdict.status) for verdict in verdicts] == ["pass", "fail", "pass"]
    found = dlbench.score(verdicts, benchmark)
    assert found.overall.pass_at_1 == 0.75
    for same in (tmp_path / "run", [verdict.as_record() for verdict in verdicts]):
        assert repr(dlbench.score(same, benchmark)) == repr(found)


def test_what_a_person_can_mend_is_an_error_that_says_so(root):
    benchmark = dlbench.load(root=root)
    with pytest.raises(dlbench.DLBenchError, match="there is no instance 'toy/none'"):
        dlbench.evaluate([{"instance": "toy/none", "answer": "x"}], benchmark)
    with pytest.raises(dlbench.DLBenchError, match="no sample"):
        dlbench.evaluate([], benchmark)
    with pytest.raises(dlbench.DLBenchError, match="there is no mode"):
        dlbench.evaluate([{"instance": SCALE, "answer": "x"}], benchmark, mode="quick")
    with pytest.raises(dlbench.DLBenchError, match="not a verdict"):
        dlbench.score([{"instance": SCALE}], benchmark)
    verdict = {"instance": SCALE, "sample": 0, "status": "pass", "tests": {"t": "passed"}}
    assert dlbench.score([verdict, verdict | {"sample": 1}], benchmark).overall.samples == 2
    with pytest.raises(dlbench.DLBenchError, match=f"verdicts:2: sample 0 of {SCALE} is given twice"):
        dlbench.score([verdict, verdict], benchmark)
    with pytest.raises(dlbench.DLBenchError, match="use any of: stage, task, data, project"):
        dlbench.score([verdict], benchmark, axes=["stages"])


def test_importing_dlbench_loads_nothing_that_is_heavy():
    code = "import sys, dlbench; print({'numpy', 'pydantic', 'libcst', 'openai', 'typer', 'rich'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "set()\n"


@pytest.mark.slow
def test_a_type_checker_sees_what_the_package_offers(tmp_path):
    program = tmp_path / "program.py"
    lines = [
        "import dlbench",
        "reveal_type(dlbench.load)",
        "reveal_type(dlbench.evaluate)",
        "reveal_type(dlbench.score)",
    ]
    program.write_text("\n".join(lines) + "\n")
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--config-file", "", str(program)]
    environment = os.environ | {"MYPYPATH": str(ROOT / "src")}
    told = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False).stdout
    assert told.count("Revealed type") == 3
    assert "Summary" in told
    assert '"Any"' not in told
    assert "error" not in told


def test_every_example_of_the_documentation_runs(root, tmp_path):
    """In one go, in their order, as a reader would try them, on the toy benchmark."""
    examples = re.findall(r"```python\n(.*?)```", (ROOT / "docs/api.md").read_text(), re.DOTALL)
    assert len(examples) >= 4
    program = tmp_path / "examples.py"
    program.write_text("\n".join(examples))
    environment = os.environ | {"DLBENCH_BENCHMARK": str(root)}
    ended = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert SCALE in ended.stdout
    assert "no_code" in ended.stdout
    assert "pass@1 0%" in ended.stdout
