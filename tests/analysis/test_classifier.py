"""A classifier is measured on what it has not seen, goes on where it was stopped, and says the same each time."""

import json
import math
import random
import shutil
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("sklearn")

from dlbench.analysis.classifier import evaluate
from dlbench.analysis.classifier.data import UNKNOWN, Recipe, borrow, draw_folds, gather_prompts
from dlbench.analysis.classifier.evaluate import FAST, MAJORITY, PROJECT, WAYS, WORDS, cross_validate
from dlbench.analysis.classifier.models import look_up_project
from dlbench.analysis.corpora import Corpus, Item
from dlbench.errors import DLBenchError
from dlbench.jsonl import Journal
from tests.analysis.encoders import Letters, write_bert

SPEECH = {
    "training": "train the optimizer step loss",
    "evaluation_metrics": "score metric accuracy of the",
    "pre_post_processing": "load resize tokenize the table",
}


def quiet(text):
    pass


def make_corpus(size=45, seed=0):
    """Each label has words of its own; one prompt in nine says nothing."""
    draws = random.Random(seed)
    items = []
    for number in range(size):
        stage = list(SPEECH)[number % 3]
        data = "image" if number % 2 else "text"
        words = [*draws.sample(SPEECH[stage].split(), 4), data]
        draws.shuffle(words)
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
    monkeypatch.setattr(evaluate, "open_encoder", lambda name: Letters())


def validate(prompts, path, ways=FAST, recipe=None, told=quiet):
    with Journal(path) as journal:
        return cross_validate(prompts, "toys", recipe or Recipe(), 3, ways, journal, told)


def figure(found, way, axis="stage"):
    return next(one for one in found.figures if (one.way, one.axis) == (way, axis))


def test_folds_ask_every_prompt_once_and_hold_labels_alike(prompts):
    folds = draw_folds(prompts, 3, seed=1)
    assert sorted(place for _, asked in folds for place in asked) == list(range(45))
    for learnt, asked in folds:
        assert not set(learnt) & set(asked)
        assert np.bincount(prompts.targets[asked, 0]).tolist() == [5, 5, 5]
    again, other = draw_folds(prompts, 3, seed=1), draw_folds(prompts, 3, seed=2)
    assert all(np.array_equal(one[1], two[1]) for one, two in zip(folds, again, strict=True))
    assert not all(np.array_equal(one[1], two[1]) for one, two in zip(folds, other, strict=True))


