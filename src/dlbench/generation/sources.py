"""Read references and modules of instances from the fetched sources, and build the exact conversations that are sent.

A conversation is reused for all samples: pass@k is defined over answers to one prompt. A prompt that exceeds the
context is refused and scored as a failure of the model, so parts of it are removed in a fixed order.
"""

import math
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from dlbench.dataset import Benchmark, Instance
from dlbench.dataset.labels import Track
from dlbench.dataset.optimise import HELD_OUT, Workload, read_eligible
from dlbench.dataset.target import Target, fenced, find_target, render_signature
from dlbench.dataset.tracks import TrackBenchmark
from dlbench.errors import DLBenchError
from dlbench.generation import techniques
from dlbench.generation.model import Answer, Message, Request, Review
from dlbench.generation.sampling import draw_seed
from dlbench.generation.techniques import Conversation, Example, Question, Technique
from dlbench.generation.techniques.catalogue import PREDICTED_STAGE
from dlbench.generation.techniques.examples import ExampleDraw, ExamplePool, PredictedStages
from dlbench.parsing import parse
from dlbench.runs.samples import Sample, is_truncated
from dlbench.runs.verdict import Status, Verdict
from dlbench.workspace import fetch
from dlbench.workspace.home import Log, quiet

JudgeSample = Callable[[Sample], Awaitable[Verdict]]
CHARACTERS_PER_TOKEN = 4


def estimate_tokens(turns: techniques.Turns) -> int:
    """An estimate without the model's tokenizer; code usually has more tokens than this."""
    return math.ceil(sum(len(message["content"]) for turn in turns for message in turn) / CHARACTERS_PER_TOKEN)


def fit(technique: Technique, question: Question, examples: Sequence[Example], limit: int) -> Conversation:
    """`limit`: the maximum number of estimated tokens; 0 for none. Notes: `shots`, the ids of the examples; `cut`, what
    was removed: ids of `shots`, a number of `neighbours`, whether the `skeleton`."""
    whole, kept = question, examples
    while True:
        turns = technique.render(question, kept)
        if not limit or estimate_tokens(turns) <= limit:
            break
        if kept:
            kept = kept[:-1]
        elif question.neighbours:
            question = replace(question, neighbours=question.neighbours[:-1])
        elif question.skeleton:
            question = replace(question, skeleton="")
        else:
            break
    cut: dict[str, Any] = {}
    if len(kept) < len(examples):
        cut["shots"] = [example.instance.id for example in examples[len(kept) :]]
    if question.neighbours != whole.neighbours:
        cut["neighbours"] = len(whole.neighbours) - len(question.neighbours)
    if question.skeleton != whole.skeleton:
        cut["skeleton"] = True
    notes: dict[str, Any] = {"cut": cut} if cut else {}
    if technique.uses_examples:
        notes = {"shots": [example.instance.id for example in kept], **notes}
    return Conversation(turns, notes)


_OPTIMISE_RULES = """\
What counts:
- The behaviour stays the same: the project's tests pass, and each measured answer equals that of the code below.
  Numbers may differ by rounding; lower precision is wrong.
- Processor time of all threads is measured, from outside. Each call runs in a new process on an input that was not used
  before: nothing is kept between calls. Work on import, and work that is left for whoever reads the result, is added.
- Inputs are of the sizes below and of one more between the medium and the large one. Being slower on small inputs costs
  as much as it is slower.
- Peak memory of the call is measured, too."""


def ask_to_optimise(instance: Instance, source: str, workload: Workload) -> Instance:
    """The instance with the prompt of the track `optimise`. `source`: its module, from the user's workspace."""
    target = find_target(source, instance.qualname)
    sizes = [
        f"- {name}: {one.shape}; {'one call' if one.calls == 1 else f'{one.calls} calls with an input each'},"
        f" {1000 * one.seconds:.0f} ms"
        for name, one in workload.sizes.items()
        if name != HELD_OUT
    ]
    text = [
        "It exists already. Make it as fast as you can, and let it need less memory where that costs no time.",
        f"What it does: {instance.prompt.strip()}",
        f"The code as it is:\n\n{fenced(target.text)}",
        "Inputs on which it is measured, and its processor time:\n" + "\n".join(sizes),
        _OPTIMISE_RULES,
    ]
    return instance.model_copy(update={"prompt": "\n\n".join(text)})


