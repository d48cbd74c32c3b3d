"""The studies of texts print tables, write plots, and report what they cannot read."""

import json
from importlib import import_module

import pytest

from dlbench.analysis import embeddings
from tests.analysis.encoders import Letters
from tests.analysis.official import write_official
from tests.cli.test_analyze import read_plots
from tests.cli.test_compare import SCALE, run_cli

STAGES = {
    "Training": "train the optimizer step",
    "Inference": "load the image forward",
    "Evaluation": "score metric of",
}


@pytest.fixture(autouse=True)
def letters(monkeypatch, tmp_path):
    """Letter counts replace the vectors of a model."""
    monkeypatch.setenv("DLBENCH_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(embeddings, "open_encoder", lambda name, *_: Letters())


@pytest.fixture
def tasks(tmp_path):
    path = tmp_path / "tasks.jsonl"
    lines = [{"prompt": f"Train model {word}.", "reference_code": f"{word}.fit(x)\n"} for word in ("a", "bc", "def")]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture
def official(tmp_path):
    for number in range(18):
        stage = list(STAGES)[number % 3]
        write_official(
            tmp_path / "official",
            f"toyhalve{number}.txt",
            stage=stage,
            task=("Classification", "Regression")[number % 2],
            data=("Image", "Text")[number % 2],
            prompt=f"{STAGES[stage]} {number}",
        )
    return tmp_path / "official"


def test_divergence_reports_prompts_and_code_and_plots_both(tasks, official, tmp_path):
    pytest.importorskip("sklearn")
    ended = run_cli("analyze", "divergence", tasks, official, "--plots", tmp_path / "plots")
    assert ended.exit_code == 0, ended.output
    assert "official: 18 references are not available" in ended.output
    drawn = read_plots(tmp_path / "plots")
    assert set(drawn) == {f"divergence-{kind}{rest}" for kind in ("prompt", "code") for rest in ("", "-cosine")}
    assert {"tasks", "official"} <= drawn["divergence-prompt"]


def test_divergence_finds_runs_shared_with_a_text(tasks, official, tmp_path):
    text = tmp_path / "crawl.txt"
    text.write_text("They said: write a function that halves. Class: none, function: keep this line")
    write_official(tmp_path / "one", "toyhalve1.txt")
    ended = run_cli("analyze", "divergence", tmp_path / "one", tasks, "--text", text, "--json")
    found = json.loads(ended.stdout, parse_constant=pytest.fail)
    assert found["shared"]["one"][0]["tokens"] == 9
    assert {run["tokens"] for run in found["shared"]["tasks"]} == {0}
    assert [one["there"] for one in found["distances"] if one["text"] == "prompt"] == ["one", "tasks", "tasks"]


def test_divergence_rejects_a_text_that_is_not_utf_8(tasks, tmp_path):
    (tmp_path / "odd.txt").write_bytes(b"\xff\xfe")
    ended = run_cli("analyze", "divergence", tasks, "--text", tmp_path / "odd.txt")
    assert ended.exit_code == 1
    assert "not UTF-8" in ended.output


@pytest.fixture
def classifier_letters(monkeypatch):
    pytest.importorskip("sklearn")
    monkeypatch.setattr("dlbench.analysis.classifier.open_encoder", lambda name: Letters())


def test_stage_evaluate_compares_methods_and_stores_predictions(classifier_letters, official, tmp_path):
    arguments = ("analyze", "stage", "evaluate", official, "--folds", 3, "--out", tmp_path / "out")
    ended = run_cli(*arguments, "--plots", tmp_path / "plots")
    assert ended.exit_code == 0, ended.output
    for method in ("majority", "TF-IDF + linear", "frozen encoder"):
        assert method in ended.output
    predictions = [json.loads(line) for line in (tmp_path / "out/predictions.jsonl").read_text().splitlines()]
    assert len(predictions) == 18
    assert {"instance", "prompt", "stage", "task", "data"} == set(predictions[0])
    assert "classifier-official-stage" in read_plots(tmp_path / "plots")
    rejected = run_cli(*arguments, "--seed", 1)
    assert rejected.exit_code == 1
    assert "started with seed 0, you passed 1" in rejected.output


def test_fast_stage_evaluation_needs_no_encoder(official, tmp_path, monkeypatch):
    pytest.importorskip("sklearn")
    monkeypatch.setattr("dlbench.analysis.classifier.open_encoder", pytest.fail)
    ended = run_cli("analyze", "stage", "evaluate", official, "--fast", "--folds", 3, "--out", tmp_path / "out")
    assert ended.exit_code == 0, ended.output
    assert "frozen" not in ended.output


def test_dataset_without_labels_is_rejected(tasks, tmp_path):
    pytest.importorskip("sklearn")
    ended = run_cli("analyze", "stage", "evaluate", tasks, "--out", tmp_path / "out")
    assert ended.exit_code == 1
    assert "fewer than two labels of stage" in ended.output


def test_trained_classifier_predicts_the_stages_of_another_dataset(classifier_letters, official, tasks, tmp_path):
    out = tmp_path / "classifier"
    ended = run_cli("analyze", "stage", "train", official, "--out", out)
    assert ended.exit_code == 0, ended.output
    ended = run_cli("analyze", "stage", "predict", tasks, "--model", out, "--out", tmp_path / "predicted.jsonl")
    assert ended.exit_code == 0, ended.output
    predicted = [json.loads(line) for line in (tmp_path / "predicted.jsonl").read_text().splitlines()]
    assert [line["stage"] for line in predicted] == ["training"] * 3


def test_predict_without_a_classifier_says_how_to_make_one(tasks, tmp_path):
    pytest.importorskip("sklearn")
    ended = run_cli("analyze", "stage", "predict", tasks, "--model", tmp_path / "gone")
    assert ended.exit_code == 1
    assert "analyze stage train" in ended.output


@pytest.mark.parametrize("step", ["evaluate", "predict"])
def test_missing_library_is_reported_with_its_extra(step, monkeypatch, official, tmp_path):
    app = import_module("dlbench.cli.app")  # `dlbench.cli.app` as an attribute is the Typer object
    monkeypatch.setattr(app, "find_spec", lambda name: None if name == "sklearn" else object())
    ended = run_cli("analyze", "stage", step, official, "--model" if step == "predict" else "--out", tmp_path / "out")
    assert ended.exit_code == 1
    assert "sklearn is not installed" in ended.output
    assert "dlbench[analysis]" in ended.output


def test_predicted_stages_require_their_technique(toy_root, tmp_path):
    (tmp_path / "p.jsonl").write_text("")
    ended = run_cli("prompt", SCALE, "--benchmark", toy_root, "--predicted-stages", tmp_path / "p.jsonl")
    assert ended.exit_code == 1
    assert "--predicted-stages requires --technique few-shot-predicted-stage" in ended.output


def test_predicted_stage_selects_examples(toy_root, tmp_path):
    from dlbench.dataset import load
    from dlbench.generation.techniques.examples import hash_prompt

    instance = load(toy_root).instances[SCALE]
    record = {"instance": SCALE, "prompt": hash_prompt(instance.prompt), "stage": "inference"}
    (tmp_path / "p.jsonl").write_text(json.dumps(record) + "\n")
    arguments = ("prompt", SCALE, "--benchmark", toy_root, "--technique", "few-shot-predicted-stage")
    ended = run_cli(*arguments, "--predicted-stages", tmp_path / "p.jsonl")
    assert ended.exit_code == 0, ended.output
    assert "predicted_stage: inference" in ended.output
