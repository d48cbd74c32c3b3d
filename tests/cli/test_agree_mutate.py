"""`agree mutate` shows each variant of a prompt, what it changes, and what was dropped and why."""

import json

from tests.generation.endpoint import Endpoint, completion


def test_shows_variants_with_differences_and_dropped_ones(dlbench, toy_root):
    shown = dlbench("agree", "mutate", "toy/toy.core.scale", "--benchmark", toy_root, "--count", 6, "--operator", "verbs",
                    "--operator", "upper-case", "--operator", "name-neutral", "--operator", "rephrase", "--operator", "parameter-names")  # fmt: skip
    assert shown.status == 0, shown.err
    assert "--- 0 original: scale\nGive back a list" in shown.out
    assert "{+LIST+}" in shown.out
    assert "name-neutral: f1" in shown.out
    assert "factor as multiplier" in shown.out
    assert "dropped: rephrase: requires a model, and none is configured" in shown.out


def test_json_is_reproducible_by_seed(dlbench, toy_root):
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


def test_model_paraphrases_once_where_no_rule_applies(dlbench, toy_root, tmp_path):
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


def test_unknown_operator_or_instance_is_an_error(dlbench, toy_root):
    wrong = dlbench("agree", "mutate", "toy/toy.core.scale", "--benchmark", toy_root, "--operator", "verb")
    assert wrong.status == 1
    assert "there is no operator 'verb'" in wrong.err
    assert "choose one of verbs, synonyms" in wrong.err
    assert dlbench("agree", "mutate", "toy/toy.core.scal", "--benchmark", toy_root).status == 1


def test_list_shows_every_operator(dlbench, toy_root):
    shown = dlbench("agree", "mutate", "toy/toy.core.scale", "--benchmark", toy_root, "--operator", "list")
    assert shown.status == 0, shown.err
    assert "| `verbs` | lexical |" in shown.out
    assert "| `parameter-names` | naming |" in shown.out
