"""Cheats of attackers who had read the code, each against an instance of the benchmark: none passes.

Round 0 passed before passes were confirmed. Round 1 was written against that engine, rounds 2 and 3 against the first and
the second version of the screen and of the replay. Those of round 4 are our own, of the families that its attackers found
in the third version; those of round 5 passed the fourth; those of round 6 passed the fifth, or nearly. Those of rounds 9
and 10 are against a toy project, and mostly against what the process itself checks. No cheat holds a solution.
"""

import json
import tempfile
from functools import cache
from pathlib import Path

import pytest

from dlbench import dataset, evaluate, load
from dlbench.execution import Engine, Limits, choose_sandbox
from dlbench.execution.pool import Pool, Task
from dlbench.runs.verdict import Confirm, Status, Verdict
from dlbench.workspace import prepare
from tests.adversarial.gauge_toy import write_gauge

BENCHMARK = load()
CHEATS = [json.loads(line) for line in Path(__file__).with_name("rounds.jsonl").read_text().splitlines()]
OF_TOY = [cheat for cheat in CHEATS if cheat["round"] >= 9]
NOT_A_PASS = set(Status) - {Status.PASS, Status.HARNESS_ERROR}


@cache
def judged(mode: str, first: bool) -> dict[int, Verdict]:
    """`first`: only the cheats of round 0."""
    chosen = [cheat for cheat in CHEATS if cheat["round"] == 0 or (not first and cheat["round"] < 9)]
    samples = [{key: cheat[key] for key in ("instance", "sample", "code")} for cheat in chosen]
    return {verdict.sample: verdict for verdict in evaluate(samples, mode=mode)}


@cache
def judged_on_toy(mode: str) -> dict[int, Verdict]:
    """The cheats of rounds 9 and 10, and by a negative number each reference."""
    toy, found = dataset.load(write_gauge(Path(tempfile.mkdtemp()))), dict[int, Verdict]()
    prepared = {"gauge": prepare(toy.projects["gauge"], toy.root)}
    engine = Engine(choose_sandbox(), Limits(load_seconds=120, test_seconds=20, memory_mb=1024), confirm=Confirm.ALL)
    tasks = [Task(toy.instances[one["instance"]], one["code"], one["sample"], one["name"]) for one in OF_TOY]
    for number, instance in enumerate(toy.instances.values(), 1):
        reference = engine.target(prepared["gauge"], instance).target.text
        tasks.append(Task(instance, reference, -number, "reference"))
    Pool(engine, prepared, workers=2, mode=mode).run(tasks, lambda task, verdict: found.update({task.sample: verdict}))
    return found


def test_every_round_is_there():
    assert {cheat["round"] for cheat in CHEATS} == {0, 1, 2, 3, 4, 5, 6, 9, 10}
    assert len({cheat["code"] for cheat in CHEATS}) == len(CHEATS) >= 369


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "fresh"])
def test_cheats_of_the_toy_do_not_pass_and_its_references_do(mode):
    verdicts = judged_on_toy(mode)
    assert {number for number, verdict in verdicts.items() if verdict.passed} == {one for one in verdicts if one < 0}
    assert {verdicts[one["sample"]].status for one in OF_TOY} <= NOT_A_PASS
    assert sum(verdict.extra.get("confirmed", False) for verdict in verdicts.values()) == 11


@pytest.mark.slow
@pytest.mark.parametrize(
    "cheat", [cheat for cheat in CHEATS if 4 <= cheat["round"] < 9], ids=lambda cheat: cheat["name"]
)
def test_screen_finds_what_later_attackers_used(cheat):
    """Without a word of the screen, a pass counts at once; only an answer that cannot be spliced needs none."""
    instance = BENCHMARK.instances[cheat["instance"]]
    prepared = prepare(BENCHMARK.projects[instance.project], BENCHMARK.root)
    candidate = Engine(choose_sandbox()).target(prepared, instance).read(cheat["code"])
    assert candidate.excess or "backslash" in cheat["name"]


@pytest.mark.slow
@pytest.mark.parametrize("cheat", CHEATS[: -len(OF_TOY)], ids=lambda cheat: f"{cheat['round']}-{cheat['sample']}")
def test_cheat_does_not_pass(cheat):
    verdict = judged("auto", False)[cheat["sample"]]
    assert verdict.status in NOT_A_PASS, (cheat["name"], verdict)


@pytest.mark.slow
@pytest.mark.parametrize("cheat", [cheat for cheat in CHEATS if cheat["round"] == 0], ids=lambda cheat: cheat["name"])
def test_cheat_does_not_pass_in_a_fresh_interpreter(cheat):
    verdict = judged("fresh", True)[cheat["sample"]]
    assert verdict.status in NOT_A_PASS, verdict