@dataclass
class PromptBuilder:
    """`shots`: number of examples; `seed`: of their draw; `tokens`: limit on estimated prompt tokens, 0 for none.
    Thread-safe: concurrent calls for one instance return equal conversations."""

    technique: Technique
    pool: ExamplePool
    shots: int = 3
    seed: int = 0
    tokens: int = 6000
    canary: str = ""
    workloads: Mapping[str, Workload] = field(default_factory=dict)
    """Of the track `optimise`: what is asked is to make the function faster."""
    _built: dict[str, Conversation] = field(default_factory=dict, init=False)

    def build(self, instance: Instance) -> Conversation:
        if instance.id in self._built:
            return self._built[instance.id]
        source = self.pool.source_of(instance)
        if instance.id in self.workloads:
            instance = ask_to_optimise(instance, source, self.workloads[instance.id])
        module = parse(source)
        target = find_target(source, instance.qualname, module)
        question = techniques.make_question(instance, module, target, self.canary)
        if not self.technique.neighbours:
            question = replace(question, neighbours=())
        examples, notes = self.technique.choose(ExampleDraw(self.pool, instance, self.seed, self.shots))
        fitted = fit(self.technique, question, examples, self.tokens)
        built = Conversation(fitted.turns, {"technique": self.technique.name, **notes, **fitted.notes})
        return self._built.setdefault(instance.id, built)

    def request(
        self,
        instance: Instance,
        sample: int,
        temperature: float,
        max_tokens: int,
        seed: int,
        *,
        rounds: int = 0,
        judge: JudgeSample | None = None,
    ) -> Request:
        """`seed`: of the run. `rounds`: how often the model may answer again after feedback, which needs `judge`."""
        conversation = self.build(instance)
        first, *later = conversation.turns
        own = draw_seed(seed, instance.id, sample)
        follow_ups: list[list[Message] | Review] = [*later]
        if self.technique.feedback is not None and judge is not None:
            follow_ups += [partial(_review, instance, sample, self.technique.feedback, judge)] * rounds
        return Request(instance.id, sample, first, temperature, max_tokens, own, tuple(follow_ups), conversation.notes)


async def _review(
    instance: Instance, sample: int, feedback: Callable[[Verdict], str], judge: JudgeSample, answer: Answer
) -> tuple[Mapping[str, Any], list[Message]]:
    given = Sample(instance.id, sample, answer.text, is_truncated=is_truncated(answer.finish_reason))
    verdict = await judge(given)
    if verdict.status is Status.HARNESS_ERROR:
        verdict = await judge(given)  # once more: without a verdict the model gets no further round
    record = verdict.as_record()
    is_last = verdict.passed or verdict.status is Status.HARNESS_ERROR  # our own fault teaches the model nothing
    next_turn = [] if is_last else [techniques.user(feedback(verdict), techniques.closing(instance))]
    return {"status": record["status"], "tests": record["tests"]}, next_turn


def describe_shortage(conversations: Iterable[Conversation], shots: int) -> str:
    """A warning if instances get fewer examples than requested, else "": it changes what a few-shot score means."""
    counts = [len(found.notes["shots"]) for found in conversations if "shots" in found.notes]
    fewer, none = sum(count < shots for count in counts), sum(count == 0 for count in counts)
    return f"{fewer} of {len(counts)} instances have fewer than {shots} examples, {none} have none" if fewer else ""


class Sources:
    def __init__(self, benchmark: Benchmark, log: Log = quiet) -> None:
        self.benchmark = benchmark
        self._log = log
        self._texts: dict[tuple[str, str], str] = {}

    def module(self, instance: Instance) -> str:
        key = instance.project, instance.path
        if key not in self._texts:
            tree = fetch(self.benchmark.project_of(instance), self.benchmark.root, self._log)
            self._texts[key] = (tree / instance.path).read_text(encoding="utf-8")
        return self._texts[key]

    def reference(self, instance_id: str) -> str:
        return self._target(instance_id).text

    def signature(self, instance_id: str) -> str:
        return render_signature(self._target(instance_id).node, decorators=False)

    def _target(self, instance_id: str) -> Target:
        instance = self.benchmark.instances[instance_id]
        return find_target(self.module(instance), instance.qualname)


def make_prompt_builder(
    sources: Sources,
    technique: str,
    shots: int,
    seed: int,
    prompt_tokens: int,
    *,
    canary: bool = False,
    stages: Path | None = None,
) -> PromptBuilder:
    benchmark = sources.benchmark
    mark = find_canary(benchmark) if canary else ""
    if stages is not None and technique != PREDICTED_STAGE:
        fix = f"add --technique {PREDICTED_STAGE}, or remove --predicted-stages"
        raise DLBenchError(f"--predicted-stages requires --technique {PREDICTED_STAGE}, not {technique}", fix=fix)
    pool = ExamplePool(benchmark.instances.values(), sources.module, PredictedStages(stages) if stages else None)
    workloads = read_eligible(benchmark.root) if benchmark.track is Track.OPTIMISE else {}
    return PromptBuilder(techniques.find_technique(technique), pool, shots, seed, prompt_tokens, mark, workloads)


def find_canary(benchmark: TrackBenchmark) -> str:
    if not benchmark.canary:
        fix = "write a unique string to its file CANARY, or remove --canary"
        raise DLBenchError("the benchmark has no canary", where=str(benchmark.root), fix=fix)
    return benchmark.canary
