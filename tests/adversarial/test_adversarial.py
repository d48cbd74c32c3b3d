"""Every hostile candidate gets one of its correct statuses, and a third of them in fresh mode and with torch; none passes.

A pool judges each table at once, as in a run of a model. Afterwards the machine is searched for leftovers.
"""

import os
from functools import cache
from pathlib import Path

import pytest

from dlbench.execution import find_sandboxes
from dlbench.execution.processes import find_descendants
from dlbench.runs.verdict import Verdict
from dlbench.workspace import home
from tests.adversarial.arena import PART, VERDICTS, judge_all
from tests.adversarial.cheats import CHEATS, TRACES
from tests.adversarial.hostile import BODIES

NAMES = [cheat.name for cheat in CHEATS] + [hostile.name for hostile in BODIES]
SANDLOCK = not {kind.name: obstacle for kind, obstacle in find_sandboxes()}["sandlock"]

judged = cache(judge_all)


def test_table_is_large_and_never_expects_pass():
    assert len(set(NAMES)) == len(NAMES) >= 60
    assert not any("pass" in verdicts or "harness_error" in verdicts for verdicts in VERDICTS.values())


MODES = ["auto", pytest.param("fresh", marks=pytest.mark.slow)]


@pytest.mark.parametrize("name", NAMES)
def test_hostile_candidate_without_torch(name: str):
    _check(judged("toy", "auto")[name], name)


@pytest.mark.slow
@pytest.mark.parametrize(("project", "mode"), [("toy", "fresh"), ("torch", "auto")])
@pytest.mark.parametrize("name", [name for name in NAMES if name in PART])
def test_hostile_candidate_in_fresh_mode_and_with_torch(name: str, project: str, mode: str):
    _check(judged(project, mode)[name], name)


@pytest.mark.skipif(not SANDLOCK, reason="sandlock cannot be used on this machine")
@pytest.mark.parametrize("name", [hostile.name for hostile in BODIES])
def test_hostile_candidate_in_sandlock(name: str):
    """Only candidates that the sandbox must stop; the defences of the judge do not depend on the sandbox."""
    _check(judged("toy", "auto", "sandlock")[name], name)


def _check(verdict: Verdict, name: str) -> None:
    assert verdict.status in VERDICTS[name] | {"unconfirmed"}, verdict


@pytest.mark.parametrize("mode", MODES)
def test_no_process_and_no_file_is_left(mode: str):
    judged("toy", mode)
    assert find_descendants(os.getpid()) == [os.getpid()]
    assert not list((home() / "cells").glob(f"{os.getpid()}-*"))
    traces = ["/usr/dlbench-was-here", "/dlbench-was-here", *(path for paths in TRACES.values() for path in paths)]
    assert [path for path in traces if Path(path).exists()] == []


@pytest.mark.parametrize("sandbox", ["auto", "sandlock"] if SANDLOCK else ["auto"])
def test_most_candidates_are_judged_warm(sandbox: str):
    """Otherwise the tests above would not cover the warm mode."""
    verdicts = judged("toy", "auto") if sandbox == "auto" else judged("toy", "auto", sandbox)
    modes = [verdict.mode for verdict in verdicts.values() if verdict.sandbox]
    assert modes.count("in_place") + modes.count("imported") > 0.9 * len(modes)
