"""inspect asks what `dlbench run` asks, scores what `dlbench evaluate` says, and its logs come and go without loss."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from inspect_ai.log import read_eval_log, write_eval_log
from typer.testing import CliRunner

import dlbench
from dlbench.bridges.inspect import LATER_TURNS, as_score, dl_bench
from dlbench.bridges.shared import judges
from dlbench.cli import app
from dlbench.dataset import Selection, load, select
from dlbench.errors import DLBenchError
from dlbench.generation.sources import Sources, make_prompt_builder
from dlbench.generation.techniques import TECHNIQUES
from dlbench.runs.verdict import Outcome, Status, Verdict
from tests.bridges.mock_model import accuracy, find_instance, run
from tests.cli.test_judging import RIGHT, WRONG, steady, verdicts_of
from tests.conftest import write_toy

SCALE, STEP = "toy/toy.core.scale", "toy/toy.core.Counter.step"
STUB = "def {name}(self):\n    raise NotImplementedError\n"
ANSWERS = [
    f"Sure:\n```python\n{RIGHT}```\n",
    WRONG,
    "I would multiply them.",
    "```python\ndef rescale(values):\n    return 1\n```",
]


def command(*arguments: object):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def read_jsonl(path: Path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(scope="module", autouse=True)
def _closed_in_the_end() -> Iterator[None]:
    """Other tests of this process look for what is left of their own candidates."""
    yield
    judges.close()


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return write_toy(tmp_path_factory.mktemp("inspect"))


@pytest.fixture(scope="module")
def toys(root):
    return load(root)


@pytest.fixture(scope="module")
def log(root, tmp_path_factory):
    """Four answers to one instance, in the order of its epochs."""
    answers = iter(ANSWERS)
    task = dl_bench(split="demo", samples=4, benchmark=str(root), timeout=20)
    return run(task, lambda messages: next(answers), tmp_path_factory.mktemp("logs"), max_samples=1)


@pytest.mark.slow
def test_references_score_one_and_stubs_score_zero(root, toys, tmp_path):
    task = dl_bench(benchmark=str(root))
    sources, instances = Sources(toys), list(toys.instances.values())
    best = run(task, lambda messages: sources.reference(find_instance(messages, instances).id), tmp_path)
    worst = run(task, lambda messages: STUB.format(name=find_instance(messages, instances).name), tmp_path)
    assert (accuracy(best), accuracy(worst)) == (1.0, 0.0)
    for sample in worst.samples:
        (score,) = sample.scores.values()
        assert score.metadata["tests"] == dict.fromkeys(toys.instances[sample.id].tests, "failed")


@pytest.mark.slow
def test_score_equals_the_verdict_of_evaluate(log, root, toys):
    records = [{"instance": SCALE, "sample": number, "answer": answer} for number, answer in enumerate(ANSWERS)]
    expected = steady([one.as_record() for one in dlbench.evaluate(records, toys, timeout=20)])
    samples = sorted(log.samples, key=lambda sample: sample.epoch)
    assert steady([sample.scores["verdict"].metadata for sample in samples]) == expected
    assert [sample.scores["verdict"].value for sample in samples] == [1.0, 0.0, 0.0, 0.0]
    assert accuracy(log, "mean") == 0.25
    assert accuracy(log, "pass_at_3") == 0.75


def test_log_contains_no_reference(log):
    assert all(sample.target == "" for sample in log.samples)
    assert "OFFSET for value" not in log.model_dump_json()


def test_technique_that_needs_verdicts_is_refused(root):
    with pytest.raises(DLBenchError, match="repair needs verdicts"):
        dl_bench(technique="repair", benchmark=str(root))


@pytest.mark.parametrize("technique", [name for name in TECHNIQUES if TECHNIQUES[name].feedback is None])
def test_techniques_send_the_same_messages_through_inspect(technique, root, toys):
    task = dl_bench(technique=technique, benchmark=str(root), seed=3, shots=1)
    prompts = make_prompt_builder(Sources(toys), technique, 1, 3, 6000)
    for sample in task.dataset:
        first, *later = prompts.build(toys.instances[sample.id]).turns
        assert [(message.role, message.text) for message in sample.input] == [
            (message["role"], message["content"]) for message in first
        ]
        assert sample.metadata.get(LATER_TURNS, []) == later


def test_multi_turn_technique_scores_the_last_answer(root, tmp_path):
    def answer(messages):
        return "1. Multiply." if len(messages) == 2 else RIGHT

    task = dl_bench(split="demo", technique="self-planning", benchmark=str(root))
    log = run(task, answer, tmp_path)
    assert accuracy(log) == 1.0
    assert [message.role for message in log.samples[0].messages] == ["system", "user", "assistant", "user", "assistant"]


def test_harness_error_scores_zero_with_a_reason():
    fault = Verdict(SCALE, 0, Status.HARNESS_ERROR, {"t": Outcome.NOT_RUN}, message="the sandbox did not start")
    score = as_score(fault, "x")
    assert (score.value, score.reason) == (0.0, "harness_error")
    assert "the sandbox did not start" in score.explanation


def test_imported_log_is_a_run(log, root, toys, tmp_path):
    ended = command("import", "inspect", log.location, "--out", tmp_path / "run", "--benchmark", root)
    assert ended.exit_code == 0, ended.output
    samples = read_jsonl(tmp_path / "run/samples.jsonl")
    assert [record["answer"] for record in samples] == ANSWERS
    assert samples[0]["usage"] == {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    assert samples[0]["technique"] == "zero-shot"
    assert dlbench.score(tmp_path / "run", toys).overall.pass_at_1 == 0.25
    assert command("report", tmp_path / "run", "--benchmark", root).exit_code == 0
    again = dlbench.evaluate(tmp_path / "run/samples.jsonl", toys, timeout=20)
    assert steady([one.as_record() for one in again]) == steady(verdicts_of(tmp_path / "run"))


def test_answers_of_other_scorers_have_no_verdicts(log, root, tmp_path):
    stripped = read_eval_log(log.location)
    for sample in stripped.samples:
        sample.scores = None
    other = tmp_path / "other.json"
    write_eval_log(stripped, other)
    ended = command("import", "inspect", other, "--out", tmp_path / "run", "--benchmark", root)
    assert ended.exit_code == 0, ended.output
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["samples.jsonl"]
    assert "dlbench evaluate" in ended.output


def test_verdict_on_another_answer_is_left_out(log, root, tmp_path):
    edited = read_eval_log(log.location)
    edited.samples[0].output.choices[0].message.content = "something else"
    edited.samples[0].output.completion = "something else"
    other = tmp_path / "other.json"
    write_eval_log(edited, other)
    ended = command("import", "inspect", other, "--out", tmp_path / "run", "--benchmark", root)
    assert "its verdict is on another answer" in ended.output
    assert len(read_jsonl(tmp_path / "run/samples.jsonl")) == 4
    assert len(verdicts_of(tmp_path / "run")) == 3


def test_run_round_trips_through_an_inspect_log(root, toys, tmp_path):
    run_folder = tmp_path / "run"
    ended = command("run", "--model", "reference", "-n", 2, "--benchmark", root, "--out", run_folder)
    assert ended.exit_code == 0, ended.output
    ended = command("export", "inspect", run_folder, "--out", tmp_path / "logs/run.eval", "--benchmark", root)
    assert ended.exit_code == 0, ended.output
    opened = read_eval_log(tmp_path / "logs/run.eval")
    assert accuracy(opened) == 1.0
    assert {(sample.id, sample.epoch) for sample in opened.samples} == {
        (name, n) for name in (SCALE, STEP) for n in (1, 2)
    }
    assert "Now write the complete definition" in opened.samples[0].input[-1].text
    ended = command("import", "inspect", tmp_path / "logs/run.eval", "--out", tmp_path / "back", "--benchmark", root)
    assert ended.exit_code == 0, ended.output

    def key(record):
        return record["instance"], record["sample"]

    assert sorted(verdicts_of(tmp_path / "back"), key=key) == sorted(verdicts_of(run_folder), key=key)
    kept = ("instance", "sample", "answer", "finish_reason", "technique", "model")
    sent = [{name: record[name] for name in kept} for record in read_jsonl(run_folder / "samples.jsonl")]
    back = [{name: record[name] for name in kept} for record in read_jsonl(tmp_path / "back/samples.jsonl")]
    assert sorted(back, key=key) == sorted(sent, key=key)


def test_code_samples_round_trip(root, tmp_path):
    samples = tmp_path / "samples.jsonl"
    samples.write_text(json.dumps({"instance": SCALE, "sample": 0, "code": WRONG}) + "\n")
    assert command("evaluate", samples, "--out", tmp_path / "run", "--benchmark", root).exit_code == 0
    assert (
        command("export", "inspect", tmp_path / "run", "--out", tmp_path / "a.eval", "--benchmark", root).exit_code == 0
    )
    command("import", "inspect", tmp_path / "a.eval", "--out", tmp_path / "back", "--benchmark", root)
    (record,) = read_jsonl(tmp_path / "back/samples.jsonl")
    assert (record["code"], "answer" in record) == (WRONG, False)
    assert len(verdicts_of(tmp_path / "back")) == 1


def test_invalid_logs_get_clear_errors(root, log, tmp_path):
    broken = tmp_path / "broken.eval"
    broken.write_bytes(b"not a log")
    foreign = tmp_path / "foreign.json"
    edited = read_eval_log(log.location)
    for sample in edited.samples:
        sample.id = "gsm8k-1"
    write_eval_log(edited, foreign)
    for path, message in [
        (tmp_path / "none.eval", "no such file"),
        (broken, "not an inspect log"),
        (foreign, "no such instance"),
    ]:
        ended = command("import", "inspect", path, "--out", tmp_path / "run", "--benchmark", root)
        assert (ended.exit_code, message in ended.output, "fix:" in ended.output) == (1, True, True), ended.output
        assert not (tmp_path / "run").exists()
    (tmp_path / "run").mkdir()
    (tmp_path / "run/samples.jsonl").write_text("mine\n")
    ended = command("import", "inspect", log.location, "--out", tmp_path / "run", "--benchmark", root)
    assert (ended.exit_code, "exists already" in ended.output) == (1, True)
    assert (tmp_path / "run/samples.jsonl").read_text() == "mine\n"


@pytest.mark.parametrize(
    "options", [{"split": "dem"}, {"technique": "telepathy"}, {"mode": "quick"}, {"samples": 0}], ids=str
)
def test_invalid_task_options_are_rejected(options, root):
    with pytest.raises(dlbench.DLBenchError):
        dl_bench(benchmark=str(root), **options)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "expected"), [("reference", 1.0), ("stub", 0.0)])
def test_inspect_command_line_finds_the_task(name, expected, root, tmp_path):
    command = [str(Path(sys.executable).with_name("inspect")), "eval", "dlbench/dl_bench", "--model", "mockllm/model"]
    command += ["-T", f"benchmark={root}", "-T", "samples=2", "--solver", "dlbench/baseline", "-S", f"name={name}"]
    command += ["-S", f"benchmark={root}", "--display", "plain", "--log-dir", "logs"]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=600, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    (path,) = (tmp_path / "logs").glob("*.eval")
    assert accuracy(read_eval_log(path)) == expected


@pytest.mark.slow
def test_on_the_demo_references_score_one_and_stubs_score_zero(tmp_path):
    benchmark = load()
    demo, sources = select(benchmark, Selection(split="demo")), Sources(benchmark)

    def reference(messages):
        return f"```python\n{sources.reference(find_instance(messages, demo).id)}\n```"

    def stub(messages):
        signature = sources.signature(find_instance(messages, demo).id)
        return f"```python\n{signature}\n    raise NotImplementedError\n```"

    for answer, expected in ((reference, 1.0), (stub, 0.0)):
        log = run("dlbench/dl_bench", answer, tmp_path, task_args={"split": "demo"}, limit=6)
        assert len(log.samples) == 6
        assert accuracy(log) == expected
        outcomes = {
            outcome for sample in log.samples for outcome in sample.scores["verdict"].metadata["tests"].values()
        }
        assert ("passed" in outcomes) == (expected == 1.0)
