"""The stage classifier is tested on unseen prompts, resumes, and is reproducible."""

import json
import math
import random
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("sklearn")

from dlbench.analysis import classifier
from dlbench.analysis.classifier import (
    MAJORITY,
    METHODS,
    PROJECT,
    WORDS,
    cross_validate,
    predict,
    predict_by_project,
    train,
)
from dlbench.analysis.corpora import Corpus, Item
from dlbench.analysis.labelled_prompts import UNKNOWN, add_prompts, draw_folds, gather_prompts
from dlbench.errors import DLBenchError
from dlbench.jsonl import Journal
from tests.analysis.encoders import Letters

SPEECH = {
    "training": "train the optimizer step loss",
    "evaluation_metrics": "score metric accuracy of the",
    "pre_post_processing": "load resize tokenize the table",
}


def quiet(text):
    pass


def make_corpus(size=45, seed=0):
    """Each label has its own words; one prompt in nine has none of them."""
    rng = random.Random(seed)
    items = []
    for number in range(size):
        stage = list(SPEECH)[number % 3]
        data = "image" if number % 2 else "text"
        words = [*rng.sample(SPEECH[stage].split(), 4), data]
        rng.shuffle(words)
        prompt = f"{' '.join(words)} {number}" if number % 9 else f"the {number}"
        labels = {"stage": stage, "task": "general" if number % 4 else "regression"} | (
            {"data": data} if number else {}
        )
        items.append(Item(f"toy/{number}", prompt, None, "toy", labels))
    return Corpus("toys", tuple(items))


@pytest.fixture
def prompts():
    return gather_prompts(make_corpus())


