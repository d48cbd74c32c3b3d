"""A pass of unusual code counts only if the tests pass on its data, in a process that the code never enters."""

from contextlib import closing
from dataclasses import replace
from functools import partial

import pytest

from dlbench.dataset import load
from dlbench.execution.confirm import _replay_once
from dlbench.execution.engine import Engine
from dlbench.execution.judge import Warm, judge
from dlbench.execution.limits import DEFAULT
from dlbench.execution.supervise import Observation
from dlbench.runs.verdict import Confirm, Outcome, Status
from dlbench.workspace import prepare
from tests.conftest import TESTS, write_toy

RIGHT = """def scale(values, factor=2):
    {first}
    if factor == 0:
        raise ValueError
    return [value * factor for value in values]
"""
EQUAL = """class Same(list):
    def __eq__(self, other): return True
def scale(values, factor=2):
    if factor == 0:
        raise ValueError
    return Same()
"""
OWN = """class Scaler:
    def __init__(self, factor): self.factor = factor
    def apply(self, values): return [value * self.factor for value in values]
def scale(values, factor=2):
    if factor == 0:
        raise ValueError
    return Scaler(factor).apply(values)
"""
ESCAPE = RIGHT.format(
    first="values = list(values) if not values else values; values.append(one for one in range(10**6))"
).replace("in values]", "in values[:-1]]")
"""It passes, and leaves in its argument what cannot be sent."""


@pytest.fixture(params=["warm", "fresh"])
def judge_code(request, engine, toy, toy_prepared):
    instance = toy.instances["toy/toy.core.scale"]
    if request.param == "fresh":
        yield lambda code, engine=engine: judge(engine, toy_prepared, instance, code)
        return
    opened = []

    def judge_warm(code: str, engine: Engine = engine):
        opened.append(Warm(engine, toy_prepared))
        return opened[-1].judge(instance, code)

    yield judge_warm
    for warm in opened:
        warm.close()


def test_ordinary_code_is_not_replayed(judge_code):
    verdict = judge_code(RIGHT.format(first="pass"))
    assert verdict.passed
    assert "confirmed" not in verdict.extra


def test_unusual_code_that_is_confirmed_never_runs_beside_the_tests(judge_code):
    """There it would end the process."""
    verdict = judge_code(RIGHT.format(first="import os, sys; 'test_core' in sys.modules and os._exit(3)"))
    assert verdict.passed, verdict
    assert verdict.extra == {"confirmed": True}


def test_confirmed_verdict_has_what_others_have(judge_code, engine):
    verdict = judge_code(RIGHT.format(first="pass"), replace(engine, confirm=Confirm.ALL))
    assert verdict.extra == {"confirmed": True}
    assert set(verdict.tests.values()) == {Outcome.PASSED}
    assert verdict.durations.keys() == verdict.tests.keys()
    assert 0 < verdict.test_seconds < verdict.seconds
    assert verdict.memory_mb > 10


def test_unusual_code_that_is_wrong_keeps_its_status(judge_code):
    verdict = judge_code(RIGHT.format(first="import sys; sys.modules").replace("in values]", "in values[:-1]]"))
    assert verdict.status is Status.FAIL
    assert {Outcome.PASSED, Outcome.FAILED} == set(verdict.tests.values())
    assert verdict.extra["errors"]


def test_message_of_a_replay_names_no_file_of_the_judge(judge_code):
    verdict = judge_code(RIGHT.format(first="import sys; sys.modules['none']"))
    assert verdict.status is Status.FAIL
    assert "KeyError" in verdict.message
    assert "remote.py" not in verdict.message


def test_classes_that_stay_inside_need_no_replay(judge_code):
    verdict = judge_code(OWN)
    assert verdict.passed
    assert "confirmed" not in verdict.extra


def test_objects_that_equal_everything_never_pass(judge_code):
    assert judge_code(EQUAL).status in (Status.TAMPERED, Status.UNCONFIRMED)


def test_unusual_code_whose_data_is_wrong_never_runs_beside_the_tests(judge_code):
    """There it would be right."""
    code = RIGHT.format(first="import sys; here = 'test_core' in sys.modules")
    verdict = judge_code(code.replace("return [", "return here and ["))
    assert verdict.status is Status.FAIL, verdict
    assert Outcome.FAILED in verdict.tests.values()
    assert "confirmed" not in verdict.extra


def test_unconfirmed_pass_says_why(judge_code):
    verdict = judge_code(ESCAPE.replace("values = list", "import sys; sys.modules; values = list"))
    assert verdict.status is Status.UNCONFIRMED, verdict
    assert "sys" in verdict.message
    assert "cannot be replayed" in verdict.message
    assert set(verdict.tests.values()) == {Outcome.NOT_RUN}


@pytest.mark.slow
def test_endless_loop_ends_with_the_tests_and_not_with_the_limit_of_loading(judge_code, engine):
    """It does not notice that nobody waits for its answer, and every stop of a worker costs the next one its imports."""
    limits = replace(engine.limits, test_seconds=2, load_seconds=100_000)
    verdict = judge_code(
        "import sys\ndef scale(values, factor=2):\n    while sys: pass", replace(engine, limits=limits)
    )
    assert verdict.status is Status.TIMEOUT, verdict


