"""Run exactly the instance's tests with pytest and report the outcome of each.

The tests run in the order of the record, each with fixed seeds. Failures are described without source lines: pytest
parses every file on the traceback to show them, which takes most of a failing candidate's time.
"""

import contextlib
import os
import sys
import traceback
import types
from collections.abc import Callable
from functools import partial
from time import process_time
from typing import Any

import pytest

from .audit import Tampered
from .channel import OUTCOMES, Job, Send
from .integrity import FindReplaced, check
from .seeding import seed_everything

_FRAMES = 12
_MACHINERY = ("/_pytest/", "/pluggy/", "/unittest/", "/inside/remote.py")
ControlTests = tuple[list[pytest.Item], list[pytest.Item]]
"""Items to run before the tests, and after them."""
Reports = dict[str, Any]
"""What pytest reported of each test. No class: a candidate could find it among the subclasses of `object`."""


def new_reports() -> Reports:
    return {"ranks": {}, "send": None, "messages": {}, "seconds": {}, "processor": {}, "errors": []}


def take_report(reports: Reports, report: pytest.TestReport) -> None:
    """The worst of its reports is the outcome of a test. Each is sent at once, as a number: what a candidate changes in
    this process later has no effect."""
    test, seconds = report.nodeid, reports["seconds"]
    seconds[test] = seconds.get(test, 0.0) + report.duration
    outcome: str | None = report.outcome
    if type(report).__name__ == "SubtestReport":
        outcome = "failed" if report.failed else None
    elif hasattr(report, "wasxfail"):
        outcome = "skipped"  # a test that is expected to fail never counts as passed
    elif report.failed and report.when != "call":
        outcome = "error"
    elif report.when != "call" and outcome == "passed":
        outcome = None
    if outcome is None:
        return
    rank = OUTCOMES.index(outcome)
    if reports["send"] is not None:
        reports["send"]("outcome", id=test, rank=rank)
    reports["ranks"][test] = max(rank, reports["ranks"].get(test, rank))
    if report.failed and test not in reports["messages"]:
        reports["messages"][test] = report.longreprtext[-2000:]


def order_tests(items: list[pytest.Item], tests: list[str]) -> list[pytest.Item]:
    """The items of these tests, in their order."""
    places = {test: place for place, test in enumerate(tests)}
    return sorted((item for item in items if item.nodeid in places), key=lambda item: places[item.nodeid])


def make_plugin(tests: list[str], reports: Reports, on_loop: Callable[[pytest.Session], object]) -> Any:  # noqa: ANN401 - pytest takes anything with hooks
    """A pytest plugin that keeps these tests (all, if none is named) and calls `on_loop` in place of pytest's loop."""

    def pytest_collectreport(report: pytest.CollectReport) -> None:
        if report.failed:
            reports["errors"].append(f"{report.nodeid}: {str(report.longrepr)[-3000:]}")

    def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
        if tests:
            items[:] = order_tests(items, tests)

    plugin: Any = types.ModuleType("judge")
    plugin.pytest_collectreport = pytest_collectreport
    plugin.pytest_collection_modifyitems = pytest.hookimpl(trylast=True)(pytest_collection_modifyitems)
    plugin.pytest_runtest_logreport = lambda report: take_report(reports, report)
    plugin.pytest_runtestloop = pytest.hookimpl(tryfirst=True)(lambda session: on_loop(session) or True)
    return plugin


def run_tests(
    session: pytest.Session,
    reports: Reports,
    control_tests: ControlTests,
    send: Send,
    find_replaced: FindReplaced,
    tampered: Tampered,
    job: Job,
) -> None:
    """Run the tests and send their outcomes.

    Replaced names are searched for after the last test, and with a watched candidate after each. A process of replay,
    which no candidate enters, needs neither that nor control tests.
    """
    before, after = control_tests if "calls" not in job else ([], [])
    getpid, process = os.getpid, os.getpid()
    shown = 0
    reports["send"] = send

    def report(item: pytest.Item) -> bool:
        nonlocal shown
        if getpid() != process:
            os._exit(0)
        if job["watch"] or job["partial"]:
            check(find_replaced, tampered, quickly=not job["watch"])
        _check_modes(tampered)
        message = reports["messages"].get(item.nodeid, "")
        shown += bool(message)
        used = {name: reports[name].get(item.nodeid, 0.0) for name in ("seconds", "processor")}
        send("test", id=item.nodeid, **used, message=message if shown <= 10 else "")
        return not job["until_failure"] or reports["ranks"].get(item.nodeid) == OUTCOMES.index("passed")

    begin = (lambda item: send("begins", id=item.nodeid)) if job["partial"] else None
    _run(session, before, reports, lambda item: True)
    _run(session, session.items, reports, report, begin)
    _run(session, after, reports, lambda item: True)
    if "calls" not in job:
        # a search of all names touches much memory that is shared until then. Without it, the engine accepts no pass
        is_pass = all(reports["ranks"].get(item.nodeid) == OUTCOMES.index("passed") for item in session.items)
        is_full = is_pass or job["watch"] or job["partial"]
        check(find_replaced, tampered, quickly=not is_full)
        if is_full:
            send("checked")


