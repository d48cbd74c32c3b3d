"""Every technique shows the whole task, nothing of the solution, and records what it showed."""

import ast
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlbench.dataset.target import find_target, render_signature
from dlbench.errors import DLBenchError
from dlbench.generation.sources import PromptBuilder, describe_shortage, estimate_tokens
from dlbench.generation.techniques import SYSTEM, TECHNIQUES, Conversation, Technique, add_technique, find_technique
from dlbench.generation.techniques.catalogue import read_warnings
from dlbench.generation.techniques.examples import ExamplePool
from dlbench.generation.techniques.explain import explain
from tests.generation.library import INSTANCES, SOURCES, example_pool, source_of

FEW_SHOT = [name for name, technique in TECHNIQUES.items() if technique.uses_examples]
HARVEST = "plants/plants.Garden.harvest"
WATER = "plants/plants.water"


POOL = example_pool()


def build(technique: str, instance_id: str, **settings: int | str) -> Conversation:
    return PromptBuilder(find_technique(technique), POOL, **settings).build(INSTANCES[instance_id])


def texts(conversation: Conversation) -> list[str]:
    return [message["content"] for turn in conversation.turns for message in turn]


def body_lines(instance_id: str) -> list[str]:
    """The lines of the reference's body."""
    instance = INSTANCES[instance_id]
    body = find_target(source_of(instance), instance.qualname).node.body
    lines = "\n".join(ast.unparse(statement) for statement in body).splitlines()
    return [line.strip() for line in lines if len(re.findall(r"\w+", line)) > 2]


@pytest.mark.parametrize("instance_id", INSTANCES)
@pytest.mark.parametrize("technique", TECHNIQUES)
def test_task_is_complete_and_solution_is_not_shown(technique: str, instance_id: str) -> None:
    instance = INSTANCES[instance_id]
    built = build(technique, instance_id)
    everything = "\n".join(texts(built))
    target = find_target(source_of(instance), instance.qualname)
    assert instance.prompt in everything
    assert render_signature(target.node) in everything
    assert f"complete definition of `{instance.name}` in one Python code block" in built.turns[-1][-1]["content"]
    assert not [line for line in body_lines(instance_id) if line in everything]
    assert not target.docstring or target.docstring not in everything
    assert built.turns[0][0]["role"] == "system"
    assert all(turn[-1]["role"] == "user" for turn in built.turns)
    assert built.notes["technique"] == technique


def test_zero_shot_prompt_is_unchanged() -> None:
    context = "import math\nfrom plants.soil import Soil\n\n\n" + "\n".join([
        "class Garden(Soil):",
        "    size: int = 3",
        "    def __init__(self, beds): ...",
        "        # sets self.beds",
        "        # sets self.count",
        "    def harvest(self, day, *, strict=False):  # the one to write",
        "    def prune(self): ...",
    ])  # fmt: skip
    text = (
        "Project: plants\nModule: plants\nWrite the method `harvest` of the class `Garden`.\n\n"
        f"{INSTANCES[HARVEST].prompt}\n\nSignature:\n\n```python\ndef harvest(self, day, *, strict=False):\n```\n\n"
        f"What the module already has:\n\n```python\n{context}\n```\n\n"
        "Now write the complete definition of `harvest` in one Python code block."
    )
    assert build("zero-shot", HARVEST).turns == [
        [{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}]
    ]


@pytest.mark.parametrize("technique", FEW_SHOT)
@pytest.mark.parametrize("seed", range(5))
def test_neither_the_instance_nor_a_copy_is_an_example(technique: str, seed: int) -> None:
    """`sprinkle` is `water` under other names and with another prompt; its body would be the answer."""
    for instance_id, copy in ((WATER, "plants/plants.sprinkle"), ("plants/plants.sprinkle", WATER)):
        built = build(technique, instance_id, seed=seed, shots=9)
        assert not {instance_id, copy} & set(built.notes["shots"])


