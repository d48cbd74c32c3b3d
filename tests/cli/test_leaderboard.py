"""Runs are submitted and verified in the real sandbox; forged submissions are reported."""

import json

import pytest
from typer.testing import CliRunner

from dlbench.cli import app
from dlbench.cli.engine import judge_into
from dlbench.dataset import load
from dlbench.reporting.leaderboard.entry import hash_verdicts, name_entry, read_entry, score_claims, write_entry
from dlbench.runs.verdict import Status
from tests.conftest import write_toy
from tests.reporting.boards import SCALE, STEP, write_run

MARKS = {SCALE: "10", STEP: "11"}


def run_cli(*arguments):
    return CliRunner().invoke(app, ["leaderboard", *(str(argument) for argument in arguments)])


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """One benchmark for all, so that its project is made ready once."""
    return write_toy(tmp_path_factory.mktemp("folder"))


@pytest.fixture
def added(root, tmp_path):
    """The entry's file, and its samples."""
    run = write_run(tmp_path / "run", load(root), MARKS, timeout=20.0, memory=1024)
    for old in (root / "leaderboard").glob("*"):
        old.unlink()
    ended = run_cli("add", run, "--samples-from", "https://example.org/samples.jsonl", "--benchmark", root)
    assert ended.exit_code == 0, ended.output
    (path,) = (root / "leaderboard").glob("*.json")
    return path, run / "samples.jsonl"


def rewrite(path, root, **changes):
    """As a careful forger: digest and score follow from the forged verdicts."""
    entry = read_entry(path)
    claims = [claim.model_copy(update=changes) if claim.key == (SCALE, 1) else claim for claim in entry.verdicts]
    score = score_claims(claims, load(root))
    forged = {"verdicts": tuple(claims), "verdicts_sha256": hash_verdicts(claims), "score": score}
    write_entry(entry.model_copy(update=forged), path)


def test_honest_submission_is_verified_and_marked(added, root):
    path, samples = added
    ended = run_cli("verify", path, "--samples", samples, "--all", "--mark", "--seed", 4, "--benchmark", root)
    assert ended.exit_code == 0, ended.output
    assert "1 of 1 entries are valid" in ended.output
    assert "4 of 4 samples are run again" in ended.output
    check = read_entry(path).verified
    assert (check.checked, check.seed) == (4, 4)
    assert run_cli("build", "--benchmark", root).exit_code == 0
    assert "4 of 4" in (path.parent / "leaderboard.md").read_text()
    assert "4 of 4" in (path.parent / "leaderboard.html").read_text()


def test_verification_replays_every_pass(added, root, monkeypatch):
    found = []

    def keep(*given):
        verdicts = judge_into(*given)
        found.extend(verdicts)
        return verdicts

    monkeypatch.setattr("dlbench.cli.leaderboard.judge_into", keep)
    path, samples = added
    assert run_cli("verify", path, "--samples", samples, "--all", "--benchmark", root).exit_code == 0
    passes = [verdict for verdict in found if verdict.status is Status.PASS]
    assert passes
    assert all(verdict.extra["confirmed"] for verdict in passes)


def test_consistent_forgery_is_found_by_running_it(added, root):
    path, samples = added
    rewrite(path, root, status=Status.PASS, tests="ppppp")
    assert run_cli("verify", path, "--benchmark", root).exit_code == 0
    ended = run_cli("verify", path, "--samples", samples, "--all", "--benchmark", root)
    assert ended.exit_code == 1
    assert f"wrong verdict: {SCALE}, sample 1: claimed pass (ppppp), found fail (fpfpf)" in ended.output
    assert "0 of 1 entries are valid" in ended.output


def test_share_limits_the_samples_run(added, root):
    path, samples = added
    ended = run_cli("verify", path, "--samples", samples, "--share", 0.25, "--seed", 1, "--benchmark", root)
    assert ended.exit_code == 0, ended.output
    assert "1 of 4 samples are run again (--seed 1)" in ended.output


