"""inspect's mock model, made to answer our instances; it reports usage, since counting tokens would need a network."""

from collections.abc import Callable
from pathlib import Path

from inspect_ai import Task, eval
from inspect_ai.log import EvalLog
from inspect_ai.model import ChatMessage, ModelOutput, ModelUsage, get_model

from dlbench.dataset import Instance

Answer = Callable[[list[ChatMessage]], str]


def mock(answer: Answer):
    def respond(messages, tools, choice, config):
        output = ModelOutput.from_content(model="mock", content=answer(messages))
        output.usage = ModelUsage(input_tokens=100, output_tokens=20, total_tokens=120)
        return output

    return get_model("mockllm/model", custom_outputs=respond, memoize=False)


def find_instance(messages: list[ChatMessage], instances: list[Instance]) -> Instance:
    """By what the mock is told and nothing else."""
    prompt = next(message.text for message in reversed(messages) if "Signature:" in message.text)
    (found,) = [one for one in instances if one.prompt.strip() in prompt and f"Module: {one.module}\n" in prompt]
    return found


def run(task: Task | str, answer: Answer, logs: Path, **options) -> EvalLog:
    (log,) = eval(task, model=mock(answer), log_dir=str(logs), display="none", **options)
    assert log.status == "success", log.error
    return log


def accuracy(log: EvalLog, reducer: str | None = None) -> float:
    scores = [score for score in log.results.scores if reducer is None or score.reducer == reducer]
    return scores[0].metrics["accuracy"].value