def _check_modes(tampered: Tampered) -> None:
    """A mode of torch that is left entered decides the results of the tests' own comparisons."""
    core = getattr(sys.modules.get("torch"), "_C", None)
    if core is not None and (core._len_torch_function_stack() or core._len_torch_dispatch_stack()):
        tampered("the candidate left a mode of torch entered")


def _run(
    session: pytest.Session,
    items: list[pytest.Item],
    reports: Reports,
    report: Callable[[pytest.Item], bool],
    begin: Callable[[pytest.Item], None] | None = None,
) -> None:
    """`begin` is called before each test, `report` after it; it returns whether to go on."""
    for item, following in zip(items, [*items, None][1:], strict=True):
        if begin is not None:
            begin(item)
        seed_everything()
        began = process_time()
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        reports["processor"][item.nodeid] = process_time() - began
        if not report(item):
            with contextlib.suppress(Exception):
                session._setupstate.teardown_exact(None)  # fixtures that the next tests would use
            return
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)


def make_hand_out(send: Send) -> Callable[[str], None]:
    """A function that reports once that a candidate hands out objects of its own classes."""
    is_reported = False

    def hand_out(what: str) -> None:
        nonlocal is_reported
        if not is_reported:
            is_reported = True
            send("handed_out", what=what)

    return hand_out


def pytest_arguments(job: Job) -> list[str]:
    # pytest searches its arguments one by one: of many tests it is given the files
    names = [test.partition("::")[0] for test in job["tests"]] if job.get("partial") else job["tests"]
    functions = dict.fromkeys(map(_name_for_pytest, names))
    options = ["-p", "no:cacheprovider", "-o", "addopts=", "--tb=short", "--rootdir", job["tree"], *job["args"]]
    return [*options, *(["--collect-only"] if job.get("collect_only") else []), *functions]


def _name_for_pytest(test: str) -> str:
    """The test without its case. pytest takes every bracket for a case: it collects such a folder from its parent."""
    file, separator, name = test.partition("::")
    if "[" in file:
        return file.partition("[")[0].rpartition("/")[0] or "."
    return f"{file}{separator}{name.partition('[')[0]}"


def silence_terminal(session: pytest.Session) -> None:
    """Nobody reads pytest's progress, and it would be flushed after each test."""
    reporter = session.config.pluginmanager.getplugin("terminalreporter")
    if reporter is not None:
        reporter._tw._file = open(os.devnull, "w")  # noqa: SIM115 - as long as the process


def describe_briefly(items: list[pytest.Item], tree: str) -> None:
    brief: Any = partial(_describe, tree)
    for item in items:
        item.repr_failure = item._repr_failure_py = brief  # type: ignore[method-assign]


def _describe(tree: str, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
    shown = []
    for frame, line in traceback.walk_tb(excinfo.tb):
        path = frame.f_code.co_filename
        if not any(part in path for part in _MACHINERY):
            path = path.removeprefix(tree + "/").rpartition("site-packages/")[2]
            shown.append(f"{path}:{line}: in {frame.f_code.co_name}")
    text = "".join(traceback.format_exception_only(excinfo.type, excinfo.value)).strip()
    cause = excinfo.value.__cause__
    if cause is not None:
        text += f"\ncaused by {''.join(traceback.format_exception_only(type(cause), cause)).strip()}"
    return "\n".join([*shown[-_FRAMES:], *(f"E   {line}" for line in text[:1500].split("\n"))])
