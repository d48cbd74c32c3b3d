"""A person sees each variant of a prompt, what it changes, and what was dropped and why."""

import json

from tests.generation.endpoint import Endpoint, completion


def test_variants_are_shown_with_their_differences_and_what_was_dropped(dlbench, toy_root):
    shown = dlbench("agree", "mutate", "toy/toy.core.scale", "--benchmark", toy_root, "--count", 6, "--operator", "verbs",
                    "--operator", "upper-case", "--operator", "name-neutral", "--operator", "rephrase", "--operator", "parameter-names")  # fmt: skip
    assert shown.status == 0, shown.err
    assert "--- 0 original: scale\nGive back a list" in shown.out
    assert "{+LIST+}" in shown.out
    assert "name-neutral: f1" in shown.out
    assert "factor as multiplier" in shown.out
    assert "dropped: rephrase: it needs a model, and none was given" in shown.out


def test_json_holds_the_same_and_a_seed_repeats_it(dlbench, toy_root):
    asked = (
        "agree",
        "mutate",
        "toy/toy.core.Counter.step",
        "--benchmark",
        toy_root,
        "--count",
        3,
        "--seed",
        5,
        "--json",
    )
    made = json.loads(dlbench(*asked).out)
    assert [variant["index"] for variant in made["kept"]] == [0, 1, 2]
    assert made["kept"][0]["operator"] == "original"
    assert made["measure"]
    assert json.loads(dlbench(*asked).out) == made


def test_a_model_is_asked_where_no_rule_helps_and_only_once(dlbench, toy_root, tmp_path):
    text = "Provide a list in which each number of `values` is multiplied by `factor`; zero is refused by ValueError."
    with Endpoint(lambda number, body: completion(text)) as endpoint:
        home = {"DLBENCH_HOME": str(tmp_path / "home"), "DLBENCH_API_KEY": "key"}
        asked = ("agree", "mutate", "toy/toy.core.scale", "--benchmark", toy_root, "--operator", "rephrase", "--count", 2,
                 "--model", "m", "--base-url", endpoint.url)  # fmt: skip
        for _ in range(2):
            shown = dlbench(*asked, env=home)
            assert shown.status == 0, shown.err
            assert "[-Give back-]{+Provide+}" in shown.out
        assert len(endpoint.requests) == 1


def test_what_is_unknown_is_named(dlbench, toy_root):
    wrong = dlbench("agree", "mutate", "toy/toy.core.scale", "--benchmark", toy_root, "--operator", "verb")
    assert wrong.status == 1
    assert "there is no operator 'verb'" in wrong.err
    assert "choose of verbs, synonyms" in wrong.err
    assert dlbench("agree", "mutate", "toy/toy.core.scal", "--benchmark", toy_root).status == 1
