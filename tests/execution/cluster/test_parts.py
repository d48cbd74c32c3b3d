"""The parts of the cluster that need none: addresses, places, archives in pieces, and what a node does with a parcel."""

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
from dlbench.execution.ray_cluster import transfer as parcels
from dlbench.execution.ray_cluster.actor import ActorInfo, WorkerActor
from dlbench.execution.ray_cluster.executor import _places_of, connect
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
def test_a_bad_address_is_refused_in_words_and_soon(address, what):
    pytest.importorskip("ray")
    with pytest.raises(DLBenchError, match=what) as error:
        connect(address, 1, 1024)
    assert error.value.where == address
    assert error.value.fix


@pytest.mark.parametrize(
    ("has", "places"),
    [
        ({"CPU": 4.0, "memory": 4.0 * 2**30}, 4),
        ({"CPU": 4.0, "memory": 2.5 * 2**30}, 2),
        ({"CPU": 0.5, "memory": 8.0 * 2**30}, 0),
        ({"memory": 8.0 * 2**30}, 0),
        ({"CPU": 2.0}, 0),
    ],
    ids=["cores", "memory", "half a core", "no core", "no memory"],
)
def test_a_node_has_as_many_places_as_it_has_cores_with_memory_for_one_each(has, places):
    assert _places_of({"Resources": has}, 1024) == places


names = st.text(st.sampled_from("abcé.- "), min_size=1, max_size=8).filter(lambda name: name.strip(". "))


@given(files=st.dictionaries(names, st.binary(max_size=3000), max_size=6), piece=st.integers(1, 5000))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_folder_comes_out_of_its_pieces_as_it_went_in(files, piece, tmp_path_factory, monkeypatch):
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
    """Another machine's workspace, and what it is told."""
    parcel = replace(describe(toy_prepared), lock=LOCK)  # the environment may be older than the note of its lock
    monkeypatch.setenv("DLBENCH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    return parcel


def receive(prepared, part):
    pieces: list[bytes] = []
    transfer.pack(find_folder(prepared, part), pieces.append)
    return lambda: iter(pieces)


def test_what_a_node_has_already_is_neither_made_nor_sent(toy_prepared, monkeypatch):
    monkeypatch.setattr(parcels, "_make", lambda *args: pytest.fail("it is there"))
    assert prepare_locally(describe(toy_prepared)) == {}
    assert complete_bundle(describe(toy_prepared)) == toy_prepared


def test_a_node_without_an_index_says_what_must_be_sent_and_why(elsewhere):
    left = prepare_locally(elsewhere)
    assert left[Part.SOURCE] == "it is a folder of the driver's"
    assert "index" in left[Part.ENVIRONMENT]
    assert not elsewhere.has(Part.ENVIRONMENT)


def test_a_node_takes_in_what_is_sent_once_and_can_then_judge(elsewhere, toy, toy_prepared, engine):
    for part in Part:
        assert receive_part(elsewhere, part, receive(toy_prepared, part))
        assert not receive_part(elsewhere, part, lambda: pytest.fail("it was there"))
    assert prepare_locally(elsewhere) == {}
    prepared = complete_bundle(elsewhere)
    assert prepared.tree != toy_prepared.tree
    instance = next(iter(toy.instances.values()))
    assert Warm(engine, prepared)._rehearse(instance).passes


def test_a_half_sent_folder_is_not_there(elsewhere, toy_prepared):
    def broken():
        yield b"not an archive"

    with pytest.raises(tarfile.ReadError):
        receive_part(elsewhere, Part.SOURCE, broken)
    assert not elsewhere.has(Part.SOURCE)
    assert receive_part(elsewhere, Part.SOURCE, receive(toy_prepared, Part.SOURCE))


def test_an_environment_without_its_interpreter_is_refused_in_words(elsewhere, toy_prepared, tmp_path):
    bare = tmp_path / "bare"
    (bare / "bin").mkdir(parents=True)
    (bare / "bin/python").symlink_to(tmp_path / "gone/python")
    pieces: list[bytes] = []
    transfer.pack(bare, pieces.append)
    with pytest.raises(DLBenchError, match="without an interpreter"):
        receive_part(elsewhere, Part.ENVIRONMENT, lambda: iter(pieces))


def test_a_node_without_a_sandbox_refuses_in_words_unless_told_to_do_without(monkeypatch):
    monkeypatch.setattr(
        "dlbench.execution.sandbox.find_confinements", lambda: [(type("Kind", (), {"name": "walls"}), "none here")]
    )
    host = WorkerActor()
    keeping = CachePolicy(Warm, 100.0)
    assert "there is no sandbox on this machine (walls: none here)" in host.open("auto", Limits(), keeping).refusal
    assert not host.open("unconfined", Limits(), keeping).refusal


def test_a_fault_on_a_node_is_told_by_its_name(toy_prepared, engine):
    host = WorkerActor()
    host.open("auto", Limits(), CachePolicy(Warm))
    host.prepare(describe(toy_prepared))
    answer = host.ask("toy", _fail, "this")
    assert answer.error == "KeyError: 'this'"
    assert answer.projects == ("toy",)
    host.close()


def _fail(warm, item):
    raise KeyError(item)


def make_seats(**given):
    from dlbench.execution.ray_cluster.executor import RayExecutor

    seats = object.__new__(RayExecutor)  # without a Ray behind it
    seats.seated, seats._left_at, seats.patience = set(), time.monotonic(), 0.0
    for name, value in given.items():
        setattr(seats, name, value)
    return seats


def test_a_node_with_another_engine_is_not_used():
    with pytest.raises(DLBenchError, match=r"the node far has dlbench 0\.0") as error:
        make_seats().check_greeting(ActorInfo("far", "dlbench 0.0, engine x"))
    assert "same release" in error.value.fix


def test_waiting_for_a_place_ends_only_when_nobody_has_one():
    seats = make_seats(seated={object()})
    check = seats.check_patience(time.monotonic())
    time.sleep(0.01)
    check()
    seats.seated.clear()
    with pytest.raises(DLBenchError, match="no place"):
        check()


def test_a_project_that_nobody_knows_how_to_build_is_sent(elsewhere):
    unknown = replace(elsewhere, lock="")
    assert prepare_locally(unknown)[Part.ENVIRONMENT] == "its lock is not known"


def test_a_node_with_an_index_builds_the_same_environment_itself(elsewhere, monkeypatch, tmp_path):
    """By the lock that the driver tells, into the folder of the same name."""
    seen = []

    def build(lock, python, log):
        seen.append((lock.stem, lock.read_text(), python))
        folder = environment_folder(lock, python)
        (folder / "bin").mkdir(parents=True)
        (folder / "bin/python").touch()
        (folder / ".dlbench-complete").write_text("{}")

    monkeypatch.setattr(parcels, "build_environment", build)
    assert list(prepare_locally(elsewhere)) == [Part.SOURCE]
    assert seen == [("toy", LOCK, elsewhere.project.python)]
