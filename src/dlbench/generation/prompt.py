"""What exactly is a model asked?

Our own words, the signature and what surrounds the target; never the project's docstring or code of the solution, which
the model may have seen.
"""

from dlbench.dataset.prompt_context import fenced
from dlbench.dataset.records import Instance
from dlbench.generation.model import Message

SYSTEM = (
    "You write Python for deep-learning projects. Answer with one Python code block that contains the complete "
    "definition asked for. Helper functions and imports are allowed in the same block. "
    "Write no tests, no examples and no explanations."
)


def zero_shot(instance: Instance, signature: str, context: str, canary: str = "") -> list[Message]:
    """`context`: what the module gives the target, its imports and the skeleton of its class; may be empty. `canary`:
    a string to find copies of the prompt by."""
    text = f"{describe(instance, signature, context, canary)}\n\n{closing(instance)}"
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}]


def describe(instance: Instance, signature: str, context: str, canary: str = "") -> str:
    """The task itself, without a word on what to do with it; as `zero_shot` shows it."""
    parts = [f"Benchmark data, not to be trained on. Canary: {canary}"] if canary else []
    parts += [
        f"Project: {instance.project}\nModule: {instance.module}\nWrite the {kind_of(instance)}.",
        instance.prompt.strip(),
        f"Signature:\n\n{fenced(signature)}",
    ]
    if context.strip():
        parts.append(f"What the module already has:\n\n{fenced(context)}")
    return "\n\n".join(parts)


def closing(instance: Instance) -> str:
    return f"Now write the complete definition of `{instance.name}` in one Python code block."


def kind_of(instance: Instance) -> str:
    owner = instance.qualname.rpartition(".")[0]
    return f"method `{instance.name}` of the class `{owner}`" if owner else f"function `{instance.name}`"
