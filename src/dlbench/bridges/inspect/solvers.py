"""How does inspect ask what a technique wants asked?

A technique has one turn or several; the first is the sample's input, and the others stand in its metadata. `baseline`
asks nobody: it gives the best and the worst answer, to see that a set-up scores them 1 and 0.
"""

from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageSystem, ChatMessageUser, ModelOutput
from inspect_ai.solver import Generate, Solver, TaskState, solver

from dlbench.bridges.inspect.judge import read_benchmark
from dlbench.errors import DLBenchError
from dlbench.generation import Message, ReferenceModel, Request, StubModel
from dlbench.generation.sources import Sources

LATER_TURNS = "later_turns"


def as_chat(messages: list[Message]) -> list[ChatMessage]:
    kinds: dict[str, type[ChatMessage]] = {
        "system": ChatMessageSystem,
        "user": ChatMessageUser,
        "assistant": ChatMessageAssistant,
    }
    return [kinds[message["role"]](content=message["content"]) for message in messages]


@solver
def converse() -> Solver:
    """Asks every turn after the answer to the one before; the last answer counts."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state = await generate(state)
        for turn in state.metadata.get(LATER_TURNS, []):
            if state.output.stop_reason == "model_length":  # what was too long once is not tried with more
                break
            state.messages.extend(as_chat(turn))
            state = await generate(state)
        return state

    return solve


@solver
def baseline(name: str = "reference", benchmark: str | None = None) -> Solver:
    """Answers with the project's own code (`reference`) or with a function that does nothing (`stub`)."""
    sources = Sources(read_benchmark(benchmark))
    models = {"reference": ReferenceModel(sources.reference), "stub": StubModel(sources.signature)}
    if name not in models:
        raise DLBenchError(f"there is no baseline {name!r}", mend=f"use one of: {', '.join(models)}")

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        answer = await models[name].answer(Request(str(state.sample_id), state.epoch - 1, []))
        state.output = ModelOutput.from_content(model=name, content=answer.text)
        state.messages.append(state.output.message)
        return state

    return solve
