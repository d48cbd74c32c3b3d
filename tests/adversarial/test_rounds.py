"""Cheats of attackers who had read the code, each against an instance of the benchmark: none passes.

Round 0 passed before passes were confirmed. Round 1 was written against that engine, rounds 2 and 3 against the first and
the second version of the screen and of the replay. Those of round 4 are our own, of the families that its attackers found
in the third version; those of round 5 passed the fourth; those of round 6 passed the fifth, or nearly. No cheat holds a
solution.
"""

import json
from functools import cache
from pathlib import Path

import pytest

from dlbench import evaluate, load
from dlbench.execution import Engine, choose_sandbox
from dlbench.runs.verdict import Status, Verdict
from dlbench.workspace import prepare

BENCHMARK = load()
CHEATS = [json.loads(line) for line in Path(__file__).with_name("rounds.jsonl").read_text().splitlines()]
NOT_A_PASS = set(Status) - {Status.PASS, Status.HARNESS_ERROR}


@cache
def judged(mode: str, first: bool) -> dict[int, Verdict]:
    """`first`: only the cheats of round 0."""
    chosen = [cheat for cheat in CHEATS if not first or cheat["round"] == 0]
    samples = [{key: cheat[key] for key in ("instance", "sample", "code")} for cheat in chosen]
    return {verdict.sample: verdict for verdict in evaluate(samples, mode=mode)}


def test_every_round_is_there():
    assert {cheat["round"] for cheat in CHEATS} == {0, 1, 2, 3, 4, 5, 6}
    assert len({cheat["code"] for cheat in CHEATS}) == len(CHEATS) >= 343


@pytest.mark.slow
@pytest.mark.parametrize("cheat", [cheat for cheat in CHEATS if cheat["round"] >= 4], ids=lambda cheat: cheat["name"])
def test_screen_finds_what_later_attackers_used(cheat):
    """Without a word of the screen, a pass counts at once; only an answer that cannot be spliced needs none."""
    instance = BENCHMARK.instances[cheat["instance"]]
    prepared = prepare(BENCHMARK.projects[instance.project], BENCHMARK.root)
    candidate = Engine(choose_sandbox()).target(prepared, instance).read(cheat["code"])
    assert candidate.excess or "backslash" in cheat["name"]


@pytest.mark.slow
@pytest.mark.parametrize("cheat", CHEATS, ids=lambda cheat: f"{cheat['round']}-{cheat['sample']}")
def test_cheat_does_not_pass(cheat):
    verdict = judged("auto", False)[cheat["sample"]]
    assert verdict.status in NOT_A_PASS, (cheat["name"], verdict)


@pytest.mark.slow
@pytest.mark.parametrize("cheat", [cheat for cheat in CHEATS if cheat["round"] == 0], ids=lambda cheat: cheat["name"])
def test_cheat_does_not_pass_in_a_fresh_interpreter(cheat):
    verdict = judged("fresh", True)[cheat["sample"]]
    assert verdict.status in NOT_A_PASS, verdict
