"""Warm and fresh mode agree on every shape of target and test, under parallel load and killed processes."""

import contextlib
import os
import random
import signal
import threading

import pytest

from dlbench.dataset import load
from dlbench.execution import Engine, Limits, choose_sandbox, judge
from dlbench.execution.judge import Warm
from dlbench.execution.limits import JudgeOptions
from dlbench.execution.pool import Pool, Task
from dlbench.execution.processes import find_descendants
from dlbench.execution.reference_profile import load_route, profile_path, profile_reference
from dlbench.runs.verdict import Outcome, Status, Verdict
from dlbench.validation import compare_modes, repeat, validate
from dlbench.workspace import prepare
from tests.conftest import write_toy
from tests.execution.shapes import TARGETS, TESTS, write_shapes

LIMITS = Limits(load_seconds=90, test_seconds=15, memory_mb=1024)
SCALE = "def scale(values, factor=1):\n    return [value * factor for value in values]\n"


@pytest.fixture(scope="module")
def shapes(tmp_path_factory):
    return load(write_shapes(tmp_path_factory.mktemp("shapes")))


@pytest.fixture(scope="module")
def make_pool(shapes):
    engine = Engine(choose_sandbox(), LIMITS)
    prepared = {"shapes": prepare(shapes.projects["shapes"], shapes.root)}
    return lambda mode="auto", workers=2: Pool(engine, prepared, workers=workers, mode=mode)


@pytest.mark.slow
def test_both_modes_agree_on_every_shape(shapes, make_pool):
    instances = list(shapes.instances.values())
    trials = compare_modes(make_pool(), make_pool("fresh"), instances, mutants=2)
    assert [trial for trial in trials if not trial.holds] == []
    modes = {trial.instance.rpartition("core.")[2]: trial.verdict.mode for trial in trials}
    assert {name for name, mode in modes.items() if mode == "in_place"} == set(TARGETS) - {"used_at_import"}
    assert modes["used_at_import"] == "imported"


class Scripted(Pool):
    """Gives mutants scripted outcomes, one by one, and fails everything else."""

    def __init__(self, pool, *turns):
        super().__init__(pool.engine, pool.prepared)
        self.turns = list(turns)

    def run(self, tasks, note):
        for task in tasks:
            outcomes = dict.fromkeys(task.instance.tests, Outcome.FAILED)
            status = Status.FAIL
            if task.name.startswith("mutant"):
                outcomes |= self.turns.pop(0)
                status = Status.FAIL if Outcome.FAILED in outcomes.values() else Status.PASS
            note(task, Verdict(task.instance.id, task.sample, status, outcomes, mode="fresh"))


@pytest.mark.parametrize(
    ("again", "holds"),
    [
        ([{}] * 6, False),
        ([{}, {}, {"first": Outcome.PASSED}, {}, {}, {}], True),
        ([{}, {}, {"second": Outcome.PASSED}, {}, {}, {}], False),
    ],
    ids=["fresh is steady", "fresh varies on the test", "fresh varies on another test"],
)
def test_mutant_that_varies_in_fresh_mode_does_not_count_against_warm_mode(shapes, make_pool, again, holds):
    instance = next(instance for instance in shapes.instances.values() if len(instance.tests) > 2)
    named = dict(zip(("first", "second"), instance.tests, strict=False))
    turns = [{named[name]: outcome for name, outcome in turn.items()} for turn in again]
    warm = Scripted(make_pool(), {named["first"]: Outcome.PASSED})
    trials = compare_modes(warm, Scripted(make_pool(), {}, *turns), [instance], mutants=1)
    (trial,) = [trial for trial in trials if trial.name.startswith("mutant")]
    assert trial.holds is holds
    assert named["first"] in trial.detail


def test_mutant_that_passes_in_one_mode_only_is_never_excused(shapes, make_pool):
    instance = next(instance for instance in shapes.instances.values() if len(instance.tests) > 2)
    warm = Scripted(make_pool(), dict.fromkeys(instance.tests, Outcome.PASSED))
    trials = compare_modes(warm, Scripted(make_pool(), {}), [instance], mutants=1)
    assert [trial.name[:6] for trial in trials if not trial.holds] == ["mutant"]


