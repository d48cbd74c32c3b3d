"""Answers in, verdicts out: right ones pass, no other does, and a kill at any moment loses nothing."""

import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

from dlbench.construction.collect import collect_part
from dlbench.dataset.target import find_target
from dlbench.execution import find_sandboxes
from tests.conftest import MODULE, TEST_IDS

ID = "toy/toy.core.scale"
RIGHT = "def scale(values, factor=2):\n    if not factor:\n        raise ValueError\n    return [v * factor for v in values]\n"
WRONG = "def scale(values, factor=2):\n    return values\n"


def verdicts_of(out):
    return [json.loads(line) for line in (out / "verdicts.jsonl").read_text().splitlines()]


def steady(records):
    """Verdicts without what differs from run to run."""
    return [
        {key: value for key, value in r.items() if key not in {"seconds", "test_seconds", "memory_mb"}} for r in records
    ]


def test_evaluate_judges_raw_answers_and_bare_code(dlbench, toy_root, tmp_path, write_samples):
    reference = find_target(MODULE, "scale").text
    answers = {
        "pass": [reference, RIGHT, f"Sure!\n\n```python\n{RIGHT}```\nIt multiplies.", f"<think>hm</think>\n{RIGHT}"],
        "fail": [WRONG, "def scale(values, factor=2):\n    import sys\n    sys.exit(0)\n"],
        "error": ["def scale(values, factor=2):\n    import os\n    os._exit(0)\n", f"import nothing_here\nX = nothing_here.x\n{RIGHT.replace('not factor', 'X')}"],
        "no_code": ["I would multiply them, I think.", "", "```\n```"],
        "syntax_error": ["```python\ndef scale(values, factor=2:\n    return 1\n```"],
        "missing_target": ["```python\ndef rescale(values):\n    return 1\n```"],
    }  # fmt: skip
    records = [
        {"instance": ID, "sample": number, "answer": answer}
        for number, answer in enumerate(answer for group in answers.values() for answer in group)
    ]
    records.append({"instance": ID, "sample": len(records), "code": RIGHT})
    expected = [status for status, group in answers.items() for _ in group] + ["pass"]
    ended = dlbench("evaluate", write_samples(*records), "--out", tmp_path / "out", "--benchmark", toy_root)
    assert ended.status == 0, ended.err
    found = verdicts_of(tmp_path / "out")
    assert [verdict["status"] for verdict in found] == expected
    assert all(len(verdict["tests"]) == 5 for verdict in found)
    assert "pass@1" in ended.out
    assert (tmp_path / "out/report.md").is_file()


def test_packed_samples_are_judged_and_kept(dlbench, toy_root, tmp_path, write_samples):
    packed = tmp_path / "mine.jsonl.gz"
    packed.write_bytes(gzip.compress(write_samples({"instance": ID, "answer": RIGHT}).read_bytes()))
    ended = dlbench("evaluate", packed, "--out", tmp_path / "out", "--benchmark", toy_root)
    assert ended.status == 0, ended.err
    assert [verdict["status"] for verdict in verdicts_of(tmp_path / "out")] == ["pass"]
    assert json.loads((tmp_path / "out/samples.jsonl").read_text())["answer"] == RIGHT
    assert json.loads((tmp_path / "out/config.json").read_text())["model"] == "mine"


def test_a_verdict_says_that_the_answer_was_cut_off_or_has_another_name(dlbench, toy_root, tmp_path, write_samples):
    cut = "Here:\n```python\ndef scale(values, factor=2):\n    return [v * fac"
    answers = [
        {"answer": cut},
        {"answer": "<think>Let me see"},
        {"answer": "```python\ndef rescale(values):\n    return 1\n```"},
        {"answer": "def scale(values, factor=2):", "finish_reason": "length"},
        {"answer": WRONG, "finish_reason": "length"},
        {"answer": WRONG, "finish_reason": "stop"},
    ]
    samples = write_samples(*({"instance": ID, "sample": n} | answer for n, answer in enumerate(answers)))
    ended = dlbench("evaluate", samples, "--out", tmp_path / "out", "--benchmark", toy_root)
    found = verdicts_of(tmp_path / "out")
    statuses = ["syntax_error", "no_code", "missing_target", "syntax_error", "fail", "fail"]
    assert [verdict["status"] for verdict in found] == statuses
    assert [verdict.get("truncated") for verdict in found] == [True, True, None, True, True, None]
    assert ["cut off" in verdict["message"] for verdict in found] == [True, True, False, True, False, False]
    assert found[2]["others"] == ["rescale"]
    assert "rescale" in found[2]["message"]
    assert re.search(r"cut off.*4", ended.out)
    assert "CUT OFF: 66.7 % of the answers of samples (4 of 6)" in ended.out


