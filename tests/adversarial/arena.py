"""Judge hostile candidates with a pool, as a run does: all on a toy project in warm mode, a part in fresh mode and with
torch."""

import os
import tempfile
from dataclasses import replace
from pathlib import Path

from dlbench.dataset import Benchmark, Instance, load
from dlbench.dataset.target import render_signature
from dlbench.execution import Engine, Limits, choose_sandbox
from dlbench.execution.limits import JudgeOptions
from dlbench.execution.pool import Pool, Task
from dlbench.runs.verdict import Verdict
from dlbench.workspace import prepare
from tests.adversarial.cheats import CHEATS
from tests.adversarial.hostile import BODIES
from tests.conftest import write_toy

VERDICTS = {candidate.name: candidate.verdicts for candidate in [*CHEATS, *BODIES]}
PART = {cheat.name for number, cheat in enumerate(CHEATS) if number % 3 == 0 or "torch" in cheat.code}
PART |= {hostile.name for hostile in BODIES}
TORCH = "pytorch-optimizer/pytorch_optimizer.loss.dice.DiceLoss.forward"
LIMITS = Limits(load_seconds=180, test_seconds=90, memory_mb=512, processes=64, file_mb=32)
# seconds for the tests of a candidate that may end in a timeout; all others get the limit above, which a busy machine
# does not reach
SHORT = {"toy": 2, "torch": 10}


def open_project(name: str) -> tuple[Benchmark, Instance]:
    if name == "toy":
        benchmark = load(write_toy(Path(tempfile.mkdtemp(prefix="dlbench-arena-"))))
        return benchmark, benchmark.instances["toy/toy.core.scale"]
    benchmark = load()
    return benchmark, benchmark.instances[TORCH]


def write_answers(signature: str, right: str, *, with_cheats: bool) -> dict[str, str]:
    """Hostile answers by name. `right`: the body of a correct solution, which follows the hostile statements."""
    cheats = CHEATS if with_cheats else []
    answers = {cheat.name: cheat.code.replace("{signature}", signature) for cheat in cheats}
    for hostile in BODIES:
        body = "".join(f"    {line}\n" for line in hostile.body.split("\n"))
        answers[hostile.name] = f"{signature}\n{body}{right}"
    return answers


def judge_all(project: str, mode: str, sandbox: str = "auto") -> dict[str, Verdict]:
    """All candidates where it is the toy project in warm mode, otherwise those of `PART`."""
    benchmark, instance = open_project(project)
    prepared = prepare(benchmark.projects[instance.project], benchmark.root)
    limits = LIMITS if project == "toy" else replace(LIMITS, memory_mb=1024)
    engine = Engine(choose_sandbox(sandbox), limits)
    signature = render_signature(engine.target(prepared, instance).target.node, decorators=False)
    right = "    if factor == 0:\n        raise ValueError\n    return [value * factor for value in values]\n"
    answers = write_answers(
        signature, right if project == "toy" else "    return None\n", with_cheats=sandbox == "auto"
    )
    if (project, mode) != ("toy", "auto"):
        answers = {name: code for name, code in answers.items() if name in PART}
    # beside the tests, so that the guards inside the process are tried: a replay alone would reject most of these
    options = JudgeOptions(watched=True)
    tasks = [Task(instance, answer, number, name, options) for number, (name, answer) in enumerate(answers.items())]
    found: dict[str, Verdict] = {}
    for is_short in (False, True):
        part = [task for task in tasks if ("timeout" in VERDICTS[task.name]) == is_short]
        used = replace(limits, test_seconds=SHORT[project]) if is_short else limits
        pool = Pool(
            Engine(engine.confinement, used), {instance.project: prepared}, workers=os.cpu_count() or 1, mode=mode
        )
        pool.run(part, lambda task, verdict: found.update({task.name: verdict}))
    return found
