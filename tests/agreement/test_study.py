"""The figures of the study equal manual counts."""

import json
from dataclasses import asdict

import pytest

from dlbench.agreement import SelectedSolution, choose_for, make_sample
from dlbench.agreement.answers import Answers, make_solution
from dlbench.agreement.matrix import Matrix
from dlbench.agreement.model_tests import read_model_tests
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
from dlbench.agreement.variants import Variant, read_variants
from dlbench.errors import DLBenchError
from dlbench.jsonl import rewrite

SCALE, STEP = "toy/toy.core.scale", "toy/toy.core.Counter.step"
OPERATORS = ("original", "typos", "upper-case")


def make_artifacts(statuses: dict[str, list[str]]) -> RunArtifacts:
    """Variants that pass also pass both tests; the others pass none."""
    variants, answers, matrix = {}, {}, Matrix()
    for instance, ends in statuses.items():
        variants[instance] = [Variant(instance, n, OPERATORS[n], "…", "f") for n in range(len(ends))]
        tests = read_model_tests("assert f(1)\nassert f(2)\n", "f").tests
        solutions = {n: make_solution(f"def f(x):\n    return {n}\n") for n in range(len(ends))}
        answers[instance] = Answers(dict(solutions), {0: tests})
        answers[instance].records += [{"sample": n, "answer": "", "seconds": 1.0} for n in range(2 * len(ends))]
        for number, end in enumerate(ends):
            results = {test.id: "passed" if end == "pass" else "failed" for test in tests}
            matrix.add({"instance": instance, "solution": solutions[number].id, "results": results})
    choices = {one: choose_for(matrix, one, answers[one], "codet", 0) for one in statuses}
    return RunArtifacts(
        variants, answers, {one: dict(enumerate(ends)) for one, ends in statuses.items()}, choices, matrix
    )


@pytest.fixture
def artifacts():
    return make_artifacts({SCALE: ["fail", "pass", "pass"], STEP: ["pass", "pass", "error"]})


def test_pass_at_1_of_rule_original_random_and_best(artifacts, toy):
    found = compare_rules(collect_votes(artifacts, ("codet",)), "codet", toy)
    scores = {one.name: one.pass_at_1 for one in found.standings}
    assert scores == pytest.approx({"codet": 1.0, "original alone": 0.5, "random choice": 2 / 3, "best possible": 1.0})
    assert found.pairs[0].only_a == (SCALE,)


def test_random_choice_draws_from_usable_solutions(toy):
    """Otherwise skipping empty answers would look like a gain."""
    votes = InstanceVotes(SCALE, (False, True, False, False), {"codet": 1}, usable=(False, True, True, False))
    found = compare_rules([votes], "codet", toy)
    assert {one.name: one.pass_at_1 for one in found.standings}["random choice"] == 0.5


def test_gain_over_random_choice_is_tested_exactly(toy):
    """Two instances, one of eight solutions right, both chosen: 2 (1/8)² by hand."""
    votes = [InstanceVotes(one, (True, *[False] * 7), {"codet": 0}) for one in (SCALE, STEP)]
    pairs = {pair.b: pair for pair in compare_rules(votes, "codet", toy, has_original=False).pairs}
    assert pairs["random choice"].permutation == pytest.approx(2 / 64)
    assert pairs["random choice"].permutation_holm == pytest.approx(4 / 64)


def test_instance_with_harness_error_is_left_out_and_named(toy):
    artifacts = make_artifacts({SCALE: ["fail", "harness_error", "pass"], STEP: ["pass", "pass", "error"]})
    found = compare_rules(collect_votes(artifacts, ("codet",)), "codet", toy)
    assert (found.instances, found.harness_errors) == ((STEP,), (SCALE,))


def test_solution_without_verdict_is_an_error(toy, tmp_path):
    inner = tmp_path / "agreement"
    inner.mkdir()
    artifacts = make_artifacts({SCALE: ["pass", "pass", "fail"]})
    rewrite(inner / "variants.jsonl", map(asdict, artifacts.variants[SCALE]))
    rewrite(inner / "choices.jsonl", map(asdict, artifacts.choices.values()))
    answers = [
        {"instance": SCALE, "sample": sample, "answer": "```python\ndef f(values, factor=2):\n    return 1\n```"}
        for sample in range(6)
    ]
    (inner / "answers.jsonl").write_text("".join(json.dumps(one) + "\n" for one in answers))
    (inner / "matrix.jsonl").write_text("")
    with pytest.raises(DLBenchError, match="have no verdict yet"):
        read_artifacts(tmp_path, toy)


