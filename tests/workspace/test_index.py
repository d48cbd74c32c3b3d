import socket
import zipfile
from pathlib import Path

import pytest

from dlbench.errors import DLBenchError
from dlbench.workspace.package_index import download

from .parts import Index, make_sdist

NAME = "tiny_net-1.0.tar.gz"


@pytest.fixture
def pinned(index: Index) -> str:
    found = make_sdist(index.files / NAME)
    index.list()
    return found


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_file_is_fetched_through_relative_links(index: Index, pinned: str, tmp_path: Path, messages: list[str]) -> None:
    download("Tiny.Net", NAME, pinned, tmp_path / "in" / NAME, messages.append)
    assert (tmp_path / "in" / NAME).read_bytes() == (index.files / NAME).read_bytes()
    assert messages == [f"fetching {NAME} from 127.0.0.1"]
    assert index.requests == ["/simple/tiny-net/", f"/files/{NAME}"]


def test_wrong_hash_is_reported_and_the_file_removed(pinned: str, tmp_path: Path, messages: list[str]) -> None:
    folder = tmp_path / "in"
    with pytest.raises(DLBenchError) as caught:
        download("tiny-net", NAME, "0" * 64, folder / NAME, messages.append)
    assert pinned in caught.value.what
    assert "0" * 64 in caught.value.what
    assert list(folder.iterdir()) == []


def test_missing_file_is_reported_with_similar_names(pinned: str, tmp_path: Path, messages: list[str]) -> None:
    with pytest.raises(DLBenchError) as caught:
        download("tiny-net", "tiny_net-1.1.tar.gz", pinned, tmp_path / NAME, messages.append)
    assert NAME in caught.value.what


def test_unknown_project_is_reported(pinned: str, tmp_path: Path, messages: list[str]) -> None:
    with pytest.raises(DLBenchError, match="nor any file of a project named none-such"):
        download("none-such", "none_such-1.tar.gz", pinned, tmp_path / NAME, messages.append)


def test_transient_failure_is_retried(index: Index, pinned: str, tmp_path: Path, messages: list[str]) -> None:
    index.fail_first = 2
    download("tiny-net", NAME, pinned, tmp_path / NAME, messages.append)
    assert index.fail_first == 0


def test_truncated_response_is_retried(index: Index, pinned: str, tmp_path: Path, messages: list[str]) -> None:
    index.cut = ["/simple/", "/files/"]
    download("tiny-net", NAME, pinned, tmp_path / NAME, messages.append)
    assert index.cut == []


def test_network_failure_is_reported_without_password(
    tmp_path: Path, messages: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    port = closed_port()
    monkeypatch.setenv("PIP_INDEX_URL", f"http://me:secret@127.0.0.1:{port}/simple")
    with pytest.raises(DLBenchError) as caught:
        download("tiny-net", NAME, "0" * 64, tmp_path / NAME, messages.append)
    assert f"127.0.0.1:{port}" in caught.value.what
    assert "secret" not in str(caught.value)
    assert "again" in caught.value.fix


def test_password_is_sent_only_to_its_own_index(
    index: Index, pinned: str, tmp_path: Path, messages: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", index.url.replace("//", "//me:secret@"))
    here = index.url.replace("/simple", "/files")
    for files, login in ((here, "Basic "), (here.replace("127.0.0.1", "localhost"), "/files/")):
        index.list(files=files)
        download("tiny-net", NAME, pinned, tmp_path / NAME, messages.append)
        page, file = index.requests[-2:]
        assert page.startswith("Basic ")
        assert file.startswith(login)


def test_extra_index_is_used_when_the_first_is_down(
    index: Index, pinned: str, tmp_path: Path, messages: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{closed_port()}/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", index.url)
    download("tiny-net", NAME, pinned, tmp_path / NAME, messages.append)
    assert (tmp_path / NAME).is_file()


def test_folder_can_be_an_index(
    index: Index, pinned: str, tmp_path: Path, messages: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in (index.file_url, str(index.folder / "simple")):
        monkeypatch.setenv("PIP_INDEX_URL", place)
        download("tiny-net", NAME, pinned, tmp_path / NAME, messages.append)
        (tmp_path / NAME).unlink()
    assert index.requests == []


def test_find_links_come_first_and_no_index_is_honoured(
    index: Index, pinned: str, tmp_path: Path, messages: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", str(index.files))
    download("tiny-net", NAME, pinned, tmp_path / NAME, messages.append)
    assert index.requests == []
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(DLBenchError) as caught:
        download("tiny-net", "tiny_net-0.9.tar.gz", pinned, tmp_path / "none", messages.append)
    assert index.requests == []
    assert "no-index" in caught.value.fix


def test_page_that_is_not_an_index_is_reported(
    index: Index, tmp_path: Path, messages: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(index.folder / "page.zip", "w"):
        pass
    monkeypatch.setenv("PIP_FIND_LINKS", index.url.replace("/simple", "/page.zip"))
    with pytest.raises(DLBenchError, match="not a package index page"):
        download("tiny-net", NAME, "0" * 64, tmp_path / NAME, messages.append)
