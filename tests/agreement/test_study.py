"""The study's figures are those that can be counted by hand."""

import json

import pytest

from dlbench.agreement import Selection, choose_for, make_sample, write_choices
from dlbench.agreement.matrix import Matrix
from dlbench.agreement.model_tests import read_model_tests
from dlbench.agreement.solutions import Answers, make_solution
from dlbench.agreement.study import (
    InstanceVotes,
    RunArtifacts,
    collect_votes,
    compare_operators,
    compare_rules,
    count_effects,
    measure_consistency,
    read_artifacts,
)
from dlbench.agreement.variants import Variant, read_variants, write_variants
from dlbench.errors import DLBenchError

SCALE, STEP = "toy/toy.core.scale", "toy/toy.core.Counter.step"
OPERATORS = ("original", "typos", "upper-case")


def make_material(statuses: dict[str, list[str]]) -> RunArtifacts:
    """Variants of which those that pass also pass both checks, and the others none."""
    variants, answers, matrix = {}, {}, Matrix()
    for instance, ends in statuses.items():
        variants[instance] = [Variant(instance, n, OPERATORS[n], "…", "f") for n in range(len(ends))]
        checks = read_model_tests("assert f(1)\nassert f(2)\n", "f").checks
        solutions = {n: make_solution(f"def f(x):\n    return {n}\n") for n in range(len(ends))}
        answers[instance] = Answers(dict(solutions), {0: checks})
        answers[instance].records += [{"sample": n, "answer": "", "seconds": 1.0} for n in range(2 * len(ends))]
        for number, end in enumerate(ends):
            results = {check.id: "passed" if end == "pass" else "failed" for check in checks}
            matrix.add({"instance": instance, "solution": solutions[number].id, "results": results})
    choices = {one: choose_for(matrix, one, answers[one], "codet", 0) for one in statuses}
    return RunArtifacts(
        variants, answers, {one: dict(enumerate(ends)) for one, ends in statuses.items()}, choices, matrix
    )


@pytest.fixture
def material():
    return make_material({SCALE: ["fail", "pass", "pass"], STEP: ["pass", "pass", "error"]})


def test_pass_at_1_of_agreement_of_the_original_of_random_and_of_the_best(material, toy):
    found = compare_rules(collect_votes(material, ("codet",)), "codet", toy)
    scores = {one.name: one.pass_at_1 for one in found.standings}
    assert scores == pytest.approx({"codet": 1.0, "original alone": 0.5, "random choice": 2 / 3, "best possible": 1.0})
    assert found.pairs[0].only_a == (SCALE,)


def test_chance_draws_from_answers_with_code_as_a_rule_does(toy):
    """Otherwise passing over empty answers would look like agreement."""
    poll = InstanceVotes(SCALE, (False, True, False, False), {"codet": 1}, usable=(False, True, True, False))
    found = compare_rules([poll], "codet", toy)
    assert {one.name: one.pass_at_1 for one in found.standings}["random choice"] == 0.5


def test_the_gain_over_chance_is_tested_by_the_chances_themselves(toy):
    """Two instances, one of eight solutions right, both chosen: 2 (1/8)² by hand."""
    polls = [InstanceVotes(one, (True, *[False] * 7), {"codet": 0}) for one in (SCALE, STEP)]
    pairs = {pair.b: pair for pair in compare_rules(polls, "codet", toy, has_original=False).pairs}
    assert pairs["random choice"].permutation == pytest.approx(2 / 64)
    assert pairs["random choice"].permutation_holm == pytest.approx(4 / 64)


def test_what_our_own_fault_kept_from_being_judged_is_left_out_and_named(toy):
    material = make_material({SCALE: ["fail", "harness_error", "pass"], STEP: ["pass", "pass", "error"]})
    found = compare_rules(collect_votes(material, ("codet",)), "codet", toy)
    assert (found.instances, found.harness_errors) == ((STEP,), (SCALE,))


