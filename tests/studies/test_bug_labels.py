"""The study of people's labels measures each rater on failures that it has not seen."""

import json

import pytest
from bug_labels import main

CATEGORIES = ["misinterpretation"] * 10 + ["wrong attribute"] * 5 + ["performance"] * 5


@pytest.fixture
def labels(tmp_path):
    path = tmp_path / "labels.jsonl"
    rows = [
        {
            "name": f"failure {number}",
            "path": "toy/core.py",
            "qualname": f"scale{number}",
            "prompt": f"Task {number}",
            "candidate": f"def scale{number}(): pass",
            "outcomes": {"failed": 1},
            "pytest_output": f"E   {error}",
            "label": label,
            "second_label": None,
        }
        for number, (label, error) in enumerate(
            (label, "ImportError: cannot import name 'a' from 'b'" if "attribute" in label else "AssertionError")
            for label in CATEGORIES
        )
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.slow
def test_table_says_how_often_each_rater_speaks_and_is_right(labels, tmp_path, capsys):
    answers = tmp_path / "answers.jsonl"
    answer = json.dumps({"category": "performance", "certainty": 3})
    answers.write_text("".join(json.dumps({"name": f"failure {n}", "answer": answer}) + "\n" for n in (0, 19)))
    assert main([str(labels), "--answers", str(answers), "--resamples", "20"]) == 0
    rows = {
        line.split("|")[1].strip(): line.split("|")[2:4] for line in capsys.readouterr().out.split("\n") if "|" in line
    }
    assert rows["majority class"][1].strip().startswith("0.50")
    assert rows["rules"][0].strip() == "5 of 20"
    assert rows["rules"][1].strip().startswith("1.00")
    assert rows["judge, where certain"][0].strip() == "2 of 20"
    assert rows["judge"][1].strip().startswith("0.50")


def test_question_does_not_contain_the_label_of_its_failure(labels, tmp_path):
    """Examples come from the other folds, so nothing tells the judge what people said of this failure."""
    questions = tmp_path / "questions.jsonl"
    assert main([str(labels), "--questions", str(questions), "--examples", "99"]) == 0
    rows = [json.loads(line) for line in questions.open()]
    assert len(rows) == 20
    for number, row in enumerate(rows):
        assert row["question"].count(f"Task {number}\n") == 1
        assert row["question"].count("People say:") == 16
        assert "People say:" not in row["question"].partition("The failure to classify.")[2]


def test_failures_of_one_function_are_in_one_fold(labels, tmp_path):
    """A judge that sees another failure of the same function as an example is not measured on a new one."""
    rows = [json.loads(line) for line in labels.open()]
    rows[19]["qualname"] = rows[0]["qualname"]
    labels.write_text("".join(json.dumps(row) + "\n" for row in rows))
    questions = tmp_path / "questions.jsonl"
    assert main([str(labels), "--questions", str(questions), "--examples", "99"]) == 0
    asked = [json.loads(line)["question"] for line in questions.open()]
    assert "Task 19\n" not in asked[0]
    assert "Task 0\n" not in asked[19]
