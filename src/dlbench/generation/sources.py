"""Read references, signatures and modules of instances from the fetched sources; none is stored in the repository."""

from pathlib import Path

from dlbench.dataset import Benchmark, Instance
from dlbench.dataset.target import Target, find_target, render_signature
from dlbench.errors import DLBenchError
from dlbench.generation.techniques import find_technique
from dlbench.generation.techniques.build import PromptBuilder
from dlbench.generation.techniques.catalogue import PREDICTED_STAGE
from dlbench.generation.techniques.examples import ExamplePool, PredictedStages
from dlbench.workspace import fetch
from dlbench.workspace.home import Log, quiet


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
    if canary and not benchmark.canary:
        fix = "write a unique string to its file CANARY, or remove --canary"
        raise DLBenchError("the benchmark has no canary", where=str(benchmark.root), fix=fix)
    if stages is not None and technique != PREDICTED_STAGE:
        fix = f"add --technique {PREDICTED_STAGE}, or remove --predicted-stages"
        raise DLBenchError(f"--predicted-stages requires --technique {PREDICTED_STAGE}, not {technique}", fix=fix)
    pool = ExamplePool(benchmark.instances.values(), sources.module, PredictedStages(stages) if stages else None)
    mark = benchmark.canary if canary else ""
    return PromptBuilder(find_technique(technique), pool, shots, seed, prompt_tokens, mark)