def test_changed_sample_is_reported_and_not_marked(added, root):
    path, samples = added
    samples.write_text(samples.read_text().replace("v * 2 for v", "v * factor for v"))
    ended = run_cli("verify", path, "--samples", samples, "--all", "--mark", "--benchmark", root)
    assert ended.exit_code == 1
    assert f"changed sample: {SCALE}, sample 1" in ended.output
    assert read_entry(path).verified is None


def test_duplicate_sample_is_reported(added, root):
    path, samples = added
    first, *_ = samples.read_text().splitlines()
    with samples.open("a") as file:
        file.write(first + "\n")
    ended = run_cli("verify", path, "--samples", samples, "--benchmark", root)
    assert ended.exit_code == 1
    assert f"sample 0 of {SCALE} is given twice" in ended.output


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"status": "fail"', '"status": "pass"', f"impossible verdict: {SCALE}, sample 1"),
        ('"tests": "fpfpf"', '"tests": "fpfpp"', "changed verdicts"),
        ('"temperature": 0.3', '"temperature": 0.2', "misnamed entry"),
        ('"benchmark": "1.0"', '"benchmark": "1.1"', "another dataset version: made on 1.1, this is 1.0"),
        ('"pass_at_1": 0.75', '"pass_at_1": 0.8', "wrong score: pass_at_1: claimed 0.8, the verdicts give 0.75"),
        ('"split": "full"', '"split": "demo"', f"unknown instance: {STEP} is not in demo"),
        ('"sample": 1', '"sample": 0', f"duplicated sample: {SCALE}, sample 0 counts 2 times"),
        ("{", "[", "malformed entry"),
    ],
)
def test_manual_edits_are_found_without_running(added, root, old, new, message):
    path, _ = added
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    ended = run_cli("verify", "--benchmark", root)
    assert ended.exit_code == 1
    assert message in ended.output


def test_removed_line_is_a_missing_instance(added, root):
    path, _ = added
    lines = [line for line in path.read_text().splitlines() if SCALE not in line]
    path.write_text("\n".join(lines).replace("},\n ]", "}\n ]") + "\n")
    ended = run_cli("verify", "--benchmark", root, "--json")
    assert ended.exit_code == 1
    (faults,) = json.loads(ended.output).values()
    assert {"kind": "missing instance", "what": SCALE} in faults


def test_adding_again_is_idempotent_and_replacing_requires_an_option(added, root, tmp_path):
    path, _ = added
    before = path.read_text()
    better = write_run(tmp_path / "better", load(root), {SCALE: "11", STEP: "11"}, timeout=20.0, memory=1024)
    options = ("--samples-from", "https://example.org/samples.jsonl", "--benchmark", root)
    assert run_cli("add", tmp_path / "run", *options).exit_code == 0
    assert path.read_text() == before
    ended = run_cli("add", better, *options)
    assert ended.exit_code == 1
    assert "--replace" in ended.output
    assert path.read_text() == before
    assert run_cli("add", better, *options, "--replace").exit_code == 0
    assert read_entry(path).score.pass_at_1 == 1.0


def test_unfinished_run_is_rejected(root, tmp_path):
    run = write_run(tmp_path / "half", load(root), {SCALE: "1", STEP: "11"})
    ended = run_cli("add", run, "--samples-from", "x", "--benchmark", root)
    assert ended.exit_code == 1
    assert f"missing sample: {SCALE}, sample 1" in ended.output