@pytest.mark.parametrize(
    ("line", "where", "message"),
    [
        ("{oops", "samples.jsonl:2", "not a line of JSON"),
        ('{"instance": "toy/nothing", "answer": ""}', "samples.jsonl:2", "there is no instance"),
        ('{"answer": "x"}', "samples.jsonl:2", '"instance" is missing'),
        ('{"task_id": "x", "solution": "y"}', "samples.jsonl:2", "dlbench import evalplus"),
        (
            '{"instance": "ID_HERE", "sample": 1}'.replace("ID_HERE", ID),
            "samples.jsonl:2",
            'neither "answer" nor "code"',
        ),
        (
            '{"instance": "ID_HERE", "sample": 1, "answer": null}'.replace("ID_HERE", ID),
            "samples.jsonl:2",
            'neither "answer" nor "code"',
        ),
        (
            '{"instance": "ID_HERE", "sample": 0, "answer": "x"}'.replace("ID_HERE", ID),
            "samples.jsonl:2",
            "given twice",
        ),
        (
            '{"instance": "ID_HERE", "sample": "first", "answer": "x"}'.replace("ID_HERE", ID),
            "samples.jsonl:2",
            "not a whole number",
        ),
        ("[1, 2]", "samples.jsonl:2", "not an object"),
    ],
)
def test_a_bad_line_is_named_by_its_number_and_nothing_runs(dlbench, toy_root, tmp_path, line, where, message):
    samples = tmp_path / "samples.jsonl"
    samples.write_text(json.dumps({"instance": ID, "sample": 0, "answer": RIGHT}) + "\n" + line + "\n")
    ended = dlbench("evaluate", samples, "--out", tmp_path / "out", "--benchmark", toy_root)
    assert ended.status == 1
    assert where in ended.err
    assert message in ended.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("key", ["model", "technique"])
def test_answers_of_two_models_or_techniques_are_never_scored_as_samples_of_one(
    dlbench, toy_root, tmp_path, write_samples, key
):
    samples = write_samples({"instance": ID, key: "one", "answer": "x"}, {"instance": ID, key: "two", "answer": "y"})
    ended = dlbench("evaluate", samples, "--out", tmp_path / "out", "--benchmark", toy_root)
    assert ended.status == 1
    assert f"samples.jsonl:2: an answer of the {key} two in a file of one" in ended.err
    assert not (tmp_path / "out").exists()


def test_a_missing_or_empty_file_gets_a_clear_message(dlbench, toy_root, tmp_path):
    assert (
        "no such file" in dlbench("evaluate", tmp_path / "none", "--out", tmp_path / "o", "--benchmark", toy_root).err
    )
    empty = tmp_path / "empty.jsonl"
    empty.write_text("\n")
    assert "no sample" in dlbench("evaluate", empty, "--out", tmp_path / "o", "--benchmark", toy_root).err


def test_verdicts_on_other_answers_are_never_mixed(dlbench, toy_root, tmp_path, write_samples):
    first = write_samples({"instance": ID, "answer": RIGHT}, name="s.jsonl")
    assert dlbench("evaluate", first, "--out", tmp_path / "out", "--benchmark", toy_root).status == 0
    kept = (tmp_path / "out/verdicts.jsonl").read_text()
    second = write_samples({"instance": ID, "answer": WRONG}, name="s.jsonl")
    ended = dlbench("evaluate", second, "--out", tmp_path / "out", "--benchmark", toy_root)
    assert ended.status == 1
    assert "another answer" in ended.err
    assert (tmp_path / "out/verdicts.jsonl").read_text() == kept


