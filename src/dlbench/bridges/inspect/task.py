"""What does inspect ask? Exactly what `dlbench run` asks with the same options, and as hot and as long as it does.

The reference is never part of it: a log is a file that people pass on, and it would hold the projects' own code.
"""

from inspect_ai import Epochs, Task, task
from inspect_ai.dataset import MemoryDataset
from inspect_ai.dataset import Sample as InspectSample
from inspect_ai.model import GenerateConfig

from dlbench import __version__
from dlbench.bridges.inspect.judge import JudgeSettings, find_judge
from dlbench.bridges.inspect.scorer import verdict
from dlbench.bridges.inspect.solvers import LATER_TURNS, as_chat, converse
from dlbench.dataset import Instance, Selection, select
from dlbench.errors import DLBenchError
from dlbench.generation.sources import Sources, make_asker
from dlbench.generation.techniques import PromptBuilder
from dlbench.scoring.summary import KS


@task
def dl_bench(
    split: str = "full",
    technique: str = "zero-shot",
    samples: int = 1,
    shots: int = 3,
    prompt_tokens: int = 6000,
    seed: int = 0,
    canary: bool = False,
    benchmark: str | None = None,
    sandbox: str = "auto",
    mode: str = "auto",
    timeout: float = 60.0,
    memory: int = 4096,
    workers: int | None = None,
) -> Task:
    """One function of a real deep-learning project at a time, judged by the project's own tests.

    Options as those of `dlbench run`; `samples` becomes epochs, and with more than one pass@k is told too.
    """
    if samples < 1:
        raise DLBenchError("there must be a sample at least", mend="give -T samples=1 or more")
    judge = find_judge(JudgeSettings(benchmark, sandbox, mode, timeout, memory, workers))
    whole = judge.benchmark
    chosen = select(whole, Selection(split=split))
    for project in dict.fromkeys(instance.project for instance in chosen):
        judge.prepare(project, print)
    asker = make_asker(Sources(whole), technique, shots, seed, prompt_tokens, canary=canary)
    return Task(
        dataset=MemoryDataset([make_sample(instance, asker) for instance in chosen], name=f"dlbench {split}"),
        solver=converse(),
        scorer=verdict(benchmark, sandbox, mode, timeout, memory, workers),
        epochs=Epochs(samples, ["mean", *(f"pass_at_{k}" for k in KS if 1 < k <= samples)]),
        config=GenerateConfig(temperature=0.0, max_tokens=1024),
        version=str(whole.version),
        metadata={"dlbench": __version__, "benchmark": str(whole.version)},
    )


def make_sample(instance: Instance, asker: PromptBuilder) -> InspectSample:
    conversation = asker.ask(instance)
    first, *later = conversation.turns
    facts = {"project": instance.project} | {axis: str(label) for axis, label in instance.labels.model_dump().items()}
    notes = dict(conversation.notes) | ({LATER_TURNS: later} if later else {})
    return InspectSample(id=instance.id, input=as_chat(first), metadata=facts | notes)
