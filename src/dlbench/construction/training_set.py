"""Build the training set: its facts are in the repository, its prompts come from the fetched sources.

The repository must not contain docstrings, so each user's machine makes the prompts. The benchmark has none of these
projects and no near copy of these functions, so that it still measures a model that was trained on them.
"""

import ast
import shutil
from pathlib import Path

from dlbench.construction.write_instances import write_instance
from dlbench.dataset import Benchmark, Instance
from dlbench.dataset.target import Target, find_target
from dlbench.dataset.validation import RULES_FILE
from dlbench.errors import DLBenchError
from dlbench.generation.sources import Sources
from dlbench.jsonl import write_whole
from dlbench.workspace.home import Log, building, locked

PLACEHOLDER = "`dlbench train-set build` writes the prompt from the documentation in the fetched source.\n"
"""The prompt of every instance as the repository stores it."""
FEWEST_WORDS = 12
"""A shorter docstring is completed by that of the class."""


def write_prompt(target: Target) -> str:
    """What the documentation says of the function; empty if it says too little to write the function."""
    own = (target.docstring or "").strip()
    parts = [f"Its documentation:\n\n{own}\n"] if own else []
    if len(own.split()) < FEWEST_WORDS and target.classes:
        node = target.classes[-1]
        if of_class := (ast.get_docstring(node) or "").strip():
            parts.append(f"The documentation of the class `{node.name}`:\n\n{of_class}\n")
    prompt = "\n".join(parts)
    return prompt if len(prompt.split()) >= FEWEST_WORDS else ""


def build_training_set(facts: Benchmark, out: Path, log: Log) -> None:
    """Write an ordinary benchmark folder; it gets its name only when it is complete."""
    if out.exists():
        fix = "use it with --set or --benchmark; to build it again, remove it first"
        raise DLBenchError("the folder exists already", where=str(out), fix=fix)
    sources = Sources(facts, log)
    instances = [_complete(instance, sources) for instance in facts.instances.values()]
    with locked(f"training-{out.name}", log), building(out) as folder:
        shutil.copytree(facts.root, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("instances"))
        write_whole(folder / RULES_FILE, "docstring_prompts = true\n")
        for instance in instances:
            write_instance(instance, folder)


def _complete(instance: Instance, sources: Sources) -> Instance:
    target = find_target(sources.module(instance), instance.qualname)
    prompt = write_prompt(target)
    if target.sha256 != instance.sha256 or not prompt:
        what = "the function has changed or has no documentation"
        raise DLBenchError(what, where=instance.id, fix="check the facts with `dlbench check --benchmark FACTS`")
    return instance.model_copy(update={"prompt": prompt})