def test_verdicts_on_other_records_of_a_private_benchmark_are_never_reused(dlbench, toy_root, tmp_path, write_samples):
    samples, out = write_samples({"instance": ID, "answer": RIGHT}), tmp_path / "out"
    assert dlbench("evaluate", samples, "--out", out, "--benchmark", toy_root).status == 0
    record = toy_root / "instances/toy/scale.toml"
    record.write_text(record.read_text() + "# changed\n")
    ended = dlbench("evaluate", samples, "--out", out, "--benchmark", toy_root)
    assert ended.status == 1
    assert "this run was started with benchmark 1.0+" in ended.err
    assert "choose a new --out" in ended.err


@pytest.mark.slow
def test_killed_half_way_and_started_again_it_ends_as_if_undisturbed(dlbench, toy_root, tmp_path, write_samples):
    """SIGKILL at a random moment, several times: the verdict file is the same but for timings."""
    answers = [RIGHT, WRONG, "prose", RIGHT + "# other\n", "def f(): pass", WRONG + "# other\n"] * 3
    samples = write_samples(
        *({"instance": ID, "sample": n, "answer": f"{answer}\n# {n}\n"} for n, answer in enumerate(answers))
    )
    undisturbed = dlbench("evaluate", samples, "--out", tmp_path / "calm", "--benchmark", toy_root)
    assert undisturbed.status == 0, undisturbed.err
    command = [sys.executable, "-m", "dlbench", "evaluate", str(samples), "--out", str(tmp_path / "killed")]
    command += ["--benchmark", str(toy_root)]
    path = tmp_path / "killed/verdicts.jsonl"
    for wanted in (1, 6, 11):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and process.poll() is None:
            if path.is_file() and path.read_bytes().count(b"\n") >= wanted:
                break
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert path.read_bytes().count(b"\n") >= wanted
    assert path.read_bytes().count(b"\n") < len(answers)
    with path.open("ab") as file:
        file.write(b'{"instance": "toy/to')  # what a kill in the middle of a write leaves
    assert dlbench("evaluate", samples, "--out", tmp_path / "killed", "--benchmark", toy_root).status == 0
    assert steady(verdicts_of(tmp_path / "killed")) == steady(verdicts_of(tmp_path / "calm"))


def test_a_second_start_runs_nothing_again(dlbench, toy_root, tmp_path, write_samples):
    samples = write_samples({"instance": ID, "answer": RIGHT})
    dlbench("evaluate", samples, "--out", tmp_path / "out", "--benchmark", toy_root)
    before = (tmp_path / "out/verdicts.jsonl").read_text()
    dlbench("evaluate", samples, "--out", tmp_path / "out", "--benchmark", toy_root)
    assert (tmp_path / "out/verdicts.jsonl").read_text() == before


def test_a_weaker_sandbox_is_noted_once_and_only_where_code_runs(dlbench, toy_root, tmp_path, write_samples):
    samples = write_samples({"instance": ID, "answer": RIGHT}, {"instance": ID, "sample": 1, "answer": WRONG})
    without_bwrap = {"PATH": str(tmp_path)}
    arguments = ("evaluate", samples, "--out", tmp_path / "out", "--benchmark", toy_root)
    first, second = (dlbench(*arguments, env=without_bwrap) for _ in range(2))
    assert first.status == second.status == 0, first.err
    assert first.err.count("bubblewrap is not available") == 1
    assert "bubblewrap" not in second.err


def test_code_that_breaks_the_harness_costs_its_own_sample_only(dlbench, toy_root, tmp_path, write_samples):
    """Half a surrogate pair in a message, a sum of a thousand terms: a verdict each, and the run goes on."""
    odd = "def scale(values, factor=2):\n    raise ValueError('\\ud800')\n"
    long = f"def scale(values, factor=2):\n    return {' + '.join(['values'] * 1000)}\n"
    samples = write_samples(*({"instance": ID, "answer": answer} for answer in (odd, long, RIGHT)))
    ended = dlbench("evaluate", samples, "--out", tmp_path / "out", "--benchmark", toy_root)
    assert ended.status == 0, ended.err
    assert [verdict["status"] for verdict in verdicts_of(tmp_path / "out")] == ["fail", "fail", "pass"]


