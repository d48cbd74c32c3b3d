"""How are exactly the instance's tests run, and what became of each?

By pytest itself, with all its plugins and the project's, in the order of the record, each with fixed seeds; control
tests of ours run before and after, and between tests it is looked whether anything that tests judge by was replaced.
The outcomes go out one by one, as they come.

Why did a test fail, in few words?

pytest shows the source of every frame, for which it parses each file on the way: of a failing candidate's time, most.
Here it is said where the error passed and what it was, without a look at any source.
"""

from __future__ import annotations

import contextlib
import os
import random
import sys
import traceback
import types
from collections.abc import Callable
from functools import partial
from time import process_time
from typing import Any

import pytest

from .channel import Send
from .integrity import FindReplaced, check

WORST = ("passed", "skipped", "failed", "error")
Tampered = Callable[[str], None]
Canaries = tuple[list[pytest.Item], list[pytest.Item], dict[str, str]]


Reports = dict[str, Any]
"""What pytest said of each test: no class, since a class can be found by whoever looks at all of them."""


def new_reports() -> Reports:
    return {"outcomes": {}, "messages": {}, "seconds": {}, "processor": {}, "errors": []}


def take_report(reports: Reports, report: pytest.TestReport) -> None:
    """The worst that was said of a test is its outcome."""
    test, seconds = report.nodeid, reports["seconds"]
    seconds[test] = seconds.get(test, 0.0) + report.duration
    outcome: str | None = report.outcome
    if type(report).__name__ == "SubtestReport":
        outcome = "failed" if report.failed else None
    elif hasattr(report, "wasxfail"):
        outcome = "skipped"  # expected to fail: whatever it did, it did not pass
    elif report.failed and report.when != "call":
        outcome = "error"
    elif report.when != "call" and outcome == "passed":
        outcome = None
    if outcome is None:
        return
    before = reports["outcomes"].get(test, "passed")
    reports["outcomes"][test] = max(before, outcome, key=WORST.index)
    if report.failed and test not in reports["messages"]:
        reports["messages"][test] = report.longreprtext[-2000:]


def make_plugin(wanted: list[str], reports: Reports, on_loop: Callable[[pytest.Session], None]) -> Any:  # noqa: ANN401 - pytest takes anything with hooks
    """A pytest plugin that keeps the wanted tests (all, where none is named) and runs them in our own way."""
    places = {test: place for place, test in enumerate(wanted)}

    def pytest_collectreport(report: pytest.CollectReport) -> None:
        if report.failed:
            reports["errors"].append(f"{report.nodeid}: {str(report.longrepr)[-3000:]}")

    def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
        if places:
            items[:] = sorted((item for item in items if item.nodeid in places), key=lambda item: places[item.nodeid])

    def pytest_runtestloop(session: pytest.Session) -> bool:
        on_loop(session)
        return True

    plugin: Any = types.ModuleType("judge")
    plugin.pytest_collectreport = pytest_collectreport
    plugin.pytest_collection_modifyitems = pytest.hookimpl(trylast=True)(pytest_collection_modifyitems)
    plugin.pytest_runtest_logreport = lambda report: take_report(reports, report)
    plugin.pytest_runtestloop = pytest.hookimpl(tryfirst=True)(pytest_runtestloop)
    return plugin


