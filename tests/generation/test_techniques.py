"""Whatever the technique, the task is whole, nothing of the answer is shown, and what was shown is on record."""

import ast
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlbench.dataset.target import find_target, render_signature
from dlbench.errors import DLBenchError
from dlbench.generation import zero_shot
from dlbench.generation.techniques import TECHNIQUES, Conversation, ExamplePool, PromptBuilder, Settings, find_technique
from dlbench.generation.techniques.bug_warnings import read_warnings
from dlbench.generation.techniques.build import describe_shortage, estimate_tokens
from dlbench.generation.techniques.few_shot import retell
from tests.generation.library import INSTANCES, SOURCES, shelf, source_of

FEW_SHOT = [name for name, technique in TECHNIQUES.items() if technique.wants_shots]
HARVEST = "plants/plants.Garden.harvest"
WATER = "plants/plants.water"


ONE_SHELF = shelf()


def ask(technique: str, instance_id: str, **settings: int | str) -> Conversation:
    return PromptBuilder(find_technique(technique), ONE_SHELF, Settings(**settings)).ask(INSTANCES[instance_id])


def texts(asked: Conversation) -> list[str]:
    return [message["content"] for turn in asked.turns for message in turn]


def body_lines(instance_id: str) -> list[str]:
    """What the instance's reference says beyond its header, line by line."""
    instance = INSTANCES[instance_id]
    body = find_target(source_of(instance), instance.qualname).node.body
    lines = "\n".join(ast.unparse(statement) for statement in body).splitlines()
    return [line.strip() for line in lines if len(re.findall(r"\w+", line)) > 2]


@pytest.mark.parametrize("instance_id", INSTANCES)
@pytest.mark.parametrize("technique", TECHNIQUES)
def test_the_task_is_whole_and_its_solution_is_not_shown(technique: str, instance_id: str) -> None:
    instance = INSTANCES[instance_id]
    asked = ask(technique, instance_id)
    everything = "\n".join(texts(asked))
    target = find_target(source_of(instance), instance.qualname)
    assert instance.prompt in everything
    assert render_signature(target.node) in everything
    assert f"complete definition of `{instance.name}` in one Python code block" in asked.turns[-1][-1]["content"]
    assert not [line for line in body_lines(instance_id) if line in everything]
    assert not target.docstring or target.docstring not in everything
    assert asked.turns[0][0]["role"] == "system"
    assert all(turn[-1]["role"] == "user" for turn in asked.turns)
    assert asked.notes["technique"] == technique


def test_zero_shot_asks_as_it_always_has() -> None:
    instance = INSTANCES[HARVEST]
    context = "import math\nfrom plants.soil import Soil\n\n\n" + "\n".join([
        "class Garden(Soil):",
        "    size: int = 3",
        "    def __init__(self, beds): ...",
        "        # sets self.beds",
        "        # sets self.count",
        "    def harvest(self, day, *, strict=False):  # the one to write",
        "    def prune(self): ...",
    ])  # fmt: skip
    assert ask("zero-shot", HARVEST).turns == [zero_shot(instance, "def harvest(self, day, *, strict=False):", context)]


@pytest.mark.parametrize("technique", FEW_SHOT)
@pytest.mark.parametrize("seed", range(5))
def test_neither_the_asked_instance_nor_a_copy_of_it_is_an_example(technique: str, seed: int) -> None:
    """`sprinkle` is `water` under other names and with another prompt; its body would be the answer."""
    for instance_id, copy in ((WATER, "plants/plants.sprinkle"), ("plants/plants.sprinkle", WATER)):
        asked = ask(technique, instance_id, seed=seed, shots=9)
        assert not {instance_id, copy} & set(asked.notes["shots"])


def test_an_instance_with_nearly_the_same_prompt_is_no_example() -> None:
    score, rank = INSTANCES["clouds/clouds.score"], INSTANCES["rivers/rivers.rank"]
    assert rank in shelf().others(score)
    twin = rank.model_copy(update={"prompt": score.prompt.replace("Measure", "Compute")})
    asked = PromptBuilder(find_technique("few-shot-random"), shelf(rank=twin), Settings(shots=20)).ask(score)
    assert twin.id not in asked.notes["shots"]
    assert len(asked.notes["shots"]) == len(INSTANCES) - 2