def test_report_counts_a_sample_that_was_tried_again_once(dlbench, toy_root, tmp_path, write_samples):
    samples = write_samples({"instance": ID, "answer": RIGHT})
    dlbench("evaluate", samples, "--out", tmp_path / "out", "--benchmark", toy_root)
    path = tmp_path / "out/verdicts.jsonl"
    line = path.read_text()
    path.write_text(line.replace('"pass"', '"harness_error"') + line)
    ended = dlbench("report", tmp_path / "out", "--benchmark", toy_root)
    assert ended.status == 0, ended.err
    assert "100.0 %" in ended.out


@pytest.mark.parametrize(
    "text",
    ['{"instance": "toy/toy.core.scale"}\n', '{"instance": "other/x.y", "sample": 0, "status": "pass", "tests": {}}\n'],
)
def test_a_strange_verdict_file_gets_a_clear_message(dlbench, toy_root, tmp_path, text):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/verdicts.jsonl").write_text(text)
    ended = dlbench("report", tmp_path / "out", "--benchmark", toy_root)
    assert ended.status == 1
    assert "fix:" in ended.err
    assert "Traceback" not in ended.said


def test_a_report_that_cannot_be_written_gets_a_clear_message(dlbench, toy_root, tmp_path, write_samples):
    samples = write_samples({"instance": ID, "answer": RIGHT})
    dlbench("evaluate", samples, "--out", tmp_path / "out", "--benchmark", toy_root)
    ended = dlbench("report", tmp_path / "out", "--out", tmp_path / "out/config.json", "--benchmark", toy_root)
    assert ended.status == 1
    assert "cannot be created" in ended.err
    assert "Traceback" not in ended.said


def test_the_folder_keeps_the_answers_and_each_failed_test_says_what_was_wrong(
    dlbench, toy_root, tmp_path, write_samples
):
    wrong = "def scale(values, factor=2):\n    return [9]\n"
    samples = write_samples({"instance": ID, "code": wrong})
    dlbench("evaluate", samples, "--out", tmp_path / "out", "--benchmark", toy_root)
    assert (tmp_path / "out/samples.jsonl").read_text() == samples.read_text()
    (verdict,) = verdicts_of(tmp_path / "out")
    assert set(verdict["errors"]) == set(verdict["tests"])
    assert "assert [9] == [1, 2]" in verdict["errors"]["tests/test_core.py::test_scale[1]"]
    assert "DID NOT RAISE" in verdict["errors"]["tests/test_core.py::test_scale_zero"]


def test_two_processes_do_not_write_into_one_folder(dlbench, toy_root, tmp_path, write_samples):
    import fcntl

    samples = write_samples({"instance": ID, "answer": RIGHT})
    out = tmp_path / "out"
    dlbench("evaluate", samples, "--out", out, "--benchmark", toy_root)
    with (out / "verdicts.jsonl").open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        ended = dlbench("evaluate", samples, "--out", out, "--benchmark", toy_root)
    assert ended.status == 1
    assert "another process is writing here" in ended.err


@pytest.mark.slow
def test_validate_holds_for_sound_instances_and_names_a_test_that_cannot_tell(dlbench, toy_root):
    assert dlbench("validate", "--benchmark", toy_root).status == 0
    record = toy_root / "instances/toy/Counter.step.toml"
    text = record.read_text()
    record.write_text(text.replace("TestCounter::test_step_by", "TestCounter::test_unrelated"))
    ended = dlbench("validate", "--benchmark", toy_root)
    assert ended.status == 1
    assert "test_unrelated" in ended.out
    assert "1 of 2 instances hold" in ended.out