def test_a_solution_without_a_verdict_is_not_taken_for_a_failure(toy, tmp_path):
    inner = tmp_path / "agreement"
    inner.mkdir()
    material = make_material({SCALE: ["pass", "pass", "fail"]})
    write_variants(inner / "variants.jsonl", list(material.variants[SCALE]))
    write_choices(inner / "choices.jsonl", list(material.choices.values()))
    answers = [
        {"instance": SCALE, "sample": sample, "answer": "```python\ndef f(values, factor=2):\n    return 1\n```"}
        for sample in range(6)
    ]
    (inner / "answers.jsonl").write_text("".join(json.dumps(one) + "\n" for one in answers))
    (inner / "matrix.jsonl").write_text("")
    with pytest.raises(DLBenchError, match="have no verdict yet"):
        read_artifacts(tmp_path, toy)


def test_a_solution_that_cannot_stand_in_the_target_s_place_has_no_vote():
    """Three that never ran do the same as one another: nothing."""
    checks = read_model_tests("assert f(1)\n", "f").checks
    solutions = {n: make_solution(f"def f(x):\n    return {n}\n") for n in range(5)}
    matrix = Matrix()
    for number, one in solutions.items():
        result = "passed" if number < 2 else "unusable"
        matrix.add({"instance": SCALE, "solution": one.id, "results": {checks[0].id: result}})
    chosen = {
        choose_for(matrix, SCALE, Answers(dict(solutions), {0: checks}), "mbr-exec", seed).variant for seed in range(9)
    }
    assert chosen <= {0, 1}


def test_each_operator_is_held_against_the_original_on_its_own_instances(material, toy):
    effects = {one.operator: one for one in compare_operators(material, toy)}
    assert effects["typos"].difference == pytest.approx(0.5)
    assert effects["typos"].only_operator == (SCALE,)
    assert effects["upper-case"].difference == pytest.approx(0.0)
    assert effects["upper-case"].only_original == (STEP,)
    assert all(one.p_holm >= one.p for one in effects.values())


def test_flips_and_consistency_are_counted_by_instance(material):
    found = measure_consistency(material)
    assert (found.helped, found.harmed) == ((SCALE,), (STEP,))
    assert (found.all_pass, found.none_pass) == (0, 0)
    assert found.agreeing == pytest.approx(1 / 3)
    assert found.from_variants in (0.5, 1.0)


def test_effects_are_sorted_by_what_became_of_the_original(material):
    found = count_effects(material)
    assert found["typos"] == {"the same code": 0, "the same end": 1, "helped": 1, "harmed": 0, "failed otherwise": 0}
    assert found["upper-case"]["harmed"] == 1
    other = make_material({SCALE: ["fail", "error", "fail"]})
    assert count_effects(other)["typos"]["failed otherwise"] == 1


def test_where_no_variant_gave_code_the_original_answer_stands():
    answers = Answers({0: None, 1: None}, {}, [], [{"sample": 0, "answer": "no idea", "seconds": 1.0}])
    chosen = choose_for(Matrix(), SCALE, answers, "codet", 0)
    assert chosen == Selection(SCALE, 0, "codet", 0.0, (), 0, 0, 0, fell_back=True)
    sample = make_sample(chosen, answers, [Variant(SCALE, 0, "original", "…", "scale")], "m")
    assert sample["answer"] == "no idea"
    assert "code" not in sample


def test_a_chosen_answer_that_was_cut_off_is_known_as_such():
    records = [{"sample": n, "answer": "def scale(): 1", "seconds": 1.0, "finish_reason": "stop"} for n in range(4)]
    records[2]["finish_reason"] = "length"  # the solution of the second wording
    solutions = dict.fromkeys(range(2), make_solution("def scale(): 1\n"))
    variants = [Variant(SCALE, 0, "original", "…", "scale"), Variant(SCALE, 1, "typos", "…", "scale")]
    made = [
        make_sample(
            Selection(SCALE, one, "codet", 0.0, (), 0, 0, 0, fell_back=False),
            Answers(solutions, {}, [], records),
            variants,
            "m",
        )
        for one in range(2)
    ]
    assert [sample["finish_reason"] for sample in made] == ["stop", "length"]


def test_variants_are_kept_and_read_in_their_order(tmp_path):
    path = tmp_path / "variants.jsonl"
    variants = [Variant(SCALE, 0, "original", "…", "scale"), Variant(SCALE, 1, "typos", "…", "f", {"values": "a"})]
    write_variants(path, variants)
    assert read_variants(path) == {SCALE: variants}
    write_variants(path, variants[::-1])
    with pytest.raises(DLBenchError, match="out of turn"):
        read_variants(path)