def stages(asked: Conversation) -> set[str]:
    return {str(INSTANCES[shot].labels.stage) for shot in asked.notes["shots"]}


def projects(asked: Conversation) -> set[str]:
    return {INSTANCES[shot].project for shot in asked.notes["shots"]}


def test_examples_are_of_the_stage_or_project_that_the_technique_names() -> None:
    assert stages(ask("few-shot-same-stage", "plants/plants.Garden.prune")) == {"training"}
    assert projects(ask("few-shot-same-project", HARVEST)) == {"plants"}
    assert projects(ask("few-shot-other-projects", HARVEST, shots=9)) == {"clouds", "rivers"}
    predicted = ask("few-shot-predicted-stage", "rivers/rivers.rank")
    assert stages(predicted) == {predicted.notes["predicted_stage"]} == {"evaluation_metrics"}


def test_the_predicted_stage_does_not_look_at_the_label() -> None:
    rank = INSTANCES["rivers/rivers.rank"]
    labels = rank.labels.model_copy(update={"stage": "inference"})
    mislabelled = rank.model_copy(update={"labels": labels})
    notes = PromptBuilder(find_technique("few-shot-predicted-stage"), shelf(rank=mislabelled)).ask(mislabelled).notes
    assert notes["predicted_stage"] == "evaluation_metrics"


def test_the_draw_depends_on_the_seed_and_on_nothing_else() -> None:
    draws = [tuple(ask("few-shot-random", HARVEST, seed=seed).notes["shots"]) for seed in (0, 0, 1, 2, 3)]
    assert draws[0] == draws[1]
    assert len(set(draws)) > 2
    turned_round = ExamplePool(list(INSTANCES.values())[::-1], source_of)
    again = PromptBuilder(find_technique("few-shot-random"), turned_round).ask(INSTANCES[HARVEST])
    assert tuple(again.notes["shots"]) == draws[0]


def test_an_example_is_asked_like_the_question_and_answered_by_its_reference() -> None:
    asked = ask("few-shot-same-project", "plants/plants.Garden.prune", shots=9)
    (turn,) = asked.turns
    assert [message["role"] for message in turn] == ["system", *["user", "assistant"] * 3, "user"]
    place = 1 + 2 * asked.notes["shots"].index(HARVEST)
    assert INSTANCES[HARVEST].prompt in turn[place]["content"]
    answer = turn[place + 1]["content"]
    assert answer.startswith("```python\ndef harvest(self, day, *, strict=False):\n    if strict")
    assert "".join(texts(asked)).count("Gives every plant its water") == 0, "a docstring has its prompt's place"


def test_examples_that_think_say_what_they_do_before_the_code() -> None:
    asked = ask("few-shot-cot", "rivers/rivers.depth", shots=9)
    place = 2 + 2 * asked.notes["shots"].index("clouds/clouds.fit")
    thoughts, code = asked.turns[0][place]["content"].split("\n\n```python\n")
    assert thoughts.splitlines() == [
        "1. I am given `model`, `rows` and `rate`.",
        "2. For each `row`, `target` of `rows`, I work out `model.weights`.",
        "3. I give back `model`.",
    ]
    assert code.startswith("def fit")
    assert "think step by step" in asked.turns[0][-1]["content"]


FUNCTIONS = [
    "def f(): pass",
    'def f():\n    """Only words."""',
    "async def f(x, *, y):\n    async for z in x:\n        await z\n    return",
    "def f(x):\n    try:\n        x()\n    except E:\n        raise\n    else:\n        del x",
    "def f(x):\n    if x:\n        return\n    elif y:\n        x = 1\n    else:\n        raise E('`')\n    return '`'",
    "@a\ndef f(x):\n    class A: pass\n    with x, y() as z:\n        yield z\n    return lambda: f'{x!r:>{y}}'",
    "def f(x):\n    match x:\n        case 1:\n            return x" + " + x" * 50,
]


@pytest.mark.parametrize(
    "function", [*FUNCTIONS, *(find_target(SOURCES[i.project], i.qualname).text for i in INSTANCES.values())]
)
def test_every_function_can_be_retold(function: str) -> None:
    lines = retell(function).splitlines()
    assert [line.split(". ")[0] for line in lines] == [str(number) for number in range(1, len(lines) + 1)]
    assert all(line.endswith(".") for line in lines)