@pytest.mark.parametrize(("outcome", "holds"), [(Outcome.ERROR, True), (Outcome.SKIPPED, False)])
def test_failed_and_error_agree_and_skipped_does_not(shapes, make_pool, outcome, holds):
    """Whether a failing thread of a test makes it failed or error depends on timing."""
    instance = next(instance for instance in shapes.instances.values() if len(instance.tests) > 2)
    warm = Scripted(make_pool(), {instance.tests[0]: outcome})
    trials = compare_modes(warm, Scripted(make_pool(), *[{}] * 7), [instance], mutants=1)
    assert all(trial.holds for trial in trials) is holds


def test_module_imported_by_a_pytest_plugin_is_a_harness_error(tmp_path):
    """Nothing guards the candidate while the plugin imports it."""
    root = write_toy(tmp_path)
    record = root / "projects/toy.toml"
    record.write_text(record.read_text().replace('root = "tests"', 'root = "tests", args = ["-p", "toy.core"]'))
    toy = load(root)
    prepared = prepare(toy.projects["toy"], toy.root)
    verdict = judge(Engine(choose_sandbox(), LIMITS), prepared, toy.instances["toy/toy.core.scale"], SCALE)
    assert verdict.status == "harness_error"
    assert "plugin" in verdict.message


LIAR = """import sys, types

class Liar:
    __class__ = property(lambda self: types.ModuleType)

sys.modules["liar"] = Liar()
"""


@pytest.mark.parametrize("mode", ["auto", "fresh"])
def test_fake_module_in_sys_modules_does_not_disturb_a_late_import(tmp_path, mode):
    root = write_toy(tmp_path)
    folder = tmp_path / "source/tests"
    (folder / "conftest.py").write_text(LIAR)
    lines = (folder / "test_core.py").read_text().replace("from toy.core import Counter, scale\n", "")
    late = "def scale(*values):\n    from toy import core\n\n    return core.scale(*values)\n"
    (folder / "test_core.py").write_text(f"{late}\n{lines[: lines.index('class TestCounter')]}")
    toy = load(root)
    (instance,) = (one for one in toy.instances.values() if one.qualname == "scale")
    prepared = {"toy": prepare(toy.projects["toy"], toy.root)}
    right = SCALE.replace("return", "class Unusual: pass\n    if factor == 0:\n        raise ValueError\n    return")
    wrong = right.replace("value * factor", "value")
    found = {}
    pool = Pool(Engine(choose_sandbox(), LIMITS), prepared, workers=1, mode=mode)
    pool.run(
        [Task(instance, right, 0), Task(instance, wrong, 1)], lambda task, verdict: found.update({task.sample: verdict})
    )
    assert {sample: verdict.status for sample, verdict in found.items()} == {0: "pass", 1: "fail"}, found


def _judge_scale(root):
    """Status and mode of right and wrong answers from a worker that has imported what the tests need."""
    toy = load(root)
    instance = toy.instances["toy/toy.core.scale"]
    engine, prepared = Engine(choose_sandbox(), LIMITS), prepare(toy.projects["toy"], toy.root)
    assert "pygments.lexers.haskell" in profile_reference(engine, prepared, instance).modules
    with contextlib.closing(Warm(engine, prepared)) as warm:
        answers = [None, engine.target(prepared, instance).target.text, "def scale(values, factor=1):\n    return 3\n"]
        return [(str(verdict.status), verdict.mode) for verdict in (warm.judge(instance, code) for code in answers)]


EARLY = """import sys

if "pygments.lexers.haskell" in sys.modules:
    raise RuntimeError("imported too early")
"""