def test_instance_with_a_similar_prompt_is_no_example() -> None:
    score, rank = INSTANCES["clouds/clouds.score"], INSTANCES["rivers/rivers.rank"]
    assert rank in example_pool().others(score)
    twin = rank.model_copy(update={"prompt": score.prompt.replace("Measure", "Compute")})
    built = PromptBuilder(find_technique("few-shot-random"), example_pool(rank=twin), shots=20).build(score)
    assert twin.id not in built.notes["shots"]
    assert len(built.notes["shots"]) == len(INSTANCES) - 2


def stages(conversation: Conversation) -> set[str]:
    return {str(INSTANCES[shot].labels.stage) for shot in conversation.notes["shots"]}


def projects(conversation: Conversation) -> set[str]:
    return {INSTANCES[shot].project for shot in conversation.notes["shots"]}


def test_examples_have_the_stage_or_project_of_the_technique() -> None:
    assert stages(build("few-shot-same-stage", "plants/plants.Garden.prune")) == {"training"}
    assert projects(build("few-shot-same-project", HARVEST)) == {"plants"}
    assert projects(build("few-shot-other-projects", HARVEST, shots=9)) == {"clouds", "rivers"}
    predicted = build("few-shot-predicted-stage", "rivers/rivers.rank")
    assert stages(predicted) == {predicted.notes["predicted_stage"]} == {"evaluation_metrics"}


def test_predicted_stage_does_not_use_the_label() -> None:
    rank = INSTANCES["rivers/rivers.rank"]
    labels = rank.labels.model_copy(update={"stage": "inference"})
    mislabelled = rank.model_copy(update={"labels": labels})
    notes = (
        PromptBuilder(find_technique("few-shot-predicted-stage"), example_pool(rank=mislabelled))
        .build(mislabelled)
        .notes
    )
    assert notes["predicted_stage"] == "evaluation_metrics"


def test_draw_depends_only_on_the_seed() -> None:
    draws = [tuple(build("few-shot-random", HARVEST, seed=seed).notes["shots"]) for seed in (0, 0, 1, 2, 3)]
    assert draws[0] == draws[1]
    assert len(set(draws)) > 2
    reversed_pool = ExamplePool(list(INSTANCES.values())[::-1], source_of)
    again = PromptBuilder(find_technique("few-shot-random"), reversed_pool).build(INSTANCES[HARVEST])
    assert tuple(again.notes["shots"]) == draws[0]


def test_example_is_a_question_answered_by_its_reference() -> None:
    built = build("few-shot-same-project", "plants/plants.Garden.prune", shots=9)
    (turn,) = built.turns
    assert [message["role"] for message in turn] == ["system", *["user", "assistant"] * 3, "user"]
    place = 1 + 2 * built.notes["shots"].index(HARVEST)
    assert INSTANCES[HARVEST].prompt in turn[place]["content"]
    answer = turn[place + 1]["content"]
    assert answer.startswith("```python\ndef harvest(self, day, *, strict=False):\n    if strict")
    assert "".join(texts(built)).count("Gives every plant its water") == 0, "the docstring is not shown"


def test_reasoning_of_examples_precedes_their_code() -> None:
    built = build("few-shot-cot", "rivers/rivers.depth", shots=9)
    place = 2 + 2 * built.notes["shots"].index("clouds/clouds.fit")
    reasoning, code = built.turns[0][place]["content"].split("\n\n```python\n")
    assert reasoning.splitlines() == [
        "1. I am given `model`, `rows` and `rate`.",
        "2. For each `row`, `target` of `rows`, I work out `model.weights`.",
        "3. I give back `model`.",
    ]
    assert code.startswith("def fit")
    assert "think step by step" in built.turns[0][-1]["content"]


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
def test_every_function_can_be_explained(function: str) -> None:
    lines = explain(function).splitlines()
    assert [line.split(". ")[0] for line in lines] == [str(number) for number in range(1, len(lines) + 1)]
    assert all(line.endswith(".") for line in lines)


def test_chain_of_thought_allows_explanations() -> None:
    system, user = build("zero-shot-cot", WATER).turns[0]
    assert "no explanations" not in system["content"]
    assert user["content"].endswith(
        "Let's think step by step, and then write the complete definition of `water` in one Python code block."
    )