def conduct(
    session: pytest.Session,
    reports: Reports,
    canaries: Canaries,
    send: Send,
    look: FindReplaced,
    tampered: Tampered,
    *,
    closely: bool,
    until_failure: bool,
) -> None:
    """Runs the tests and sends what became of them; a control test with the wrong outcome is somebody's doing.

    `closely`: it is looked after each test whether anything at all was replaced, and not only at the end, at what
    nearly every comparison uses. `until_failure`: the tests after the first that does not pass are not run.
    """
    before, after, expected = canaries
    getpid, process = os.getpid, os.getpid()

    def control(items: list[pytest.Item]) -> None:
        _run(session, items, reports, lambda item: True)
        for item in items:
            if reports["outcomes"].get(item.nodeid) != expected[item.nodeid]:
                tampered(f"a control test ({item.name}) should have {expected[item.nodeid]} and did not")

    shown = 0

    def tell(item: pytest.Item) -> bool:
        nonlocal shown
        if getpid() != process:
            os._exit(0)
        if closely:
            check(look, tampered)
        message = reports["messages"].get(item.nodeid, "")
        shown += bool(message)
        send(
            "test",
            id=item.nodeid,
            outcome=reports["outcomes"].get(item.nodeid, "error"),
            seconds=reports["seconds"].get(item.nodeid, 0.0),
            processor=reports["processor"].get(item.nodeid, 0.0),
            message=message if shown <= 5 else "",
        )
        return not until_failure or reports["outcomes"].get(item.nodeid) == "passed"

    control(before)
    _run(session, session.items, reports, tell)
    control(after)
    # looking at all names touches much memory that was shared until then
    check(look, tampered, quickly=not closely)


def _run(
    session: pytest.Session, items: list[pytest.Item], reports: Reports, tell: Callable[[pytest.Item], bool]
) -> None:
    """`tell` says of a test that ran whether to go on."""
    for place, item in enumerate(items):
        following = items[place + 1] if place + 1 < len(items) else None
        seed_everything()
        began = process_time()
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        reports["processor"][item.nodeid] = process_time() - began
        if not tell(item):
            with contextlib.suppress(Exception):
                session._setupstate.teardown_exact(None)  # what the following would have used
            return
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)


def seed_everything() -> None:
    random.seed(0)
    modules: dict[str, Any] = sys.modules
    if "numpy" in modules:
        modules["numpy"].random.seed(0)
    if "torch" in modules and hasattr(modules["torch"], "default_generator"):
        # torch.manual_seed imports torch's compiler first, which takes longer than most tests
        modules["torch"].default_generator.manual_seed(0)
    if "tensorflow" in modules and hasattr(modules["tensorflow"], "random"):
        modules["tensorflow"].random.set_seed(0)


def pytest_arguments(job: dict[str, Any]) -> list[str]:
    functions = dict.fromkeys(map(_name_for_pytest, job["tests"]))
    options = ["-p", "no:cacheprovider", "-o", "addopts=", "--tb=short", "--rootdir", job["tree"], *job["args"]]
    if job.get("collect_only"):
        options.append("--collect-only")
    return [*options, *functions]


def _name_for_pytest(test: str) -> str:
    """The test without its case. pytest takes every bracket for a case, so such a folder is collected from above."""
    file, separator, name = test.partition("::")
    if "[" in file:
        return file.partition("[")[0].rpartition("/")[0] or "."
    return f"{file}{separator}{name.partition('[')[0]}"


_FRAMES = 12
_MACHINERY = ("/_pytest/", "/pluggy/", "/unittest/")


def describe_briefly(items: list[pytest.Item], tree: str) -> None:
    for item in items:
        brief: Any = partial(_describe, tree)
        item.repr_failure = brief  # type: ignore[method-assign]
        item._repr_failure_py = brief  # type: ignore[method-assign]


def _describe(tree: str, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
    steps = [(frame.f_code, line) for frame, line in traceback.walk_tb(excinfo.tb)]
    shown = [
        f"{_shorten(code.co_filename, tree)}:{line}: in {code.co_name}"
        for code, line in steps
        if not any(part in code.co_filename for part in _MACHINERY)
    ]
    said = "".join(traceback.format_exception_only(excinfo.type, excinfo.value)).strip()
    cause = excinfo.value.__cause__
    if cause is not None:
        said += f"\ncaused by {''.join(traceback.format_exception_only(type(cause), cause)).strip()}"
    return "\n".join([*shown[-_FRAMES:], *(f"E   {line}" for line in said[:1500].split("\n"))])


def _shorten(path: str, tree: str) -> str:
    return path.removeprefix(tree + "/").rpartition("site-packages/")[2]
