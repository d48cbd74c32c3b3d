import time
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess
from pathlib import Path

import pytest

from dlbench.errors import DLBenchError
from dlbench.workspace.home import building, home, locked, quiet

FORK = get_context("fork")


def hold(line: Connection) -> None:
    with locked("thing", line.send):
        line.send("holds")
        line.recv()


def build(line: Connection) -> None:
    target = home() / "sources" / "thing"
    with locked("thing", quiet):
        if not target.exists():
            with building(target) as folder:
                (folder / "part").touch()
                line.send("building")
                time.sleep(0.3)
                (folder / "whole").touch()
    line.send(sorted(path.name for path in target.iterdir()))


def started(work: Callable[[Connection], None]) -> tuple[ForkProcess, Connection]:
    here, there = FORK.Pipe()
    process = FORK.Process(target=work, args=(there,), daemon=True)
    process.start()
    there.close()
    return process, here


def heard(line: Connection) -> object:
    """Receive a message; fail instead of hanging."""
    assert line.poll(20)
    return line.recv()


def test_environment_variable_chooses_the_folder_and_it_is_created(tmp_path: Path) -> None:
    assert home() == tmp_path / "home"
    assert home().is_dir()


def test_file_instead_of_the_folder_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        monkeypatch.setenv("DLBENCH_HOME", str(place))
        with pytest.raises(DLBenchError) as caught:
            home()
        assert str(place) in caught.value.where
        assert "DLBENCH_HOME" in caught.value.fix


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device that is always full")
def test_full_disk_is_reported_with_a_fix(tmp_path: Path) -> None:
    with pytest.raises(DLBenchError, match="the disk is full"), building(tmp_path / "target"):
        Path("/dev/full").write_text("x")
    assert list(tmp_path.glob("*target*")) == []


def test_second_process_waits_and_logs_once() -> None:
    first, to_first = started(hold)
    assert heard(to_first) == "holds"
    second, to_second = started(hold)
    assert "waiting for another process" in str(heard(to_second))
    assert not to_second.poll(0.1)
    to_first.send("let go")
    assert heard(to_second) == "holds"
    to_second.send("let go")
    first.join()
    second.join()


def test_other_lock_does_not_wait(messages: list[str]) -> None:
    with locked("one", messages.append), locked("two/with odd:characters", messages.append):
        pass
    assert messages == []


def test_concurrent_builds_give_one_complete_folder() -> None:
    both = [started(build) for _ in range(2)]
    messages = []
    for process, line in both:
        while "whole" not in str(text := heard(line)):
            messages.append(text)
        messages.append(text)
        process.join()
    assert sorted(map(str, messages)) == ["['part', 'whole']", "['part', 'whole']", "building"]


def test_failed_build_leaves_nothing_behind(tmp_path: Path) -> None:
    target = tmp_path / "some" / "target"
    with pytest.raises(FileExistsError), building(target) as folder:
        folder.mkdir()
    assert list(target.parent.iterdir()) == []


def test_leftovers_of_a_killed_build_are_removed_by_the_next() -> None:
    target = home() / "sources" / "thing"
    killed, line = started(build)
    assert heard(line) == "building"
    killed.kill()
    killed.join()
    assert [path.name.partition("-")[0] for path in target.parent.iterdir()] == [".thing.building"]
    with locked("thing", quiet), building(target) as folder:
        (folder / "file").touch()
    assert [path.name for path in target.parent.iterdir()] == ["thing"]