def test_self_planning_requests_a_plan_before_code() -> None:
    plan, code = build("self-planning", WATER).turns
    assert "Do not write code yet" in plan[-1]["content"]
    assert "code block" not in "".join(message["content"] for message in plan)
    assert [message["role"] for message in code] == ["user"]
    assert "one Python code block" in code[0]["content"]


def test_guided_lists_avoidable_bugs_by_frequency() -> None:
    text = build("guided", WATER).turns[0][-1]["content"]
    places = [text.index(warning) for warning in read_warnings()]
    assert len(places) >= 10
    assert places == sorted(places)
    assert "misread" in read_warnings()[0]


def test_module_context_adds_signatures_without_bodies() -> None:
    text = build("module-context", WATER).turns[0][-1]["content"]
    assert "def sprinkle(doses, most=10): ..." in text
    assert (
        "class Garden(Soil):\n    def __init__(self, beds): ...\n    def harvest(self, day, *, strict=False): ..."
        in text
    )
    assert not [line for other in INSTANCES for line in body_lines(other) if line in text]
    assert "def sprinkle" not in build("zero-shot", WATER).turns[0][-1]["content"]


@given(st.sampled_from(sorted(TECHNIQUES)), st.sampled_from(sorted(INSTANCES)), st.integers(1, 2000))
@settings(max_examples=100)
def test_token_limit_cuts_in_order_and_never_the_task(technique: str, instance_id: str, tokens: int) -> None:
    whole, built = build(technique, instance_id, tokens=0), build(technique, instance_id, tokens=tokens)
    cut = built.notes.get("cut", {})
    instance = INSTANCES[instance_id]
    everything = "\n".join(texts(built))
    assert instance.prompt in everything
    assert all(
        line in everything for line in SOURCES[instance.project].splitlines() if line.startswith(("import", "from"))
    )
    assert bool(cut) == (built.turns != whole.turns)
    if estimate_tokens(whole.turns) <= tokens:
        assert not cut
    requested, kept = whole.notes.get("shots", []), built.notes.get("shots", [])
    assert kept == requested[: len(kept)]
    assert cut.get("shots", []) == requested[len(kept) :]
    assert not kept or not set(cut) & {"neighbours", "skeleton"}
    if "skeleton" in cut:
        assert "..." not in built.turns[0][-1]["content"], "neighbours are cut before the skeleton"
    if estimate_tokens(built.turns) > tokens:
        assert not kept
        assert "\nclass " not in built.turns[0][-1]["content"], "the skeleton is cut last"


def test_estimate_is_a_quarter_of_the_characters_rounded_up() -> None:
    turns = [[{"role": "user", "content": "a" * 9}], [{"role": "user", "content": "é" * 4}]]
    assert estimate_tokens(turns) == 4
    assert estimate_tokens([]) == 0


def test_canary_is_in_the_question_only() -> None:
    built = build("few-shot-random", WATER, canary="nowhere-else")
    assert "Canary: nowhere-else" in built.turns[0][-1]["content"]
    assert "".join(texts(built)).count("nowhere-else") == 1


def test_shortage_of_examples_is_described() -> None:
    short = [build("few-shot-same-stage", instance_id) for instance_id in INSTANCES]
    assert describe_shortage(short, 3) == "9 of 9 instances have fewer than 3 examples, 2 have none"
    assert describe_shortage([build("few-shot-random", WATER)], 3) == ""
    assert describe_shortage([build("zero-shot", WATER)], 3) == ""


def test_unknown_technique_lists_the_known_ones() -> None:
    with pytest.raises(DLBenchError, match="zero-shot-cot") as error:
        find_technique("few-shots")
    assert "self-planning" in str(error.value)


def test_registered_technique_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """One call adds a technique: no list elsewhere names it."""
    monkeypatch.setattr(TECHNIQUES, "_members", {name: (100, technique) for name, technique in TECHNIQUES.items()})
    add_technique(Technique("shout", "the task in capitals", TECHNIQUES["zero-shot"].render), order=0)
    assert next(iter(TECHNIQUES)) == "shout"
    assert build("shout", WATER).turns == build("zero-shot", WATER).turns