@pytest.fixture(autouse=True)
def letters(monkeypatch, tmp_path):
    monkeypatch.setenv("DLBENCH_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(classifier, "open_encoder", lambda name: Letters())


def validate(prompts, path, methods=METHODS, log=quiet):
    with Journal(path) as journal:
        return cross_validate(prompts, "toys", 3, methods, journal, log)


def figure(found, method, axis="stage"):
    return next(one for one in found.figures if (one.method, one.axis) == (method, axis))


def test_folds_test_every_prompt_once_and_are_stratified(prompts):
    folds = draw_folds(prompts, 3, seed=1)
    assert sorted(place for _, test_on in folds for place in test_on) == list(range(45))
    for train_on, test_on in folds:
        assert not set(train_on) & set(test_on)
        assert np.bincount(prompts.targets[test_on, 0]).tolist() == [5, 5, 5]
    again, other = draw_folds(prompts, 3, seed=1), draw_folds(prompts, 3, seed=2)
    assert all(np.array_equal(one[1], two[1]) for one, two in zip(folds, again, strict=True))
    assert not all(np.array_equal(one[1], two[1]) for one, two in zip(folds, other, strict=True))


def test_folds_can_separate_projects(tmp_path):
    """If only the project reveals a label, folds that share projects know it and others cannot."""
    corpus = make_corpus(90)
    names = ["A-b", "a_B", "c", "d", "e", "f", "g"]  # the first two are one project
    items = [
        Item(item.id, f"about {names[number // 13].lower().replace('_', '-')}", None, names[number // 13], item.labels)
        for number, item in enumerate(corpus.items)
    ]
    prompts = gather_prompts(Corpus("toys", tuple(items)))
    folds = draw_folds(prompts, 3, seed=0, new_projects=True)
    assert sorted(place for _, test_on in folds for place in test_on) == list(range(90))
    for train_on, test_on in folds:
        spelt = [{names[place // 13].lower().replace("_", "-") for place in part} for part in (train_on, test_on)]
        assert not spelt[0] & spelt[1]
    with Journal(tmp_path / "folds.jsonl") as journal:
        found = cross_validate(prompts, "toys", 3, (MAJORITY, PROJECT), journal, quiet, new_projects=True)
    assert found.answers[PROJECT] == found.answers[MAJORITY]  # nothing is known of a new project


def test_too_few_or_unknown_projects_cannot_be_separated(prompts):
    with pytest.raises(DLBenchError, match="there are 1 projects, fewer than folds"):
        draw_folds(prompts, 3, seed=0, new_projects=True)
    with pytest.raises(DLBenchError, match="does not name the project"):
        draw_folds(replace(prompts, groups=()), 3, seed=0, new_projects=True)


def lend(groups=("toy", "Other-Project"), size=30):
    """Prompts of another dataset, of alternating projects, with a label that is not tested."""
    items = make_corpus(size, seed=1).items
    return Corpus(
        "lent",
        tuple(
            Item(f"lent/{number}", item.prompt, None, groups[number % len(groups)], {**item.labels, "task": "novel"})
            for number, item in enumerate(items)
        ),
    )


def test_lent_prompts_are_trained_on_in_every_fold_and_never_tested(prompts, tmp_path):
    both = add_prompts(prompts, make_corpus(), lend())
    assert both.added == 15  # the others are about a tested project
    assert both.targets[45:, 1].tolist() == [UNKNOWN] * 15  # their labels are not ours
    for (train_on, test_on), (alone, same) in zip(draw_folds(both, 3, 1), draw_folds(prompts, 3, 1), strict=True):
        assert train_on.tolist() == [*alone, *range(45, 60)]
        assert test_on.tolist() == same.tolist()
    found = validate(both, tmp_path / "folds.jsonl")
    assert figure(found, WORDS).prompts == 45
    assert set(found.answers[WORDS]) == set(prompts.ids)


def test_lent_labels_are_trained_on(prompts, tmp_path):
    """Contradicting lent prompts outweigh fewer own prompts."""
    turned = {"training": "evaluation_metrics", "evaluation_metrics": "training"}
    other = lend(("elsewhere",), size=450)
    wrong = [
        Item(item.id, item.prompt, None, item.group, {"stage": turned.get(item.labels["stage"], item.labels["stage"])})
        for item in other.items
    ]
    alone = validate(prompts, tmp_path / "alone.jsonl", methods=(WORDS,))
    misled = validate(
        add_prompts(prompts, make_corpus(), Corpus("lent", tuple(wrong))), tmp_path / "misled.jsonl", methods=(WORDS,)
    )
    assert figure(misled, WORDS).f1 < figure(alone, WORDS).f1 - 0.3


def test_dataset_about_tested_projects_cannot_be_lent(prompts):
    with pytest.raises(DLBenchError, match="all its labelled prompts"):
        add_prompts(prompts, make_corpus(), lend(("TOY", "t_o-y")))


def test_prompt_without_label_is_not_tested_on_that_axis(prompts, tmp_path):
    assert prompts.targets[0, 2] == UNKNOWN
    found = validate(prompts, tmp_path / "folds.jsonl")
    assert figure(found, WORDS, "data").prompts == 44
    assert figure(found, WORDS).prompts == 45


def test_fold_without_labels_on_an_axis_is_nan(prompts, tmp_path):
    folds = draw_folds(prompts, 3, seed=0)
    prompts.targets[folds[1][1], 2] = UNKNOWN
    found = figure(validate(prompts, tmp_path / "folds.jsonl"), WORDS, "data")
    first, second, third = found.by_fold
    assert math.isnan(second)
    assert found.f1 == pytest.approx((first + third) / 2)
    assert found.prompts == sum((prompts.targets[folds[fold][1], 2] != UNKNOWN).sum() for fold in (0, 2))


def test_single_fold_with_labels_has_no_deviation(prompts, tmp_path):
    folds = draw_folds(prompts, 3, seed=0)
    for fold in (1, 2):
        prompts.targets[folds[fold][1], 2] = UNKNOWN
    found = figure(validate(prompts, tmp_path / "folds.jsonl"), MAJORITY, "data")
    assert not math.isnan(found.f1)
    assert math.isnan(found.deviation)


def test_project_baseline_reads_no_text(tmp_path):
    """Labels depend on the project alone: the baseline is right, and a new project gets the most frequent label."""
    items = [
        Item(f"{name}/{number}", f"the {number}", None, name, {"stage": stage, "task": "general", "data": data})
        for name, stage, data in (("a", "training", "image"), ("b", "inference", "text"), ("c", "training", "text"))
        for number in range(9)
    ]
    items[0] = replace(items[0], labels={**items[0].labels, "task": "regression"})
    prompts = gather_prompts(Corpus("toys", tuple(items)))
    found = validate(prompts, tmp_path / "folds.jsonl", methods=(MAJORITY, PROJECT))
    assert figure(found, PROJECT).f1 == 1
    assert figure(found, PROJECT, "data").f1 == 1
    assert figure(found, MAJORITY).f1 < 0.7
    new = predict_by_project(prompts.take(np.arange(9, 27)), prompts.take(np.arange(2)))
    assert [prompts.classes[2][axis] for axis in new[2].argmax(axis=1)] == ["text", "text"]


def test_words_beat_the_majority(prompts, tmp_path):
    found = validate(prompts, tmp_path / "folds.jsonl")
    assert figure(found, WORDS).f1 > 0.7 > 0.4 > figure(found, MAJORITY).f1
    assert sum(map(sum, (row.values() for row in figure(found, WORDS).confusion.values()))) == 45


def test_labels_of_the_tested_fold_do_not_change_its_predictions(prompts, tmp_path, monkeypatch):
    folds = draw_folds(prompts, 3, seed=0)
    monkeypatch.setattr(classifier, "draw_folds", lambda *_, **options: folds)
    test_on = folds[0][1]
    honest = validate(prompts, tmp_path / "honest.jsonl")
    turned = prompts.take(range(len(prompts.ids)))
    turned.targets[test_on] = (turned.targets[test_on] + 1) % [len(names) for names in prompts.classes]
    wrong = validate(turned, tmp_path / "wrong.jsonl")
    for method in METHODS:
        for place in test_on:
            one = prompts.ids[place]
            assert honest.answers[method][one] == wrong.answers[method][one], method
    # The other folds were trained on the wrong labels and predict something else.
    others = {one for one in prompts.ids if one not in {prompts.ids[place] for place in test_on}}
    assert any(honest.answers[WORDS][one] != wrong.answers[WORDS][one] for one in others)


def test_resumed_evaluation_equals_a_whole_one(prompts, tmp_path):
    whole = validate(prompts, tmp_path / "whole.jsonl")

    def stop(text):
        if text == f"fold 2 of 3: {MAJORITY}":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        validate(prompts, tmp_path / "cut.jsonl", log=stop)
    begun = [
        (line["fold"], line["method"]) for line in map(json.loads, (tmp_path / "cut.jsonl").read_text().splitlines())
    ]
    assert begun == [*((0, method) for method in METHODS), (1, MAJORITY)]
    done = []
    assert validate(prompts, tmp_path / "cut.jsonl", log=done.append) == whole
    assert f"fold 1 of 3: {WORDS}" not in done


def test_single_label_and_too_many_folds_are_rejected():
    same = Corpus("same", tuple(Item(str(n), "x", None, "", {"stage": "training"}) for n in range(9)))
    with pytest.raises(DLBenchError, match="fewer than two labels of stage"):
        gather_prompts(same)
    with pytest.raises(DLBenchError, match="fewer than folds"):
        draw_folds(gather_prompts(make_corpus(9)), 5, seed=0)


def test_stage_rarer_than_folds_is_tested(tmp_path):
    corpus = make_corpus()
    items = [item for item in corpus.items if item.labels["stage"] != "training" or int(item.id.split("/")[1]) < 6]
    found = validate(gather_prompts(Corpus("toys", tuple(items))), tmp_path / "folds.jsonl")
    assert sum(figure(found, WORDS).confusion["training"].values()) == 2


def test_trained_classifier_is_stored_and_predicts(prompts, tmp_path):
    train(prompts, tmp_path)
    texts = ["train the optimizer step image", "metric accuracy score text"]
    predicted = predict(tmp_path, ["new", "other"], texts, quiet)
    assert predicted["new"]["stage"] == "training"
    assert (predicted["other"]["stage"], predicted["other"]["data"]) == ("evaluation_metrics", "text")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("classifier.json", None, "no classifier here"),
        ("classifier.json", "{}", "not the record of a classifier"),
        ("prompts.jsonl", "odd", "changed since"),
        ("prompts.jsonl", None, "missing"),
    ],
    ids=["no record", "an empty record", "other prompts", "no prompts"],
)
def test_incomplete_classifier_is_rejected(prompts, tmp_path, name, content, message):
    train(prompts, tmp_path)
    (tmp_path / name).unlink()
    if content:
        (tmp_path / name).write_text(content)
    with pytest.raises(DLBenchError, match=message):
        predict(tmp_path, ["a"], ["train"], quiet)