def test_unusable_solution_has_no_vote():
    """Three solutions that never ran would equal each other."""
    tests = read_model_tests("assert f(1)\n", "f").tests
    solutions = {n: make_solution(f"def f(x):\n    return {n}\n") for n in range(5)}
    matrix = Matrix()
    for number, one in solutions.items():
        result = "passed" if number < 2 else "unusable"
        matrix.add({"instance": SCALE, "solution": one.id, "results": {tests[0].id: result}})
    chosen = {
        choose_for(matrix, SCALE, Answers(dict(solutions), {0: tests}), "mbr-exec", seed).variant for seed in range(9)
    }
    assert chosen <= {0, 1}


def test_operator_is_compared_with_the_original_on_its_instances(artifacts, toy):
    effects = {one.operator: one for one in compare_operators(artifacts, toy)}
    assert effects["typos"].difference == pytest.approx(0.5)
    assert effects["typos"].only_operator == (SCALE,)
    assert effects["upper-case"].difference == pytest.approx(0.0)
    assert effects["upper-case"].only_original == (STEP,)
    assert all(one.p_holm >= one.p for one in effects.values())


def test_flips_and_consistency_are_counted_by_instance(artifacts):
    found = measure_consistency(artifacts)
    assert (found.helped, found.harmed) == ((SCALE,), (STEP,))
    assert (found.all_pass, found.none_pass) == (0, 0)
    assert found.agreeing == pytest.approx(1 / 3)
    assert found.from_variants in (0.5, 1.0)


def test_effects_are_counted_against_the_original(artifacts):
    found = count_effects(artifacts)
    assert found["typos"] == {"the same code": 0, "the same status": 1, "helped": 1, "harmed": 0, "failed otherwise": 0}
    assert found["upper-case"]["harmed"] == 1
    other = make_artifacts({SCALE: ["fail", "error", "fail"]})
    assert count_effects(other)["typos"]["failed otherwise"] == 1


def test_original_answer_is_used_if_no_variant_has_code():
    answers = Answers({0: None, 1: None}, {}, [], [{"sample": 0, "answer": "no idea", "seconds": 1.0}])
    chosen = choose_for(Matrix(), SCALE, answers, "codet", 0)
    assert chosen == SelectedSolution(SCALE, 0, "codet", 0.0, (), 0, 0, 0, fell_back=True)
    sample = make_sample(chosen, answers, [Variant(SCALE, 0, "original", "…", "scale")], "m")
    assert sample["answer"] == "no idea"
    assert "code" not in sample


def test_finish_reason_is_that_of_the_selected_answer():
    records = [{"sample": n, "answer": "def scale(): 1", "seconds": 1.0, "finish_reason": "stop"} for n in range(4)]
    records[2]["finish_reason"] = "length"  # the solution of the second variant
    solutions = dict.fromkeys(range(2), make_solution("def scale(): 1\n"))
    variants = [Variant(SCALE, 0, "original", "…", "scale"), Variant(SCALE, 1, "typos", "…", "scale")]
    made = [
        make_sample(
            SelectedSolution(SCALE, one, "codet", 0.0, (), 0, 0, 0, fell_back=False),
            Answers(solutions, {}, [], records),
            variants,
            "m",
        )
        for one in range(2)
    ]
    assert [sample["finish_reason"] for sample in made] == ["stop", "length"]


def test_variants_are_read_in_their_order(tmp_path):
    path = tmp_path / "variants.jsonl"
    variants = [Variant(SCALE, 0, "original", "…", "scale"), Variant(SCALE, 1, "typos", "…", "f", {"values": "a"})]
    rewrite(path, map(asdict, variants))
    assert read_variants(path) == {SCALE: variants}
    rewrite(path, map(asdict, variants[::-1]))
    with pytest.raises(DLBenchError, match="out of order"):
        read_variants(path)