def test_without_a_sandbox_nothing_runs_unless_the_user_says_so(dlbench, toy_root, tmp_path, write_samples):
    """On a machine without bwrap, Landlock or root there is a message, not an unconfined run."""
    samples = write_samples({"instance": ID, "answer": RIGHT})
    bare = {"PATH": str(tmp_path), "PYTHONPATH": str(tmp_path / "shadow")}
    shadow = tmp_path / "shadow"
    shadow.mkdir()
    (shadow / "sandlock.py").write_text("raise ImportError('none')\n")
    home = {"DLBENCH_HOME": os.environ.get("DLBENCH_HOME", "")} if os.environ.get("DLBENCH_HOME") else {}
    (shadow / "sitecustomize.py").write_text("import os\nos.geteuid = lambda: 1234\n")
    ended = dlbench("evaluate", samples, "--out", tmp_path / "out", "--benchmark", toy_root, env=bare | home)
    assert ended.status == 1
    assert "there is no sandbox on this machine" in ended.err
    assert "bubblewrap" in ended.err
    said = ("evaluate", samples, "--out", tmp_path / "out", "--benchmark", toy_root, "--sandbox", "unconfined")
    allowed = dlbench(*said)
    assert allowed.status == 0, allowed.err
    assert "UNCONFINED" in allowed.err
    assert verdicts_of(tmp_path / "out")[0]["sandbox"] == "unconfined"


def test_prepare_all_takes_every_project_whatever_is_chosen(dlbench, toy_root):
    nothing = ("prepare", "--benchmark", toy_root, "--since", "2999-01-01")
    assert dlbench(*nothing).status == 1
    ended = dlbench(*nothing, "--all")
    assert ended.status == 0, ended.err
    assert "toy" in ended.out


def test_project_without_instances_is_prepared_and_its_tests_are_listed(dlbench, toy_root):
    """Instances need test ids, and test ids need a prepared project."""
    shutil.rmtree(toy_root / "instances")
    for chosen in ((), ("--project", "toy")):
        ended = dlbench("prepare", "--benchmark", toy_root, *chosen)
        assert (ended.status, ended.out) == (0, "toy 1.0 is ready\n"), ended.said
    ended = dlbench("tests", "toy", "--benchmark", toy_root)
    assert ended.status == 0, ended.said
    assert ended.out.splitlines() == [
        *TEST_IDS["scale"],
        *TEST_IDS["Counter.step"],
        "tests/test_core.py::TestCounter::test_unrelated",
    ]


def test_tests_of_a_file_class_or_function_are_listed(toy_prepared, engine):
    listed = {
        "tests": 8,
        "tests/test_core.py": 8,
        "TestCounter": 3,
        "test_scale": 3,
        "tests/test_core.py::TestCounter::test_step": 1,
        "TestCounter::test_step": 1,
        "tests/test_core.py::test_scale[2]": 1,
        "test_sca": 0,
    }
    assert {part: len(collect_part(engine, toy_prepared, part).tests) for part in listed} == listed


def test_unknown_project_or_part_is_reported(dlbench, toy_root):
    ended = dlbench("tests", "toi", "--benchmark", toy_root)
    assert (ended.status, "did you mean toy?" in ended.err) == (1, True)
    ended = dlbench("tests", "toy", "test_nothing", "--benchmark", toy_root)
    assert (ended.status, "no test matches 'test_nothing'" in ended.err) == (1, True)


@pytest.mark.parametrize("sandbox", ["bubblewrap", "sandlock"])
def test_what_the_kernel_says_of_the_processors_can_be_read(dlbench, toy_root, tmp_path, write_samples, sandbox):
    """Libraries that find out there what a core can do fail without it, and right answers with them."""
    if {kind.name: obstacle for kind, obstacle in find_sandboxes()}[sandbox]:
        pytest.skip(f"{sandbox} cannot be used on this machine")
    look = "    open('/sys/devices/system/cpu/possible').read()\n"
    samples = write_samples({"instance": ID, "code": RIGHT.replace("    if not factor", f"{look}    if not factor", 1)})
    ended = dlbench("evaluate", samples, "--out", tmp_path / "out", "--benchmark", toy_root, "--sandbox", sandbox)
    assert ended.status == 0, ended.err
    (verdict,) = verdicts_of(tmp_path / "out")
    assert (verdict["status"], verdict["sandbox"]) == ("pass", sandbox), verdict


def test_an_unknown_mode_is_refused_before_anything_is_done(dlbench, toy_root, tmp_path, write_samples):
    samples = write_samples({"instance": ID, "code": RIGHT})
    ended = dlbench("evaluate", samples, "--out", tmp_path / "out", "--benchmark", toy_root, "--mode", "hot")
    assert ended.status != 0
    assert "there is no mode 'hot'" in ended.err
    assert "auto, fresh" in ended.err
    assert not (tmp_path / "out").exists()