def test_reference_that_fails_only_in_a_warm_worker_falls_back_to_fresh(tmp_path):
    root = write_toy(tmp_path)
    folder = tmp_path / "source/tests"
    (folder / "conftest.py").write_text(EARLY)
    tests = (folder / "test_core.py").read_text()
    (folder / "test_core.py").write_text(f"import pygments.lexers.haskell\n{tests}")
    assert _judge_scale(root) == [("pass", "fresh"), ("pass", "fresh"), ("fail", "fresh")]


def test_preloaded_plugin_causes_no_warning_turned_error(tmp_path):
    root = write_toy(tmp_path)
    (tmp_path / "source/pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    record = root / "projects/toy.toml"
    with_plugin = 'root = "tests", args = ["-p", "pygments.lexers.haskell"]'
    record.write_text(record.read_text().replace('root = "tests"', with_plugin))
    assert _judge_scale(root) == [("pass", "imported"), ("pass", "in_place"), ("fail", "in_place")]


AGAIN = """import sys
from importlib import import_module
from importlib.machinery import PathFinder

for name in ("toy.base", "toy.core"):
    module = import_module(name)
    PathFinder.find_spec(name, __path__).loader.exec_module(module)
"""


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("import sys\nFACTOR = len(sys.path)\n{right}", "pass"),
        ("@property\ndef nothing(self): ...\n{right}", "pass"),
        ("import sys\ndef scale(values, factor=2):\n    sys._getframe()\n    return values\n", "tampered"),
        ("import sys\ndef scale(values, factor=2):\n    return sys and values\n", "fail"),
    ],
    ids=["unusual", "imported", "tampered", "wrong"],
)
@pytest.mark.parametrize("mode", ["auto", "fresh"])
def test_project_that_executes_its_modules_again_gets_the_candidate(tmp_path, mode, code, status):
    """monai does. The second execution took the reference from the disk: replay confirmed whatever it was given, and
    what had to be imported could not be."""
    root = write_toy(tmp_path)
    (tmp_path / "source/toy/__init__.py").write_text(AGAIN)
    toy = load(root)
    instance = toy.instances["toy/toy.core.scale"]
    prepared = {"toy": prepare(toy.projects["toy"], toy.root)}
    pool = Pool(Engine(choose_sandbox(), LIMITS), prepared, workers=1, mode=mode)
    right = SCALE.replace("return", "if factor == 0:\n        raise ValueError\n    return")
    found = []
    task = Task(instance, code.format(right=right), options=JudgeOptions(imports=True, watched=status == "tampered"))
    pool.run([task], lambda task, verdict: found.append(verdict))
    assert found[0].status == status, found[0]


@pytest.mark.slow
def test_every_shape_validates(shapes, make_pool):
    trials = validate(make_pool(), list(shapes.instances.values()))
    assert [trial.name for trial in trials if trial.name in {"reference", "spliced"} and not trial.holds] == []


@pytest.mark.parametrize("mode", ["auto", "fresh"])
def test_subset_of_tests_runs_in_the_requested_order(shapes, make_pool, mode):
    instance = shapes.instances["shapes/shapes.core.plain"]
    some = tuple(reversed(instance.tests[:2]))
    code = make_pool().engine.target(make_pool().prepared["shapes"], instance).target.text
    found = []
    task = Task(instance, code, options=JudgeOptions(tests=some))
    make_pool(mode).run([task], lambda task, verdict: found.append(verdict))
    assert found[0].status == "pass"
    assert tuple(found[0].tests) == some


@pytest.mark.parametrize("mode", ["auto", "fresh"])
def test_until_failure_skips_the_remaining_tests(shapes, make_pool, mode):
    instance = shapes.instances["shapes/shapes.core.plain"]
    found = []
    task = Task(instance, "def plain(x, y=1):\n    return None\n", options=JudgeOptions(until_failure=True))
    make_pool(mode).run([task], lambda task, verdict: found.append(verdict))
    assert found[0].status == "fail"
    first, *rest = found[0].tests.values()
    assert first == "failed"
    assert set(rest) == {"not_run"}