def test_pass_that_cannot_be_replayed_does_not_count_if_the_reference_can(judge_code, engine):
    verdict = judge_code(ESCAPE)
    assert verdict.passed
    verdict = judge_code(ESCAPE, replace(engine, confirm=Confirm.ALL, replayable={}))
    assert verdict.status is Status.UNCONFIRMED, verdict
    assert "cannot be replayed" in verdict.message


def test_pass_stays_where_the_reference_cannot_be_replayed_either(tmp_path, engine):
    source = ESCAPE.replace("for value in", "+ OFFSET for value in")
    benchmark = load(write_toy(tmp_path, source))
    prepared = prepare(benchmark.projects["toy"], benchmark.root)
    instance = benchmark.instances["toy/toy.core.scale"]
    engine = replace(engine, confirm=Confirm.ALL, replayable={})
    for code, is_confirmed in ((ESCAPE, False), (RIGHT.format(first="pass"), True)):
        verdict = judge(engine, prepared, instance, code)
        assert verdict.passed, verdict
        assert verdict.extra["confirmed"] is is_confirmed
    assert "cannot be replayed" in judge(engine, prepared, instance, ESCAPE).extra["doubt"]


SEARCH = """import gc, inspect, linecache, sys, types
    text = "".join(("factor must not", " be zero"))
    functions = [one for one in gc.get_objects() if isinstance(one, types.FunctionType)]
    assert not any(text in one.__code__.co_consts for one in functions)
    assert not any(text in "".join(lines[2]) for lines in linecache.cache.values() if len(lines) == 4)
    assert not any("test_core" in name for name in sys.modules)
    try: assert text not in open(sys.modules["toy.core"].__file__).read()
    except OSError: pass"""


def test_process_of_a_replayed_candidate_holds_no_test_and_no_reference(judge_code):
    """It looks like tampering where the tests are, and is confirmed only if it finds nothing where it is replayed."""
    verdict = judge_code(RIGHT.format(first=SEARCH))
    assert verdict.passed, verdict
    assert verdict.extra["confirmed"]


@pytest.mark.parametrize("qualname", ["scale", "Counter.step"])
def test_reference_is_replayed_in_servers_that_have_imported_the_project(qualname, engine, toy, toy_prepared):
    """A new object of the class that holds the target crosses, too."""
    instance = toy.instances[f"toy/toy.core.{qualname}"]
    target = engine.target(toy_prepared, instance)
    warm = Warm(engine, toy_prepared)
    try:
        start = partial(warm._start_in_place, instance, DEFAULT)
        found = _replay_once(engine, instance, target.read(target.target.text), engine.limits, start)
        assert isinstance(found, Observation), found
        assert set(warm.answerer.worker.servers) == {f"{instance.id} in place"}
    finally:
        warm.close()


LOCK = """import ctypes, mmap
    libc, page = ctypes.CDLL(None, use_errno=True), mmap.mmap(-1, 4096)
    assert libc.mlock(ctypes.addressof(ctypes.c_char.from_buffer(page)), 4096) == -1 and ctypes.get_errno() == 1
    try: mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x2000)
    except PermissionError: pass
    else: raise AssertionError
    for name in ("vmstat", "loadavg", "pressure/cpu"):
        try: open("/proc/" + name).read()
        except OSError: pass
        else: raise AssertionError"""


def test_process_of_a_replayed_candidate_locks_no_memory_and_reads_no_counter_of_the_kernel(judge_code, engine):
    """Another candidate could have left there what it saw of the tests."""
    if engine.confinement.name == "basic":
        pytest.skip("it shows what any user may read")
    verdict = judge_code(RIGHT.format(first=LOCK))
    assert verdict.passed, verdict
    assert verdict.extra["confirmed"]


READER = """def scale(values, factor=2):
    if not isinstance(factor, int):
        with open(factor) as file:
            factor = int(file.read())
    if factor == 0:
        raise ValueError
    return [value * factor for value in values]
"""


@pytest.mark.parametrize("mode", ["warm", "fresh"])
@pytest.mark.parametrize("path", ["tmp_path / 'in.txt'", "str(tmp_path / 'in.txt')"])
def test_files_that_tests_write_are_there_where_a_candidate_is_replayed(mode, path, tmp_path, engine, monkeypatch):
    writing = f"(tmp_path / 'in.txt').write_text(str(factor))\n    assert scale([1, 2], {path})"
    tests = TESTS.replace("assert scale([1, 2], factor)", writing).replace("(factor):", "(factor, tmp_path):")
    monkeypatch.setattr("tests.conftest.TESTS", tests)
    benchmark = load(write_toy(tmp_path, READER.replace("for value", "+ OFFSET for value")))
    prepared = prepare(benchmark.projects["toy"], benchmark.root)
    instance = benchmark.instances["toy/toy.core.scale"]
    with closing(Warm(engine, prepared)) as warm:
        verdict = warm.judge(instance, READER) if mode == "warm" else judge(engine, prepared, instance, READER)
    assert verdict.passed, verdict
    assert verdict.extra == {"confirmed": True}