@pytest.mark.parametrize(("stated", "kept"), [("none", None), ("0.3", 0.3)])
def test_temperature_of_an_evaluated_file_can_be_stated(root, tmp_path, stated, kept):
    run = write_run(tmp_path / "run", load(root), MARKS, technique=None, temperature=None)
    options = ["--model", f"o{stated}", "--technique", "guided", "--samples-from", "x", "--benchmark", root]
    ended = run_cli("add", run, *options, "--temperature", stated)
    assert ended.exit_code == 0, ended.output
    (path,) = (root / "leaderboard").glob(f"o{stated.replace('.', '_')}.*.json")
    assert read_entry(path).settings["temperature"] == kept


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"--temperature": "-1"}, "temperature"),
        ({"--temperature": "warm"}, "'warm' is no temperature"),
        ({"--model": ""}, "model is missing"),
        ({"--samples-from": "a\nb"}, "samples_from"),
    ],
)
def test_invalid_entry_settings_get_a_clear_error(root, tmp_path, changed, message):
    run = write_run(tmp_path / "run", load(root), MARKS, technique=None, temperature=None)
    stated = {"--model": "m", "--technique": "guided", "--temperature": "0", "--samples-from": "x"} | changed
    ended = run_cli("add", run, "--benchmark", root, *(word for pair in stated.items() for word in pair))
    assert ended.exit_code == 1
    assert message in ended.output
    assert "fix:" in ended.output


def test_verify_options_require_samples_of_one_entry(added, root):
    path, samples = added
    assert (
        "--samples belong to one entry"
        in run_cli("verify", path, path, "--samples", samples, "--benchmark", root).output
    )
    for option in (("--mark",), ("--all",), ("--seed", 3), ("--share", 1)):
        ended = run_cli("verify", path, *option, "--benchmark", root)
        assert ended.exit_code == 1
        assert f"{option[0]} requires --samples" in ended.output
    both = run_cli("verify", path, "--samples", samples, "--all", "--share", 0.5, "--benchmark", root)
    assert "leave one of them out" in both.output


def test_misnamed_copy_is_kept_off_the_page(added, root):
    path, _ = added
    (path.parent / "x.json").write_text(path.read_text())
    ended = run_cli("verify", "--benchmark", root)
    assert ended.exit_code == 1
    assert f"x.json: misnamed entry: with these settings its name is {path.name}" in ended.output
    assert "1 of 2 entries are valid" in ended.output
    built = run_cli("build", "--benchmark", root)
    assert built.exit_code == 1
    assert "left out" in built.output
    assert (path.parent / "leaderboard.md").read_text().count("zero-shot | 75.0 %") == 1


def test_entry_of_a_newer_dataset_is_kept_off_the_page(added, root):
    path, _ = added
    for version, shown in (("99.0", False), ("0.9", True)):
        entry = read_entry(path).model_copy(update={"benchmark": version})
        path.unlink()
        path = path.parent / name_entry(entry)
        write_entry(entry, path)
        assert (run_cli("build", "--benchmark", root).exit_code == 0) is shown
        assert ("75.0 %" in (path.parent / "leaderboard.md").read_text()) is shown


def test_malformed_entry_is_reported_and_left_out(added, root):
    path, _ = added
    (path.parent / "broken.json").write_text("{")
    built = run_cli("build", "--benchmark", root)
    assert built.exit_code == 1
    assert "broken.json" in built.output
    assert "75.0 %" in (path.parent / "leaderboard.md").read_text()


def test_wrong_score_is_kept_off_the_page(added, root):
    path, _ = added
    path.write_text(path.read_text().replace('"pass_at_1": 0.75', '"pass_at_1": 0.999'))
    built = run_cli("build", "--benchmark", root)
    assert built.exit_code == 1
    assert "wrong score" in built.output
    assert "99.9" not in (path.parent / "leaderboard.md").read_text()


def test_benchmark_with_a_leaderboard_passes_check(added, root):
    run_cli("build", "--benchmark", root)
    ended = CliRunner().invoke(app, ["check", "--records-only", "--benchmark", str(root)])
    assert ended.exit_code == 0, ended.output


def test_committed_entries_are_valid_and_the_page_is_current(tmp_path):
    ended = run_cli("verify")
    assert ended.exit_code == 0, ended.output
    assert run_cli("build", "--out", tmp_path).exit_code == 0
    folder = load().root / "leaderboard"
    assert len(list(folder.glob("*.json"))) >= 5
    for name in ("leaderboard.md", "leaderboard.html"):
        assert (tmp_path / name).read_text() == (folder / name).read_text(), "run `dlbench leaderboard build`"
