"""What do the fetched sources say of an instance: its reference, its signature, its surroundings?

None of it is stored in the repository, so whatever asks a model or shows a solution reads it here, from the release
that the project's record pins.
"""

from pathlib import Path

from dlbench.dataset import Benchmark, Instance
from dlbench.dataset.target import find_target, render_signature
from dlbench.errors import DLBenchError
from dlbench.generation.techniques import ExamplePool, PredictedStages, PromptBuilder, Settings, find_technique
from dlbench.generation.techniques.few_shot import FEW_SHOT_PREDICTED_STAGE as PREDICTED
from dlbench.workspace import fetch
from dlbench.workspace.home import Log, quiet


class Sources:
    def __init__(self, benchmark: Benchmark, log: Log = quiet) -> None:
        self.benchmark = benchmark
        self._say = log
        self._texts: dict[tuple[str, str], str] = {}

    def module(self, instance: Instance) -> str:
        place = instance.project, instance.path
        if place not in self._texts:
            tree = fetch(self.benchmark.project_of(instance), self.benchmark.root, self._say)
            self._texts[place] = (tree / instance.path).read_text(encoding="utf-8")
        return self._texts[place]

    def reference(self, instance_id: str) -> str:
        instance = self.benchmark.instances[instance_id]
        return find_target(self.module(instance), instance.qualname).text

    def signature(self, instance_id: str) -> str:
        instance = self.benchmark.instances[instance_id]
        target = find_target(self.module(instance), instance.qualname)
        return render_signature(target.node, decorators=False)


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
    if canary and not benchmark.canary:
        fix = "write a string that stands nowhere else into its file CANARY, or leave out --canary"
        raise DLBenchError("the benchmark has no canary", where=str(benchmark.root), fix=fix)
    if stages is not None and technique != PREDICTED.name:
        fix = f"add --technique {PREDICTED.name}, or leave out --predicted-stages"
        raise DLBenchError(f"{technique} takes no predicted stages", fix=fix)
    settings = Settings(shots, seed, prompt_tokens, benchmark.canary if canary else "")
    shelf = ExamplePool(benchmark.instances.values(), sources.module, PredictedStages(stages) if stages else None)
    return PromptBuilder(find_technique(technique), shelf, settings)
