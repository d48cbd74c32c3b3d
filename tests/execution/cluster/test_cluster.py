"""A real cluster of three nodes gives the local verdicts, whatever dies, and leaves nothing behind."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from dlbench.agreement.answers import write_copy
from dlbench.construction.admit import admit_all
from dlbench.dataset import load
from dlbench.errors import DLBenchError
from dlbench.execution import Engine, Limits, choose_sandbox
from dlbench.execution.cross_run import CrossRunPool, CrossRunTask, Result
from dlbench.execution.judge import Warm
from dlbench.execution.pool import Pool, Task
from dlbench.execution.ray_cluster.actor import RemoteTaskError
from dlbench.execution.worker_cache import CachePolicy
from dlbench.validation.mutants import BODIES, write_mutants, write_stub
from dlbench.workspace import prepare
from tests.cli.test_judging import steady, verdicts_of
from tests.conftest import write_toy
from tests.execution.cluster.nodes import find_sandboxes, start_cluster
from tests.reporting.boards import RIGHT, SCALE, STEP, WRONG

pytest.importorskip("ray")
pytestmark = pytest.mark.slow

ENDLESS = "def scale(values, factor=2):\n    while True:\n        pass\n"
HOSTILE = (
    "def scale(values, factor=2):\n    import os\n    os._exit(0)\n",
    "def scale(values, factor=2):\n    import os, signal\n    os.kill(os.getppid(), signal.SIGKILL)\n    return values\n",
    ENDLESS,
)
UNBLOCKED = RIGHT[SCALE].replace(
    "    if not", "    import signal\n    assert not signal.pthread_sigmask(0, ())\n    if not", 1
)
SLOW = RIGHT[SCALE].replace("    if not", "    import time\n    time.sleep(0.2)\n    if not", 1)
SLEEPS = "def scale(values, factor=2):\n    import time\n    time.sleep(600)\n"


@pytest.fixture(scope="module")
def toys(tmp_path_factory):
    """With a unique comment, to find its sandboxes among all others of this machine."""
    root = tmp_path_factory.mktemp("cluster")
    benchmark = write_toy(root)
    with (root / "source/toy/base.py").open("a") as file:
        file.write(f"# {uuid.uuid4()}\n")
    return load(benchmark)


@pytest.fixture(scope="module")
def prepared(toys):
    return {"toy": prepare(toys.projects["toy"], toys.root)}


@pytest.fixture(scope="module")
def local():
    return Engine(choose_sandbox(), Limits(load_seconds=60, test_seconds=10, memory_mb=1024))


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """The workspace of a node that shares no disk with the driver."""
    return tmp_path_factory.mktemp("elsewhere")


@pytest.fixture(scope="module")
def cluster(elsewhere):
    alone = {"DLBENCH_HOME": str(elsewhere), "PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1"}
    with start_cluster({}, {}, alone) as started:
        yield started


@pytest.fixture(scope="module")
def log():
    return []


@pytest.fixture(scope="module")
def executor(cluster, log):
    from dlbench.execution.ray_cluster.executor import RayExecutor

    found = RayExecutor(cluster.address, log=log.append, patience=120)
    yield found
    found.close()


@pytest.fixture(scope="module")
def remote(local, executor):
    return replace(local, executor=executor)


def make_tasks(benchmark, engine, prepared) -> list[Task]:
    tasks: list[Task] = []
    for instance in benchmark.instances.values():
        target = engine.target(prepared["toy"], instance).target
        codes = [None, target.text, *(write_stub(target.node, kind) for kind in BODIES)]
        codes += [code for _, code in write_mutants(target.node, 6)]
        codes += [write_copy(target.node, number) for number in range(6)]
        tasks += [Task(instance, code, len(tasks) + number) for number, code in enumerate(codes)]
    scale = benchmark.instances[SCALE]
    return tasks + [Task(scale, code, len(tasks) + number) for number, code in enumerate([*HOSTILE, UNBLOCKED])]


def plain(value):
    """Without addresses of objects, seconds, and widths that depend on the path of the workspace."""
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [plain(one) for one in value]
    return re.sub(r"0x[0-9a-f]+|after \d+ s|\s+", " ", value) if isinstance(value, str) else value


def judge(engine, prepared, tasks, on_verdict=lambda task: None, mode="auto"):
    """Steady records by task; every task must come exactly once."""
    found: dict[int, dict] = {}

    def keep(task, verdict):
        assert task.sample not in found
        found[task.sample] = plain(steady([verdict.as_record()])[0])
        on_verdict(task)

    Pool(engine, prepared, workers=3, mode=mode).run(tasks, keep)
    assert sorted(found) == [task.sample for task in tasks]
    return found


@pytest.fixture(scope="module")
def tasks(toys, local, prepared):
    return make_tasks(toys, local, prepared)


@pytest.fixture(scope="module")
def expected(local, prepared, tasks):
    return judge(local, prepared, tasks)


def test_every_verdict_of_three_nodes_is_the_local_one(remote, prepared, tasks, expected, executor):
    assert executor.count(remote, 1) == 3
    assert judge(remote, prepared, tasks) == expected
    assert Counter(record["status"] for record in expected.values()).keys() >= {"pass", "fail", "error", "timeout"}
    assert expected[tasks[-1].sample]["status"] == "pass", "a signal is blocked where candidates run"


def test_node_without_project_and_index_is_sent_both_parts(log, elsewhere, prepared):
    """Runs after the test above: the node has what the driver has."""
    sent = [line for line in log if line.startswith("sending")]
    assert len(sent) == 2, log
    tree = elsewhere / "sources" / prepared["toy"].tree.parent.name / "tree"
    assert (tree / "toy/core.py").read_bytes() == (prepared["toy"].tree / "toy/core.py").read_bytes()
    assert (elsewhere / "environments" / prepared["toy"].environment.name / "bin/python").exists()
    assert not list(elsewhere.glob("*/.*.building-*"))


def test_two_actors_of_a_node_prepare_a_project_once(cluster, executor, prepared, tmp_path_factory):
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    from dlbench.execution.ray_cluster.actor import WorkerActor
    from dlbench.execution.ray_cluster.transfer import Part, describe

    home = tmp_path_factory.mktemp("once")
    bundle = describe(prepared["toy"])
    place = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    away = {"env_vars": {"DLBENCH_HOME": str(home)}}
    options = {"num_cpus": 0, "scheduling_strategy": place, "runtime_env": away}
    actors = [ray.remote(WorkerActor).options(**options).remote() for _ in range(2)]
    for part in Part:
        pieces = executor.ship(prepared["toy"], part, lambda: None)
        assert executor.ship(prepared["toy"], part, lambda: pytest.fail("packed twice")) is pieces
        replies = ray.get([actor.receive.remote(bundle, part, pieces) for actor in actors])
        assert sorted(reply.value for reply in replies) == [False, True]
    for actor in actors:
        ray.kill(actor)


def test_fresh_mode_cross_runs_and_admission_give_the_local_results(toys, local, remote, prepared, tasks):
    some = tasks[:2]
    assert judge(remote, prepared, some, mode="fresh") == judge(local, prepared, some, mode="fresh")
    instance = toys.instances[SCALE]
    checks = ["assert scale([1], 3) == [3]", "assert scale([1]) == [7]", "scale([1], 0)"]
    solutions = [
        CrossRunTask(instance, name, code, checks) for name, code in (("r", RIGHT[SCALE]), ("w", WRONG[SCALE]))
    ]
    results, admitted = [], []
    for engine in (local, remote):
        rows: dict[str, list[str]] = {}

        def note(task, row, rows=rows):
            rows[task.key] = [str(one.result) for one in row]

        CrossRunPool(engine, prepared, workers=2).run(solutions, note)
        results.append(rows)
        admit_all(
            engine,
            prepared["toy"],
            [instance],
            lambda found: admitted.append(replace(found, seconds=0.0, memory_mb=0.0)),
            mutants=3,
        )
    assert results[0] == results[1]
    assert results[0]["r"] == [str(Result.PASSED), str(Result.FAILED), str(Result.ERROR)]
    assert admitted[0] == admitted[1]
    assert admitted[0].killed


def test_task_that_kills_every_actor_is_given_up_and_the_cache_goes_on(remote, prepared, log):
    cache = remote.executor.open(remote, prepared, CachePolicy(Warm))
    with pytest.raises(RemoteTaskError, match="every worker that ran the task was lost"):
        cache.run("toy", lambda warm, item: os.kill(os.getpid(), signal.SIGKILL), None)
    assert len([line for line in log if line.startswith("lost a worker")]) == 3
    assert cache.run("toy", lambda warm, item: item + 1, 1) == 2
    cache.close()


def write_samples(path: Path, *codes: str) -> Path:
    records = [{"instance": SCALE, "sample": number, "code": code} for number, code in enumerate(codes)]
    records.append({"instance": STEP, "sample": 0, "code": RIGHT[STEP]})
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def start_command(toys, *words: object) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "dlbench", *map(str, words), "--benchmark", str(toys.root), "--memory", "1024"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_command_writes_the_same_file_locally_and_on_the_cluster(cluster, executor, toys, tmp_path):
    samples = write_samples(tmp_path / "s.jsonl", RIGHT[SCALE], WRONG[SCALE], HOSTILE[0], "def scale(:\n")
    there = ("--executor", "ray", "--ray-address", cluster.address)
    for name, where in (("here", ()), ("there", there)):
        command = start_command(toys, "evaluate", samples, "--out", tmp_path / name, *where)
        out, err = command.communicate(timeout=300)
        assert command.returncode == 0, err
        assert "pass@1" in out
    assert plain(steady(verdicts_of(tmp_path / "there"))) == plain(steady(verdicts_of(tmp_path / "here")))


def test_interrupted_run_leaves_no_candidate_on_any_node(cluster, executor, toys, prepared, tmp_path):
    samples = write_samples(tmp_path / "s.jsonl", *[SLEEPS] * 60)
    where = ("--executor", "ray", "--ray-address", cluster.address)
    command = start_command(toys, "evaluate", samples, "--out", tmp_path / "out", "--timeout", 600, *where)
    tree = Path(prepared["toy"].tree.parent.name)
    wait_for(lambda: len(find_sandboxes(tree)) >= 3)
    time.sleep(2)  # by now some of them have a candidate
    command.send_signal(signal.SIGINT)
    _, err = command.communicate(timeout=60)
    assert command.returncode == 130, err
    wait_for(lambda: not find_sandboxes(tree), seconds=10)


def wait_for(condition, seconds: float = 90.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "timed out"
        time.sleep(0.1)


def test_killed_node_changes_no_verdict(cluster, toys, remote, prepared, tasks, expected, log, elsewhere):
    """The node dies while its sandbox and others run."""
    log.clear()
    tree = elsewhere / "sources" / prepared["toy"].tree.parent.name
    slow = [Task(toys.instances[SCALE], SLOW, 1000 + number) for number in range(18)]
    found_when_killed = []
    done = []

    def kill() -> None:
        wait_for(lambda: len(done) > 5 and find_sandboxes(tree))
        found_when_killed.extend(done)
        cluster.kill(-1)

    killer = threading.Thread(target=kill)
    killer.start()
    some = [task for task in tasks if task.code != ENDLESS]
    found = judge(remote, prepared, [*some, *slow], on_verdict=done.append)
    killer.join()
    assert 0 < len(found_when_killed) < len(found)
    assert {task.sample: found[task.sample] for task in some} == {task.sample: expected[task.sample] for task in some}
    assert {found[task.sample]["status"] for task in slow} == {"pass"}
    assert [line for line in log if line.startswith("lost a worker")]
    wait_for(lambda: not find_sandboxes(tree), seconds=10)


def test_run_ends_with_an_error_when_no_slot_is_left(remote, prepared, tasks, executor, monkeypatch):
    """Other work takes all cores of the cluster."""
    import ray

    monkeypatch.setattr(executor, "patience", 3.0)
    other = ray.remote(num_cpus=1)(lambda: time.sleep(120))
    taken = [other.remote() for _ in range(executor.count(remote, 1))]
    wait_for(lambda: ray.available_resources().get("CPU", 0) == 0)
    kept = []
    with pytest.raises(DLBenchError, match="no free slot for"):
        Pool(remote, prepared).run(tasks[:2], lambda task, verdict: kept.append(verdict))
    assert not kept
    for one in taken:
        ray.cancel(one, force=True)
