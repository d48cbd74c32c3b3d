"""Parts of the Ray executor that need no cluster: addresses, slots, archives in pieces, and preparing a bundle."""

import os
import tarfile
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dlbench.errors import DLBenchError
from dlbench.execution.judge import Warm
from dlbench.execution.limits import Limits
from dlbench.execution.ray_cluster import transfer
from dlbench.execution.ray_cluster.actor import Reply, WorkerActor
from dlbench.execution.ray_cluster.executor import _slots_of, connect
from dlbench.execution.ray_cluster.transfer import (
    Part,
    complete_bundle,
    describe,
    find_folder,
    prepare_locally,
    receive_part,
)
from dlbench.execution.worker_cache import CachePolicy
from dlbench.workspace.environment import environment_folder
from tests.scaffold import LOCK


@pytest.mark.parametrize(
    ("address", "what"),
    [
        ("127.0.0.1:1", "no Ray answers there"),
        ("nowhere.invalid:6379", "no Ray answers there"),
        ("nowhere", "not an address of Ray"),
        ("127.0.0.1:99999999", "no Ray answers there"),
        ("ray://127.0.0.1:10001", "client protocol"),
    ],
)
def test_bad_address_is_reported_at_once(address, what):
    pytest.importorskip("ray")
    with pytest.raises(DLBenchError, match=what) as error:
        connect(address, 1, 1024)
    assert error.value.where == address
    assert error.value.fix


@pytest.mark.parametrize(
    ("resources", "slots"),
    [
        ({"CPU": 4.0, "memory": 4.0 * 2**30}, 4),
        ({"CPU": 4.0, "memory": 2.5 * 2**30}, 2),
        ({"CPU": 0.5, "memory": 8.0 * 2**30}, 0),
        ({"memory": 8.0 * 2**30}, 0),
        ({"CPU": 2.0}, 0),
    ],
    ids=["cores", "memory", "half a core", "no core", "no memory"],
)
def test_node_has_one_slot_per_core_with_memory_for_it(resources, slots):
    assert _slots_of({"Resources": resources}, 1024) == slots


names = st.text(st.sampled_from("abcé.- "), min_size=1, max_size=8).filter(lambda name: name.strip(". "))


@given(files=st.dictionaries(names, st.binary(max_size=3000), max_size=6), piece=st.integers(1, 5000))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_unpacked_folder_equals_the_packed_one(files, piece, tmp_path_factory, monkeypatch):
    monkeypatch.setattr(transfer, "_PIECE", piece)
    before, after = tmp_path_factory.mktemp("before"), tmp_path_factory.mktemp("after")
    for name, content in files.items():
        (before / name).write_bytes(content)
    (before / "run").write_text("#!/bin/sh\n")
    (before / "run").chmod(0o755)
    (before / "away").symlink_to("/usr/bin/env")
    pieces: list[bytes] = []
    transfer.pack(before, pieces.append)
    transfer.unpack(iter(pieces), after)
    assert {path.name: path.read_bytes() for path in after.iterdir() if not path.is_symlink()} == {
        path.name: path.read_bytes() for path in before.iterdir() if not path.is_symlink()
    }
    assert os.access(after / "run", os.X_OK)
    assert (after / "away").readlink() == Path("/usr/bin/env")