def test_project_is_imported_once_for_all_its_instances(shapes, make_pool):
    pool = make_pool()
    with contextlib.closing(Warm(pool.engine, pool.prepared["shapes"])) as warm:
        for name in ("plain", "generator"):
            instance = shapes.instances[f"shapes/shapes.core.{name}"]
            assert warm.judge(instance, pool.engine.target(warm.prepared, instance).target.text).mode == "in_place"
            assert load_route(pool.engine, warm.prepared, instance, "project")
        assert "shapes.core" in (warm.own or ())


def test_profile_of_a_worker_is_not_enough_for_fresh_mode(toy, toy_prepared, engine):
    """A worker has imported modules before, so the effects of their import are not seen."""
    first, second = (toy.instances[f"toy/toy.core.{name}"] for name in ("scale", "Counter.step"))
    fewer = second.model_copy(update={"tests": second.tests[1:]})  # which no other test profiles
    assert profile_reference(engine, toy_prepared, first).is_alone
    profile_path(engine, toy_prepared, fewer).unlink(missing_ok=True)
    with contextlib.closing(Warm(engine, toy_prepared)) as warm:
        assert warm.judge(fewer, engine.target(toy_prepared, fewer).target.text).passed
        assert not warm.profiles[fewer.id].is_alone
    assert profile_reference(engine, toy_prepared, fewer).is_alone


ANSWERS = {
    "another default": ("plain", "def plain(x, y=2):\n    return x + y + BASE\n", "fail", "in_place"),
    "a default of the module": ("plain", "def plain(x, y=BASE - 9):\n    return x + y + BASE\n", "pass", "imported"),
    "the same default in other words": ("default_of_the_module", "def default_of_the_module(x, scale=20):\n    return x * scale\n", "pass", "in_place"),
    "annotations that are there": ("plain", "def plain(x: int, y: int = 1) -> int:\n    return x + y + BASE\n", "pass", "in_place"),
    "an annotation that is not": ("plain", "def plain(x: Tensor, y=1):\n    return x + y + BASE\n", "error", "imported"),
    "an annotation that comes later": ("plain", "def plain(x: Shape, y=1):\n    return x + y + BASE\n", "error", "imported"),
    "a helper": ("plain", "def add(a, b):\n    return a + b\n\ndef plain(x, y=1):\n    return add(x, y) + BASE\n", "pass", "in_place"),
    "a helper that computes at once": ("plain", "TEN = BASE * 1\n\ndef plain(x, y=1):\n    return x + y + BASE + TEN - TEN\n", "pass", "imported"),
    "an import that fails": ("plain", "import nowhere_to_be_found\n\ndef plain(x, y=1):\n    return nowhere_to_be_found.f(x)\n", "error", "imported"),
    "an import that works": ("plain", "import math\n\ndef plain(x, y=1):\n    return int(math.fsum([x, y, BASE]))\n", "pass", "in_place"),
    "no generator": ("generator", "def generator(n):\n    return iter([v * v for v in range(n)])\n", "pass", "imported"),
    "super spelt out": ("Shape.area", "def area(self):\n    return super(Shape, self).area() * self.side\n", "pass", "in_place"),
    "without super": ("Shape.area", "def area(self):\n    return 2 * self.side\n", "pass", "in_place"),
    "a member beside it": ("Shape.area", "class Shape(Parent):\n    def two(self):\n        return 2\n    def area(self):\n        return self.two() * self.side\n", "pass", "imported"),
    "a decorator of its own": ("plain", "import functools\n\n@functools.lru_cache(None)\ndef plain(x, y=1):\n    return x + y + BASE\n", "pass", "imported"),
    "its own name": ("generator", "def generator(n):\n    if n:\n        yield from generator(n - 1)\n        yield (n - 1) ** 2\n", "pass", "in_place"),
    "its own source": ("plain", "def plain(x, y=1):\n    import inspect\n    assert 'looked for' in inspect.getsource(plain)\n    return x + y + BASE\n", "unconfirmed", "in_place"),
}  # fmt: skip


