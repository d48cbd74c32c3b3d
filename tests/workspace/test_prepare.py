import subprocess
from pathlib import Path

import pytest

from dlbench.dataset.records import Project
from dlbench.errors import DLBenchError
from dlbench.workspace import prepare, prepared_if_ready

from .parts import Index, make_project, make_sdist, make_wheel, sha256

NAME = "tiny_net-1.0.tar.gz"


@pytest.fixture
def project(index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    wheel = make_wheel(tmp_path / "wheels")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    (tmp_path / "locks").mkdir()
    (tmp_path / "locks" / "tiny.txt").write_text(f"tiny-dep==1.0 --hash=sha256:{sha256(wheel)}\n")
    pinned = make_sdist(index.files / NAME)
    index.list()
    index.list("tiny-dep")
    return make_project(archive=NAME, sha256=pinned)


def test_prepared_project_imports_and_is_reused(project: Project, tmp_path: Path, messages: list[str]) -> None:
    assert prepared_if_ready(project, tmp_path) is None
    prepared = prepare(project, tmp_path, messages.append)
    assert prepared_if_ready(project, tmp_path) == prepared
    assert prepared.import_path == prepared.tree / project.import_root
    code = "import tiny_net, tiny_dep; print(tiny_net.double(2))"
    done = subprocess.run([prepared.python, "-c", code], cwd=prepared.import_path, capture_output=True, text=True)
    assert done.stdout == "4\n"
    before = len(messages)
    assert prepare(project, tmp_path, messages.append) == prepared
    assert len(messages) == before


def test_bytecode_is_invalidated_by_a_changed_source(project: Project, tmp_path: Path) -> None:
    prepared = prepare(project, tmp_path)
    (bytecode,) = (prepared.tree / "tiny_net" / "__pycache__").iterdir()
    flags = int.from_bytes(bytecode.read_bytes()[4:8], "little")
    assert flags == 0, "a flag other than 0 means bytecode by hash, not by timestamp"


def test_missing_lock_is_an_error_in_prepare_and_not_ready_otherwise(project: Project, tmp_path: Path) -> None:
    other = project.model_copy(update={"environment": "other"})
    assert prepared_if_ready(other, tmp_path) is None
    with pytest.raises(DLBenchError) as caught:
        prepare(other, tmp_path)
    assert caught.value.where.endswith("other.txt")