@pytest.fixture
def elsewhere(tmp_path, monkeypatch, toy_prepared):
    """The workspace of another machine, and the bundle sent to it."""
    bundle = replace(describe(toy_prepared), lock=LOCK)  # the environment may be older than its recorded lock
    monkeypatch.setenv("DLBENCH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    return bundle


def receive(prepared, part):
    pieces: list[bytes] = []
    transfer.pack(find_folder(prepared, part), pieces.append)
    return lambda: iter(pieces)


def test_node_reuses_what_it_has(toy_prepared, monkeypatch):
    monkeypatch.setattr(transfer, "_make", lambda *args: pytest.fail("it is present"))
    assert prepare_locally(describe(toy_prepared)) == {}
    assert complete_bundle(describe(toy_prepared)) == toy_prepared


def test_node_without_an_index_reports_what_must_be_sent(elsewhere):
    missing = prepare_locally(elsewhere)
    assert missing[Part.SOURCE] == "it is a folder of the driver"
    assert "index" in missing[Part.ENVIRONMENT]
    assert not elsewhere.has(Part.ENVIRONMENT)


def test_node_receives_each_part_once_and_can_then_judge(elsewhere, toy, toy_prepared, engine):
    for part in Part:
        assert receive_part(elsewhere, part, receive(toy_prepared, part))
        assert not receive_part(elsewhere, part, lambda: pytest.fail("it was received"))
    assert prepare_locally(elsewhere) == {}
    prepared = complete_bundle(elsewhere)
    assert prepared.tree != toy_prepared.tree
    instance = next(iter(toy.instances.values()))
    assert Warm(engine, prepared).profile(instance).passes


def test_partly_sent_folder_does_not_count(elsewhere, toy_prepared):
    def broken():
        yield b"not an archive"

    with pytest.raises(tarfile.ReadError):
        receive_part(elsewhere, Part.SOURCE, broken)
    assert not elsewhere.has(Part.SOURCE)
    assert receive_part(elsewhere, Part.SOURCE, receive(toy_prepared, Part.SOURCE))


def test_environment_without_its_interpreter_is_rejected(elsewhere, toy_prepared, tmp_path):
    bare = tmp_path / "bare"
    (bare / "bin").mkdir(parents=True)
    (bare / "bin/python").symlink_to(tmp_path / "gone/python")
    pieces: list[bytes] = []
    transfer.pack(bare, pieces.append)
    with pytest.raises(DLBenchError, match="without an interpreter"):
        receive_part(elsewhere, Part.ENVIRONMENT, lambda: iter(pieces))


def test_node_without_a_sandbox_needs_the_unconfined_option(monkeypatch):
    monkeypatch.setattr(
        "dlbench.execution.sandbox.find_sandboxes", lambda: [(type("Kind", (), {"name": "walls"}), "none here")]
    )
    actor = WorkerActor()
    policy = CachePolicy(Warm, 100.0)
    assert "there is no sandbox on this machine (walls: none here)" in actor.open("auto", Limits(), policy).error
    assert not actor.open("unconfined", Limits(), policy).error


def test_fault_on_a_node_is_reported_with_its_type(toy_prepared, engine):
    actor = WorkerActor()
    actor.open("auto", Limits(), CachePolicy(Warm))
    actor.prepare(describe(toy_prepared))
    reply = actor.run("toy", _fail, "this")
    assert reply.error == "KeyError: 'this'"
    assert reply.projects == ("toy",)
    actor.close()


def _fail(warm, item):
    raise KeyError(item)


def make_executor(**attributes):
    from dlbench.execution.ray_cluster.executor import RayExecutor

    executor = object.__new__(RayExecutor)  # without Ray
    executor.active, executor.left_at, executor.patience = set(), time.monotonic(), 0.0
    for name, value in attributes.items():
        setattr(executor, name, value)
    return executor


def test_node_with_another_engine_is_not_used():
    with pytest.raises(DLBenchError, match=r"the node far has dlbench 0\.0") as error:
        make_executor().check_actor(Reply("dlbench 0.0, engine x", node="far"))
    assert "same release" in error.value.fix


def test_waiting_for_a_slot_ends_only_when_no_worker_is_active():
    executor = make_executor(active={object()})
    began = time.monotonic()
    time.sleep(0.01)
    executor.check_patience(began)
    executor.active.clear()
    with pytest.raises(DLBenchError, match="no free slot"):
        executor.check_patience(began)


def test_environment_without_a_lock_is_sent(elsewhere):
    unknown = replace(elsewhere, lock="")
    assert prepare_locally(unknown)[Part.ENVIRONMENT] == "its lock is unknown"


def test_node_with_an_index_builds_the_same_environment(elsewhere, monkeypatch, tmp_path):
    """From the driver's lock, into the folder of the same name."""
    seen = []

    def build(lock, python, log):
        seen.append((lock.stem, lock.read_text(), python))
        folder = environment_folder(lock, python)
        (folder / "bin").mkdir(parents=True)
        (folder / "bin/python").touch()
        (folder / ".dlbench-complete").write_text("{}")

    monkeypatch.setattr(transfer, "build_environment", build)
    assert list(prepare_locally(elsewhere)) == [Part.SOURCE]
    assert seen == [("toy", LOCK, elsewhere.project.python)]