def test_thinking_is_asked_for_and_explanations_are_not_forbidden_then() -> None:
    system, user = ask("zero-shot-cot", WATER).turns[0]
    assert "no explanations" not in system["content"]
    assert user["content"].endswith(
        "Let's think step by step, and then write the complete definition of `water` in one Python code block."
    )


def test_self_planning_asks_for_a_plan_and_only_then_for_code() -> None:
    plan, code = ask("self-planning", WATER).turns
    assert "Do not write code yet" in plan[-1]["content"]
    assert "code block" not in "".join(message["content"] for message in plan)
    assert [message["role"] for message in code] == ["user"]
    assert "one Python code block" in code[0]["content"]


def test_guided_warns_of_each_avoidable_kind_of_bug_the_most_frequent_first() -> None:
    text = ask("guided", WATER).turns[0][-1]["content"]
    places = [text.index(warning) for warning in read_warnings()]
    assert len(places) >= 10
    assert places == sorted(places)
    assert "misread" in read_warnings()[0]


def test_module_context_adds_signatures_of_neighbours_and_never_a_body() -> None:
    text = ask("module-context", WATER).turns[0][-1]["content"]
    assert "def sprinkle(doses, most=10): ..." in text
    assert (
        "class Garden(Soil):\n    def __init__(self, beds): ...\n    def harvest(self, day, *, strict=False): ..."
        in text
    )
    assert not [line for other in INSTANCES for line in body_lines(other) if line in text]
    assert "def sprinkle" not in ask("zero-shot", WATER).turns[0][-1]["content"]


CUTS = ["shots", "neighbours", "skeleton"]


@given(st.sampled_from(sorted(TECHNIQUES)), st.sampled_from(sorted(INSTANCES)), st.integers(1, 2000))
@settings(deadline=None, max_examples=100)
def test_a_budget_cuts_in_the_stated_order_and_never_the_task(technique: str, instance_id: str, tokens: int) -> None:
    whole, asked = ask(technique, instance_id, tokens=0), ask(technique, instance_id, tokens=tokens)
    cut = asked.notes.get("cut", {})
    instance = INSTANCES[instance_id]
    everything = "\n".join(texts(asked))
    assert instance.prompt in everything
    assert all(
        line in everything for line in SOURCES[instance.project].splitlines() if line.startswith(("import", "from"))
    )
    assert bool(cut) == (asked.turns != whole.turns)
    if estimate_tokens(whole.turns) <= tokens:
        assert not cut
    wanted, kept = whole.notes.get("shots", []), asked.notes.get("shots", [])
    assert kept == wanted[: len(kept)]
    assert cut.get("shots", []) == wanted[len(kept) :]
    assert not kept or not set(cut) & {"neighbours", "skeleton"}
    if "skeleton" in cut:
        assert "..." not in asked.turns[0][-1]["content"], "neighbours go before the skeleton"
    if estimate_tokens(asked.turns) > tokens:
        assert not kept
        assert "\nclass " not in asked.turns[0][-1]["content"], "the skeleton is the last to go"


def test_the_estimate_is_a_quarter_of_the_characters_rounded_up() -> None:
    turns = [[{"role": "user", "content": "a" * 9}], [{"role": "user", "content": "é" * 4}]]
    assert estimate_tokens(turns) == 4
    assert estimate_tokens([]) == 0


def test_the_canary_stands_in_the_question_and_not_in_the_examples() -> None:
    asked = ask("few-shot-random", WATER, canary="nowhere-else")
    assert "Canary: nowhere-else" in asked.turns[0][-1]["content"]
    assert "".join(texts(asked)).count("nowhere-else") == 1


def test_too_few_examples_are_said() -> None:
    short = [ask("few-shot-same-stage", instance_id) for instance_id in INSTANCES]
    assert describe_shortage(short, 3) == "9 of 9 instances are asked with fewer than 3 examples, 2 of them with none"
    assert describe_shortage([ask("few-shot-random", WATER)], 3) == ""
    assert describe_shortage([ask("zero-shot", WATER)], 3) == ""


def test_an_unknown_technique_gets_the_list() -> None:
    with pytest.raises(DLBenchError, match="zero-shot-cot") as error:
        find_technique("few-shots")
    assert "self-planning" in str(error.value)
