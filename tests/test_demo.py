"""The demo split, for real: references pass, hostile and empty answers do not, and what is broken is named."""

import json
import shutil
from pathlib import Path

import pytest

from dlbench.dataset import Selection, load, select
from dlbench.generation.sources import Sources
from tests.cli.conftest import dlbench as dlbench
from tests.cli.test_judging import verdicts_of

BENCHMARK = load()
DEMO = select(BENCHMARK, Selection(split="demo"))

WITHOUT_TARGET = {
    "prose": ("I would first normalise the input and then return it.", "no_code"),
    "empty": ("", "no_code"),
    "syntax error": ("```python\ndef broken(:\n    return 1\n```", "syntax_error"),
    "another function": ("```python\ndef something_else(x):\n    return x\n```", "missing_target"),
    "exit at the top": ("```python\nimport sys\nsys.exit(0)\n```", "missing_target"),
}
HOSTILE = {
    "exit": "import sys\nsys.exit(0)",
    "hard exit": "import os\nos._exit(0)",
    "socket": "import socket\nsocket.create_connection(('127.0.0.1', 9), 1)",
    "write outside": "open('/usr/dlbench-was-here', 'w').write('x')",
    "endless loop": "while True: pass",
    "100 GiB": "return bytearray(100 << 30)",
    "fork bomb": "import os\nwhile True: os.fork()",
}


def test_the_demo_covers_what_it_promises():
    assert len(DEMO) >= 12
    assert len({instance.project for instance in DEMO}) >= 3
    assert len({instance.labels.stage for instance in DEMO}) == 5
    assert {instance.is_method for instance in DEMO} == {True, False}


def test_prompts_are_of_a_readable_length():
    for instance in DEMO:
        assert 40 <= len(instance.prompt.split()) <= 250, instance.id


@pytest.mark.slow
def test_only_the_reference_passes(dlbench, tmp_path: Path):
    """References under the limits that users get; others, for an instance of each project, under a short one, since some
    of them run into it."""
    sources = Sources(BENCHMARK)
    references = tmp_path / "references.jsonl"
    answers = ({"instance": instance.id, "answer": sources.reference(instance.id)} for instance in DEMO)
    references.write_text("".join(json.dumps(answer) + "\n" for answer in answers))
    ended = dlbench("evaluate", references, "--out", tmp_path / "references", timeout=900)
    assert ended.status == 0, ended.err
    assert [verdict["status"] for verdict in verdicts_of(tmp_path / "references")] == ["pass"] * len(DEMO)
    records, expected = [], []

    def add(instance, answer, allowed):
        sample = sum(record["instance"] == instance.id for record in records)
        records.append({"instance": instance.id, "sample": sample, "answer": answer})
        expected.append(allowed)

    for instance in {instance.project: instance for instance in DEMO}.values():
        signature = sources.signature(instance.id)
        for answer, status in WITHOUT_TARGET.values():
            add(instance, answer, {status})
        for body in HOSTILE.values():
            lines = "".join(f"    {line}\n" for line in body.split("\n"))
            add(instance, f"```python\n{signature}\n{lines}```", {"fail", "error", "timeout", "out_of_memory"})
    samples = tmp_path / "samples.jsonl"
    samples.write_text("".join(json.dumps(record) + "\n" for record in records))
    ended = dlbench("evaluate", samples, "--out", tmp_path / "out", "--timeout", 10, timeout=1500)
    assert ended.status == 0, ended.err
    for record, allowed, verdict in zip(records, expected, verdicts_of(tmp_path / "out"), strict=True):
        assert verdict["status"] in allowed, (record, verdict)
    assert not Path("/usr/dlbench-was-here").exists()


@pytest.mark.slow
def test_check_names_what_is_broken_in_the_real_benchmark(dlbench, tmp_path: Path):
    root = tmp_path / "benchmark"
    shutil.copytree(BENCHMARK.root, root)
    # the line that is put into a prompt may make it longer than our rules allow, which is tested elsewhere
    (root / "rules.toml").unlink()
    first, second, third, *_ = DEMO
    breaks = {
        first.id: ('sha256 = "', 'sha256 = "' + "0" * 64 + '" # '),
        second.id: ("::test_", "::test_absent_"),
        third.id: None,
    }
    reference = Sources(BENCHMARK).reference(third.id).splitlines()
    line = max((text.strip() for text in reference if "=" in text and text.startswith("    ")), key=len)
    for key, change in breaks.items():
        path = root / BENCHMARK.files[key].relative_to(BENCHMARK.root)
        text = path.read_text()
        old, new = change or ("prompt = '''\n", f"prompt = '''\nWrite {line} somewhere. ")
        assert old in text
        path.write_text(text.replace(old, new, 1))
    problems = json.loads(dlbench("check", "--benchmark", root, "--split", "demo", "--json", timeout=900).out)
    found = {(Path(problem["where"]).stem, problem["kind"]) for problem in problems}
    assert found == {
        (first.qualname, "hash_mismatch"),
        (second.qualname, "missing_test"),
        (third.qualname, "prompt_leaks_code"),
    }


@pytest.mark.slow
def test_the_embedded_model_answers_and_is_judged(dlbench, tmp_path: Path):
    chosen = ("--project", "seqeval", "--max-tokens", 64, "--out", tmp_path / "run")
    ended = dlbench("run", "--model", "embedded", *chosen, timeout=900)
    assert ended.status == 0, ended.err
    verdicts = verdicts_of(tmp_path / "run")
    assert len(verdicts) == 4
    assert "harness_error" not in {verdict["status"] for verdict in verdicts}
    assert "pass@1" in ended.out