@pytest.mark.parametrize("mode", ["auto", "fresh"])
def test_answers_get_their_verdict_and_mode(shapes, make_pool, mode):
    tasks = [
        Task(shapes.instances[f"shapes/shapes.core.{name}"], code, number, what)
        for number, (what, (name, code, _, _)) in enumerate(ANSWERS.items())
    ]
    found = {}
    make_pool(mode).run(tasks, lambda task, verdict: found.update({task.name: verdict}))
    expected = {
        what: (status, served if mode == "auto" else "fresh") for what, (_, _, status, served) in ANSWERS.items()
    }
    assert {what: (str(verdict.status), verdict.mode) for what, verdict in found.items()} == expected, [
        verdict for what, verdict in found.items() if str(verdict.status) != expected[what][0]
    ]


def _tasks(shapes, count):
    codes = [
        "def plain(x, y=1):\n    return x + y + BASE\n",
        "def plain(x, y=1):\n    return x + y\n",
        "def plain(x, y=1):\n    raise ValueError(x)\n",
        "def plain(x, y=1):\n    import os\n    os._exit(0)\n",
    ]
    instance = shapes.instances["shapes/shapes.core.plain"]
    return [Task(instance, codes[number % 4], number) for number in range(count)]


def test_results_do_not_depend_on_the_number_of_workers(shapes, make_pool):
    alone, together = {}, {}
    make_pool(workers=1).run(_tasks(shapes, 12), lambda task, verdict: alone.update({task.sample: verdict}))
    make_pool(workers=3).run(_tasks(shapes, 12), lambda task, verdict: together.update({task.sample: verdict}))
    assert {key: (one.status, one.tests) for key, one in alone.items()} == {
        key: (one.status, one.tests) for key, one in together.items()
    }
    assert [str(alone[number].status) for number in range(4)] == ["pass", "fail", "fail", "error"]


@pytest.mark.slow
def test_every_candidate_gets_its_verdict_whatever_is_killed(shapes, make_pool):
    """Kills workers, servers and children at random, at most one between two verdicts: otherwise no candidate would
    finish on a slow machine."""
    found, is_over, rng = {}, threading.Event(), random.Random(0)
    others = set(find_descendants(os.getpid()))

    def kill() -> None:
        last = -1
        while not is_over.wait(1.0):
            family = [one for one in find_descendants(os.getpid()) if one not in others]
            if family and len(found) > last:
                last = len(found)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(rng.choice(family), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        make_pool().run(_tasks(shapes, 80), lambda task, verdict: found.update({task.sample: str(verdict.status)}))
    finally:
        is_over.set()
        killer.join()
    assert found == {number: ["pass", "fail", "fail", "error"][number % 4] for number in range(80)}
    assert set(find_descendants(os.getpid())) <= others


def test_flaky_test_is_named(tmp_path):
    flaky = "\n\ndef test_flaky():\n    assert 'test_plain_in_order' in SEEN and plain(0) == 11\n"
    targets = {"plain": ["test_plain_in_order", "test_plain_keywords", "test_flaky"]}
    benchmark = load(write_shapes(tmp_path, tests=TESTS + flaky, targets=targets))
    prepared = {"shapes": prepare(benchmark.projects["shapes"], benchmark.root)}
    pool = Pool(Engine(choose_sandbox(), LIMITS), prepared, workers=2)
    trials = repeat(pool, list(benchmark.instances.values()), 5, shuffle=True)
    assert len(trials) == 5
    broken = [trial for trial in trials if not trial.holds]
    assert broken
    assert {trial.detail.split(": ")[1] for trial in broken} == {"tests/test_shapes.py::test_flaky"}
    # together with the other trials, the same ones do not hold
    together = validate(pool, list(benchmark.instances.values()), 5, shuffle=True)
    assert [trial.name for trial in together[:4]] == ["reference", "spliced", "raises", "returns_none"]
    assert all(trial.holds for trial in together[:4])
    assert [(trial.name, trial.holds) for trial in together[4:]] == [(trial.name, trial.holds) for trial in trials]