def test_folds_that_part_projects_ask_of_none_that_was_learnt_from(tmp_path):
    """Where a label is a project's and nothing else tells it, folds that share projects know it and others cannot."""
    corpus = make_corpus(90)
    names = ["A-b", "a_B", "c", "d", "e", "f", "g"]  # the first two are one project, spelt twice
    items = [
        Item(item.id, f"about {names[number // 13].lower().replace('_', '-')}", None, names[number // 13], item.labels)
        for number, item in enumerate(corpus.items)
    ]
    prompts = gather_prompts(Corpus("toys", tuple(items)))
    folds = draw_folds(prompts, 3, seed=0, new_projects=True)
    assert sorted(place for _, asked in folds for place in asked) == list(range(90))
    for learnt, asked in folds:
        spelt = [{names[place // 13].lower().replace("_", "-") for place in part} for part in (learnt, asked)]
        assert not spelt[0] & spelt[1]
    with Journal(tmp_path / "folds.jsonl") as journal:
        found = cross_validate(prompts, "toys", Recipe(), 3, (MAJORITY, PROJECT), journal, quiet, new_projects=True)
    assert found.answers[PROJECT] == found.answers[MAJORITY]  # nothing is known of a new project


def test_projects_that_are_too_few_or_not_told_cannot_be_parted(prompts):
    with pytest.raises(DLBenchError, match="there are 1 projects, fewer than folds"):
        draw_folds(prompts, 3, seed=0, new_projects=True)
    with pytest.raises(DLBenchError, match="does not say of every prompt"):
        draw_folds(replace(prompts, groups=()), 3, seed=0, new_projects=True)


def lend(groups=("toy", "Other-Project"), size=30):
    """Prompts of another dataset, of several projects in turn, with a label that is not asked about."""
    items = make_corpus(size, seed=1).items
    return Corpus(
        "lent",
        tuple(
            Item(f"lent/{number}", item.prompt, None, groups[number % len(groups)], {**item.labels, "task": "novel"})
            for number, item in enumerate(items)
        ),
    )


def test_what_another_dataset_lends_is_learnt_from_on_every_fold_and_never_asked(prompts, tmp_path):
    both = borrow(prompts, make_corpus(), lend())
    assert both.lent == 15  # the others are about a project that is asked about
    assert both.targets[45:, 1].tolist() == [UNKNOWN] * 15  # no label of theirs is made one of ours
    for (learnt, asked), (alone, same) in zip(draw_folds(both, 3, 1), draw_folds(prompts, 3, 1), strict=True):
        assert learnt.tolist() == [*alone, *range(45, 60)]
        assert asked.tolist() == same.tolist()
    found = validate(both, tmp_path / "folds.jsonl")
    assert figure(found, WORDS).prompts == 45
    assert set(found.answers[WORDS]) == set(prompts.ids)


def test_labels_that_are_lent_are_learnt(prompts, tmp_path):
    """Where what is lent says the opposite, and there is more of it, it is believed."""
    turned = {"training": "evaluation_metrics", "evaluation_metrics": "training"}
    other = lend(("elsewhere",), size=450)
    wrong = [
        Item(item.id, item.prompt, None, item.group, {"stage": turned.get(item.labels["stage"], item.labels["stage"])})
        for item in other.items
    ]
    alone = validate(prompts, tmp_path / "alone.jsonl", ways=(WORDS,))
    misled = validate(
        borrow(prompts, make_corpus(), Corpus("lent", tuple(wrong))), tmp_path / "misled.jsonl", ways=(WORDS,)
    )
    assert figure(misled, WORDS).f1 < figure(alone, WORDS).f1 - 0.3


def test_a_dataset_that_is_all_about_the_asked_projects_cannot_be_lent(prompts):
    with pytest.raises(DLBenchError, match="about a project that is not asked about"):
        borrow(prompts, make_corpus(), lend(("TOY", "t_o-y")))


def test_a_prompt_without_a_label_is_not_measured_on_that_axis(prompts, tmp_path):
    assert prompts.targets[0, 2] == UNKNOWN
    found = validate(prompts, tmp_path / "folds.jsonl")
    assert figure(found, WORDS, "data").prompts == 44
    assert figure(found, WORDS).prompts == 45


def test_a_fold_without_a_label_on_an_axis_has_no_figure_there_and_the_others_count(prompts, tmp_path):
    folds = draw_folds(prompts, 3, seed=0)
    prompts.targets[folds[1][1], 2] = UNKNOWN
    found = figure(validate(prompts, tmp_path / "folds.jsonl"), WORDS, "data")
    first, second, third = found.by_fold
    assert math.isnan(second)
    assert found.f1 == pytest.approx((first + third) / 2)
    assert found.prompts == sum((prompts.targets[folds[fold][1], 2] != UNKNOWN).sum() for fold in (0, 2))


def test_of_a_single_fold_with_labels_no_deviation_is_claimed(prompts, tmp_path):
    folds = draw_folds(prompts, 3, seed=0)
    for fold in (1, 2):
        prompts.targets[folds[fold][1], 2] = UNKNOWN
    found = figure(validate(prompts, tmp_path / "folds.jsonl"), MAJORITY, "data")
    assert not math.isnan(found.f1)
    assert math.isnan(found.deviation)


def test_what_the_project_alone_tells_is_known_without_reading(tmp_path):
    """Labels go by project and words say nothing: the look-up is right, and a new project gets what is most frequent."""
    items = [
        Item(f"{name}/{number}", f"the {number}", None, name, {"stage": stage, "task": "general", "data": data})
        for name, stage, data in (("a", "training", "image"), ("b", "inference", "text"), ("c", "training", "text"))
        for number in range(9)
    ]
    items[0] = replace(items[0], labels={**items[0].labels, "task": "regression"})
    prompts = gather_prompts(Corpus("toys", tuple(items)))
    found = validate(prompts, tmp_path / "folds.jsonl", ways=(MAJORITY, PROJECT))
    assert figure(found, PROJECT).f1 == 1
    assert figure(found, PROJECT, "data").f1 == 1
    assert figure(found, MAJORITY).f1 < 0.7
    new = look_up_project(prompts.take(np.arange(9, 27)), prompts.take(np.arange(2)))
    assert [prompts.classes[2][axis] for axis in new[2].argmax(axis=1)] == ["text", "text"]


def test_words_tell_more_than_the_majority(prompts, tmp_path):
    found = validate(prompts, tmp_path / "folds.jsonl")
    assert figure(found, WORDS).f1 > 0.7 > 0.4 > figure(found, MAJORITY).f1
    assert sum(map(sum, (row.values() for row in figure(found, WORDS).confusion.values()))) == 45


def check_that_nothing_leaks(prompts, ways, recipe, tmp_path, monkeypatch):
    """What is asked carries other labels, through the whole of a cross-validation, and is told the same."""
    folds = draw_folds(prompts, 3, seed=0)
    monkeypatch.setattr(evaluate, "draw_folds", lambda *given, **more: folds)
    asked = folds[0][1]
    honest = validate(prompts, tmp_path / "honest.jsonl", ways, recipe)
    turned = prompts.take(range(len(prompts.ids)))
    turned.targets[asked] = (turned.targets[asked] + 1) % [len(names) for names in prompts.classes]
    lied = validate(turned, tmp_path / "lied.jsonl", ways, recipe)
    for way in ways:
        for place in asked:
            one = prompts.ids[place]
            assert honest.answers[way][one] == lied.answers[way][one], way
    # and the other folds, which have learnt from the wrong labels, say something else
    others = {one for one in prompts.ids if one not in {prompts.ids[place] for place in asked}}
    assert any(honest.answers[WORDS][one] != lied.answers[WORDS][one] for one in others)


def test_labels_of_the_asked_fold_change_nothing_that_is_told_of_it(prompts, tmp_path, monkeypatch):
    check_that_nothing_leaks(prompts, FAST, Recipe(), tmp_path, monkeypatch)


def test_a_stopped_evaluation_goes_on_and_gives_what_a_whole_one_gives(prompts, tmp_path):
    whole = validate(prompts, tmp_path / "whole.jsonl")

    def stop(text):
        if text == f"fold 2 of 3: {MAJORITY}":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        validate(prompts, tmp_path / "cut.jsonl", told=stop)
    begun = [(line["fold"], line["way"]) for line in map(json.loads, (tmp_path / "cut.jsonl").read_text().splitlines())]
    assert begun == [*((0, way) for way in FAST), (1, MAJORITY)]
    done = []
    assert validate(prompts, tmp_path / "cut.jsonl", told=done.append) == whole
    assert f"fold 1 of 3: {WORDS}" not in done


def test_labels_that_cannot_be_told_apart_or_folded_are_refused():
    same = Corpus("same", tuple(Item(str(n), "x", None, "", {"stage": "training"}) for n in range(9)))
    with pytest.raises(DLBenchError, match="fewer than two labels of stage"):
        gather_prompts(same)
    with pytest.raises(DLBenchError, match="fewer than folds"):
        draw_folds(gather_prompts(make_corpus(9)), 5, seed=0)


def test_a_stage_rarer_than_folds_is_measured_all_the_same(tmp_path):
    corpus = make_corpus()
    items = [item for item in corpus.items if item.labels["stage"] != "training" or int(item.id.split("/")[1]) < 6]
    found = validate(gather_prompts(Corpus("toys", tuple(items))), tmp_path / "folds.jsonl")
    assert sum(figure(found, WORDS).confusion["training"].values()) == 2


# What follows tunes an encoder, though a tiny one.


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    pytest.importorskip("torch")
    return write_bert(tmp_path_factory.mktemp("bert") / "tiny")


@pytest.fixture
def recipe(bert):
    return Recipe(str(bert), frozen=1, epochs=6, batch=8, rate=5e-3, tokens=32)


def test_both_halves_together_give_the_whole_encoders_vectors(bert, recipe):
    import torch
    from transformers import AutoModel, AutoTokenizer

    from dlbench.analysis.classifier.models import SplitEncoder, pool

    texts = ["train the optimizer", "score", "load the image table of text and resize"]
    halves = SplitEncoder(recipe)
    with torch.inference_mode():
        pooled = pool(halves.make_upper().eval(), halves.lower(texts, quiet))
        whole, tokenizer = AutoModel.from_pretrained(bert).eval(), AutoTokenizer.from_pretrained(bert)
        for row, text in zip(pooled, texts, strict=True):
            expected = whole(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].mean(0)
            assert torch.allclose(row, expected, atol=1e-5)


@pytest.mark.parametrize(
    ("kind", "more"),
    [("Bert", {}), ("Roberta", {"pad_token_id": 1}), ("MPNet", {}), ("Electra", {"embedding_size": 8})],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_encoders_of_berts_kin_can_be_cut_and_take_prompts_longer_than_they_have_places(kind, more, bert, tmp_path):
    import torch
    import transformers

    from dlbench.analysis.classifier.models import SplitEncoder, pool

    shutil.copytree(bert, tmp_path / "kin")
    sizes = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 32, "max_position_embeddings": 20}
    config = getattr(transformers, f"{kind}Config")(vocab_size=40, num_hidden_layers=2, **sizes, **more)
    whole = getattr(transformers, f"{kind}Model")(config).eval()
    whole.save_pretrained(tmp_path / "kin")
    halves = SplitEncoder(Recipe(encoder=str(tmp_path / "kin"), frozen=1))
    with torch.inference_mode():
        pooled = pool(halves.make_upper().eval(), halves.lower(["train the loss " * 20, "load the image"], quiet))
        ids = transformers.AutoTokenizer.from_pretrained(bert)("load the image", return_tensors="pt")["input_ids"]
        assert torch.allclose(pooled[1], whole(input_ids=ids).last_hidden_state[0].mean(0), atol=1e-5)


def test_a_tuned_encoder_learns_and_a_second_run_gives_the_same(prompts, recipe, tmp_path):
    first = validate(prompts, tmp_path / "a.jsonl", WAYS, recipe)
    assert figure(first, "tuned encoder").f1 > figure(first, MAJORITY).f1 + 0.2
    assert validate(prompts, tmp_path / "b.jsonl", WAYS, recipe) == first


def test_a_tuned_encoder_learns_nothing_from_the_labels_of_what_it_is_asked(prompts, recipe, tmp_path, monkeypatch):
    check_that_nothing_leaks(prompts, WAYS, recipe, tmp_path, monkeypatch)


def test_a_trained_classifier_is_kept_and_asked_again(prompts, recipe, tmp_path):
    from dlbench.analysis.classifier.evaluate import predict, train

    train(prompts, recipe, tmp_path, quiet)
    told = predict(tmp_path, ["new", "other"], ["train the optimizer step image", "metric accuracy score text"], quiet)
    assert told["new"]["stage"] == "training"
    assert (told["other"]["stage"], told["other"]["data"]) == ("evaluation_metrics", "text")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("classifier.json", None, "no classifier here"),
        ("classifier.json", "{}", "not a classifier's record"),
        ("tuned.safetensors", "odd", "changed since"),
        ("prompts.jsonl", None, "missing"),
    ],
    ids=["no record", "an empty record", "other weights", "no prompts"],
)
def test_a_classifier_that_is_not_whole_is_refused(prompts, recipe, tmp_path, name, content, said):
    from dlbench.analysis.classifier.evaluate import predict, train

    train(prompts, recipe, tmp_path, quiet)
    (tmp_path / name).unlink()
    if content:
        (tmp_path / name).write_text(content)
    with pytest.raises(DLBenchError, match=said):
        predict(tmp_path, ["a"], ["train"], quiet)


def test_an_encoder_that_cannot_be_tuned_is_named(recipe, tmp_path):
    from dataclasses import replace

    from dlbench.analysis.classifier.models import SplitEncoder

    with pytest.raises(DLBenchError, match="none would be tuned"):
        SplitEncoder(replace(recipe, frozen=3))
    (tmp_path / "empty").mkdir()
    with pytest.raises(DLBenchError, match="cannot be loaded"):
        SplitEncoder(replace(recipe, encoder=str(tmp_path / "empty")))
