"""Measure rules, a linear model and an LLM judge on failures that people have labelled (cross-validated).

LABELS is JSONL, plain or gzipped: name, path, qualname, prompt, candidate, pytest_output, outcomes, label, second_label.
Rules are chosen and the linear model is trained on four folds and measured on the fifth. A judge is any model: `--questions`
writes what to ask it, with examples of the other folds, and `--answers` reads `{"name": …, "answer": …}` for each.

    python studies/bug_labels.py labels.jsonl.gz --questions questions.jsonl
    python studies/bug_labels.py labels.jsonl.gz --answers answers.jsonl
"""

import argparse
import ast
import gzip
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dlbench.analysis.bugs import Failure, classify, read_categories
from dlbench.analysis.bugs.llm_judge import CERTAIN, choose_examples, parse_answer, write_question
from dlbench.dataset import Instance
from dlbench.reporting.tables import to_markdown

FOLDS, SEED = 5, 0
PRECISION, SUPPORT = 0.6, 2
Votes = list[str]
"""By failure, the category; empty if the rater is silent."""

REJECTED = {
    "wrong_attribute": r"AttributeError: ",
    "undefined_reference": r"NameError: |UnboundLocalError: ",
    "hallucinated_object": r"ModuleNotFoundError: ",
    "operation_error": r"size of tensor a|expanded size|mat1 and mat2|broadcast|invalid for input of size|size mismatch",
    "wrong_input_type": r"TypeError: ",
    "missing_corner_case": r"IndexError: |KeyError: |ZeroDivisionError: |DID NOT RAISE",
    "misinterpretation": r"AssertionError: .*(?:shape|Size)|assert .*Size\(",
    "performance": r"RecursionError",
}
"""Rules of earlier versions, shortened: too few of their hits agree with people."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("labels", type=Path)
    parser.add_argument("--questions", type=Path, help="Write the judge's questions here and stop.")
    parser.add_argument("--answers", type=Path, help="The judge's answers.")
    parser.add_argument("--examples", type=int, default=8, help="Examples in each question, at most.")
    parser.add_argument("--resamples", type=int, default=2000, help="Resamples of the bootstrap.")
    options = parser.parse_args(arguments)
    rows = read_jsonl(options.labels)
    slugs = {category.name: slug for slug, category in read_categories().items()}
    truth = [slugs[row["label"]] for row in rows]
    second = [slugs.get(row.get("second_label") or "", "") for row in rows]
    failures = [make_failure(row) for row in rows]
    folds = choose_folds(truth, [(row["path"], row["qualname"]) for row in rows])
    if options.questions:
        with options.questions.open("w", encoding="utf-8") as file:
            for place, row in enumerate(rows):
                others = [(failures[one], truth[one]) for one in range(len(rows)) if folds[one] != folds[place]]
                question = write_question(failures[place], choose_examples(failures[place], others, options.examples))
                file.write(json.dumps({"name": row["name"], "question": question}) + "\n")
        return 0
    raters = {"majority class": cross_validate(folds, truth, lambda train, test: predict_majority(train, test, truth))}
    raters["rules"] = cross_validate(folds, truth, lambda train, test: predict_by_rules(train, test, failures, truth))
    features = [read_features(failure) for failure in failures]
    certainty = np.zeros(len(rows))
    raters["linear model"] = cross_validate(
        folds, truth, lambda train, test: predict_linear(train, test, features, truth, certainty)
    )
    surest = certainty >= np.quantile(certainty, 0.75)
    raters["linear model, surest quarter"] = silence(raters["linear model"], surest)
    if options.answers:
        given = {row["name"]: parse_answer(row["answer"]) for row in read_jsonl(options.answers)}
        answers = [given.get(row["name"], {}) for row in rows]
        raters["judge"] = [answer.get("category", "") for answer in answers]
        raters["judge, where certain"] = silence(
            raters["judge"], [answer.get("certainty") == CERTAIN for answer in answers]
        )
        raters["rules, else judge"] = [
            rule or vote for rule, vote in zip(raters["rules"], raters["judge"], strict=True)
        ]
    headings = ["rater", "speaks on", "right where it speaks", "or second label", "macro F1", "kappa"]
    table = [[name, *measure(votes, truth, second, options.resamples)] for name, votes in raters.items()]
    print("\n".join(to_markdown((headings, table))))
    agreed = sum(other in ("", label) for label, other in zip(truth, second, strict=True))
    print(f"\n{len(rows)} failures, {len(set(truth))} categories; people agree on {agreed / len(rows):.2f} of them")
    return 0


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
    return [json.loads(line) for line in text.split("\n") if line.strip()]


def make_failure(row: Mapping[str, Any]) -> Failure:
    """The labelled answers were put into a module `temp`; an import from it that fails means the target is missing."""
    output, outcomes = row["pytest_output"], row["outcomes"]
    missing = re.search(r"cannot import name '\w+' from '[\w.]*\btemp'|No module named '[\w.]*\btemp'", output)
    passed, failed = outcomes.get("passed", 0), outcomes.get("failed", 0) + outcomes.get("error", 0)
    verdict = {
        "sample": 0,
        "status": "missing_target" if missing else "fail",
        "tests": {str(number): "passed" if number < passed else "failed" for number in range(passed + failed)},
        "message": "\n".join(line for line in output.split("\n") if line.startswith(("E ", ">"))),
    }
    instance = Instance.model_construct(id=row["name"], qualname=row["qualname"], prompt=row["prompt"])
    return Failure("labelled", instance, verdict, row["candidate"])


def choose_folds(truth: Votes, functions: Sequence[tuple[str, str]]) -> np.ndarray:
    """Each category is spread evenly over the folds; failures of one function are in one fold."""
    rng, folds, start = np.random.default_rng(SEED), np.zeros(len(truth), int), 0
    for category in sorted(set(truth)):
        places = rng.permutation([place for place, label in enumerate(truth) if label == category])
        folds[places] = (start + np.arange(len(places))) % FOLDS
        start += len(places)
    return folds[[functions.index(one) for one in functions]]


Predict = Callable[[list[int], list[int]], Votes]


def cross_validate(folds: np.ndarray, truth: Votes, predict: Predict) -> Votes:
    votes = [""] * len(truth)
    for fold in range(FOLDS):
        test = [int(place) for place in np.flatnonzero(folds == fold)]
        train = [int(place) for place in np.flatnonzero(folds != fold)]
        for place, vote in zip(test, predict(train, test), strict=True):
            votes[place] = vote
    return votes


def predict_majority(train: list[int], test: list[int], truth: Votes) -> Votes:
    return [Counter(truth[place] for place in train).most_common(1)[0][0]] * len(test)


def find_hits(failure: Failure) -> dict[str, str]:
    """By rule, the category that it names."""
    hits = {f"old {category}": category for category, text in REJECTED.items() if re.search(text, failure.message)}
    if found := classify(failure):
        hits[f"{failure.verdict['status']} {found.category}"] = found.category
    return hits


def predict_by_rules(train: list[int], test: list[int], failures: Sequence[Failure], truth: Votes) -> Votes:
    """Only rules that are right often enough on the training folds speak; the most precise one wins."""
    right: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for place in train:
        for rule, category in find_hits(failures[place]).items():
            total[rule] += 1
            right[rule] += category == truth[place]
    kept = {rule: right[rule] / total[rule] for rule in total if total[rule] >= SUPPORT}
    votes = []
    for place in test:
        hits = {rule: one for rule, one in find_hits(failures[place]).items() if kept.get(rule, 0) >= PRECISION}
        votes.append(hits[max(hits, key=lambda rule: kept[rule])] if hits else "")
    return votes


def read_features(failure: Failure) -> dict[str, float]:
    """General features only: error types, kinds of assertions, sizes, syntax of the candidate. No text of the dataset."""
    kinds = {
        "close": "not close|allclose|Mismatched", "shape": "shape|size of tensor|dimension|unpack", "args": "argument",
        "attribute": "has no attribute", "silent": "DID NOT|not raised", "equal": "assert .* == ", "must": "must be|expected",
    }  # fmt: skip
    found = {f"error {name}": 1.0 for name in re.findall(r"\b([A-Z]\w*(?:Error|Failed))\b", failure.message)}
    found |= {f"text {name}": 1.0 for name, text in kinds.items() if re.search(text, failure.message)}
    code = failure.code or ""
    try:
        nodes = Counter(type(node).__name__ for node in ast.walk(ast.parse(code)))
    except SyntaxError:
        nodes = Counter()
    for name in ("Raise", "Assert", "For", "If", "Call", "Attribute", "ClassDef", "FunctionDef", "Subscript", "BinOp"):
        found[f"syntax {name}"] = math.log1p(nodes[name])
    found["code length"], found["prompt length"] = math.log1p(len(code)), math.log1p(len(failure.instance.prompt))
    outcomes = list(failure.verdict["tests"].values())
    found["passed"] = outcomes.count("passed") / max(1, len(outcomes))
    return found


def predict_linear(
    train: list[int], test: list[int], features: Sequence[dict[str, float]], truth: Votes, certainty: np.ndarray
) -> Votes:
    """The strength of the penalty is chosen on the training folds; writes the probability of each vote to `certainty`."""
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV, KFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler

    inner = KFold(3, shuffle=True, random_state=SEED)
    search = GridSearchCV(LogisticRegression(max_iter=1000), {"C": [0.03, 0.1, 0.3, 1]}, cv=inner)
    model = make_pipeline(DictVectorizer(), MaxAbsScaler(), search)
    model.fit([features[place] for place in train], [truth[place] for place in train])
    shares = model.predict_proba([features[place] for place in test])
    certainty[test] = shares.max(axis=1)
    return [str(model.classes_[best]) for best in shares.argmax(axis=1)]


def silence(votes: Votes, speaks: Sequence[bool] | np.ndarray) -> Votes:
    return [vote if one else "" for vote, one in zip(votes, speaks, strict=True)]


def measure(votes: Votes, truth: Votes, second: Votes, resamples: int) -> list[str]:
    """With 95 % intervals from a bootstrap over failures. Silence counts as a miss in macro F1 and not in kappa."""
    said, meant, other = np.array(votes), np.array(truth), np.array(second)
    spoken = said != ""
    if not spoken.any():
        return [f"0 of {len(said)}", *["n/a"] * 4]

    def right(places: np.ndarray) -> float:
        places = places[spoken[places]]
        return float((said[places] == meant[places]).mean()) if len(places) else math.nan

    def either(places: np.ndarray) -> float:
        places = places[spoken[places]]
        return float(((said[places] == meant[places]) | (said[places] == other[places])).mean())

    def macro_f1(places: np.ndarray) -> float:
        hits = Counter(said[places][said[places] == meant[places]])
        sizes = Counter(said[places]) + Counter(meant[places])
        return float(np.mean([2 * hits[category] / sizes[category] for category in set(meant[places])]))

    def kappa(places: np.ndarray) -> float:
        places = places[spoken[places]]
        observed, a, b = (said[places] == meant[places]).mean(), Counter(said[places]), Counter(meant[places])
        expected = sum(a[category] * b[category] for category in a) / len(places) ** 2
        return float((observed - expected) / (1 - expected)) if expected < 1 else math.nan

    rng = np.random.default_rng(SEED)
    samples = rng.integers(0, len(said), (resamples, len(said)))
    samples = samples[spoken[samples].any(axis=1)]
    whole = np.arange(len(said))
    cells = []
    for statistic in (right, either, macro_f1, kappa):
        values = [value for one in samples if not math.isnan(value := statistic(one))]
        low, high = np.quantile(values, [0.025, 0.975]) if values else (math.nan, math.nan)
        cells.append(f"{statistic(whole):.2f} ({low:.2f} to {high:.2f})")
    return [f"{spoken.sum()} of {len(said)}", *cells]


if __name__ == "__main__":
    sys.exit(main())
