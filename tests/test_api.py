"""The Python interface works as docs/api.md and docs/judge.md show."""

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


def test_split_is_loaded_by_name(root):
    assert list(dlbench.load("demo", root).instances) == [SCALE]
    assert set(dlbench.load(root=root).instances) == {SCALE, STEP}
    with pytest.raises(dlbench.DLBenchError, match="there is no split 'dem'"):
        dlbench.load("dem", root)


def test_samples_are_evaluated_and_scored(root, tmp_path):
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


def test_user_errors_are_explained(root):
    benchmark = dlbench.load(root=root)
    with pytest.raises(dlbench.DLBenchError, match="there is no instance 'toy/none'"):
        dlbench.evaluate([{"instance": "toy/none", "answer": "x"}], benchmark)
    with pytest.raises(dlbench.DLBenchError, match="no sample"):
        dlbench.evaluate([], benchmark)
    with pytest.raises(dlbench.DLBenchError, match="there is no mode"):
        dlbench.evaluate([{"instance": SCALE, "answer": "x"}], benchmark, mode="quick")
    for option, fix in (("workers", "pass 1 or more"), ("timeout", "pass 0.1 or more"), ("memory", "pass 64 or more")):
        with pytest.raises(dlbench.DLBenchError, match=f"{option} is 0\n  fix: {fix}"):
            dlbench.Judge(benchmark, **{option: 0})
    with pytest.raises(dlbench.DLBenchError, match="not a verdict"):
        dlbench.score([{"instance": SCALE}], benchmark)
    verdict = {"instance": SCALE, "sample": 0, "status": "pass", "tests": {"t": "passed"}}
    assert dlbench.score([verdict, verdict | {"sample": 1}], benchmark).overall.samples == 2
    with pytest.raises(dlbench.DLBenchError, match=f"verdicts:2: sample 0 of {SCALE} is given twice"):
        dlbench.score([verdict, verdict], benchmark)
    with pytest.raises(dlbench.DLBenchError, match="use any of: stage, task, data, project"):
        dlbench.score([verdict], benchmark, axes=["stages"])


def test_importing_dlbench_loads_no_heavy_library():
    code = "import sys, dlbench; print({'numpy', 'pydantic', 'libcst', 'openai', 'typer', 'rich'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "set()\n"


def test_dir_lists_the_public_names():
    assert dir(dlbench) == sorted(dlbench.__all__)
    assert all(getattr(dlbench, name) is not None for name in dir(dlbench))


@pytest.mark.slow
def test_type_checker_sees_the_public_names(tmp_path):
    program = tmp_path / "program.py"
    names = ("load", "evaluate", "score")
    program.write_text("import dlbench\n" + "".join(f"reveal_type(dlbench.{name})\n" for name in names))
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--config-file", "", str(program)]
    environment = os.environ | {"MYPYPATH": str(ROOT / "src")}
    output = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False).stdout
    assert output.count("Revealed type") == 3
    assert "Summary" in output
    assert '"Any"' not in output
    assert "error" not in output


def test_examples_of_the_documentation_run(root, tmp_path):
    """All of them in one program, on the toy benchmark."""
    pages = "".join((ROOT / "docs" / name).read_text() for name in ("api.md", "judge.md"))
    examples = re.findall(r"(?<!-->\n)```python\n(.*?)```", pages, re.DOTALL)
    assert len(examples) >= 5
    program = tmp_path / "examples.py"
    program.write_text("\n".join(examples))
    environment = os.environ | {"DLBENCH_BENCHMARK": str(root)}
    process = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
    )
    assert process.returncode == 0, process.stderr
    assert SCALE in process.stdout
    assert "no_code" in process.stdout
    assert "pass@1 0%" in process.stdout
