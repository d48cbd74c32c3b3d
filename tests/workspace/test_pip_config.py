import os
import sys
from pathlib import Path

import pytest

from dlbench.errors import DLBenchError
from dlbench.workspace.pip_config import PipConfig, read_pip_config, redacted


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """Environment variables with all of pip's locations in temporary folders."""
    return {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "xdg"), "XDG_CONFIG_DIRS": str(tmp_path / "all")}


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def index_in(path: Path, name: str, section: str = "global") -> None:
    write(path, f"[{section}]\nindex-url = http://{name}/simple\n")


def test_later_files_override_as_in_pip(
    tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "site"))
    order = [tmp_path / ".pip", tmp_path / "xdg" / "pip", tmp_path / "site"]
    for number, folder in enumerate(order):
        index_in(folder / "pip.conf", f"place{number}")
        assert read_pip_config(environ).index_url == f"http://place{number}/simple"
    chosen = tmp_path / "chosen.conf"
    index_in(chosen, "chosen")
    environ["PIP_CONFIG_FILE"] = str(chosen)
    assert read_pip_config(environ).index_url == "http://chosen/simple"
    environ["PIP_INDEX_URL"] = "http://variable/simple"
    assert read_pip_config(environ).index_url == "http://variable/simple"
    environ["PIP_INDEX_URL"] = ""
    assert read_pip_config(environ).index_url == "http://chosen/simple"


def test_system_files_are_read(tmp_path: Path, environ: dict[str, str]) -> None:
    write(tmp_path / "all" / "pip" / "pip.conf", "[global]\ntrusted-host = one\n two\n")
    assert read_pip_config(environ).trusted_hosts == ("one", "two")


def test_install_section_overrides_global(tmp_path: Path, environ: dict[str, str]) -> None:
    index_in(tmp_path / ".pip" / "pip.conf", "install", section="install")
    index_in(tmp_path / "xdg" / "pip" / "pip.conf", "global")
    assert read_pip_config(environ).index_url == "http://install/simple"


def test_chosen_file_hides_the_users_files_and_devnull_hides_all(tmp_path: Path, environ: dict[str, str]) -> None:
    index_in(tmp_path / ".pip" / "pip.conf", "user")
    write(tmp_path / "chosen.conf", "[global]\ntimeout = 5\n")
    assert read_pip_config(environ | {"PIP_CONFIG_FILE": str(tmp_path / "chosen.conf")}).index_url is None
    assert read_pip_config(environ | {"PIP_CONFIG_FILE": os.devnull}) == PipConfig()


def test_multiple_values_on_one_or_several_lines(tmp_path: Path, environ: dict[str, str]) -> None:
    several = "find_links =\n    ~/wheels\n    http://a/b\nextra-index-url = http://a/s file:///x/s\n"
    write(tmp_path / ".pip" / "pip.conf", f"[global]\n{several}no-index = yes\n")
    config = read_pip_config(environ)
    assert config.find_links == (str(Path("~/wheels").expanduser()), "http://a/b")
    assert config.extra_index_urls == ("http://a/s", "file:///x/s")
    assert config.no_index


def test_malformed_file_is_reported(tmp_path: Path, environ: dict[str, str]) -> None:
    write(tmp_path / ".pip" / "pip.conf", "no section here\n")
    with pytest.raises(DLBenchError) as caught:
        read_pip_config(environ)
    assert caught.value.where == str(tmp_path / ".pip" / "pip.conf")


def test_uv_arguments_cover_the_configuration() -> None:
    config = PipConfig("http://a/simple", ("http://b/simple",), ("/wheels",), trusted_hosts=("a",))
    arguments = " ".join(config.uv_arguments())
    for expected in (
        "--find-links /wheels",
        "--default-index http://a/simple",
        "--extra-index-url http://b/simple",
        "--allow-insecure-host a",
        "--index-strategy unsafe-best-match",
    ):
        assert expected in arguments
    assert "--index-strategy" not in PipConfig("http://a/simple").uv_arguments()


def test_no_index_leaves_only_find_links() -> None:
    config = PipConfig("http://a/simple", ("http://b/simple",), ("/wheels",), no_index=True)
    assert config.uv_arguments() == ["--find-links", "/wheels", "--no-index"]


def test_certificates_reach_uv_unless_overridden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    assert PipConfig(cert="/c.pem").environment() == {"SSL_CERT_FILE": "/c.pem"}
    monkeypatch.setenv("SSL_CERT_FILE", "/other.pem")
    assert PipConfig(cert="/c.pem").environment() == {}


def test_password_is_never_shown() -> None:
    assert redacted("see http://me:secret@host/simple now") == "see http://****@host/simple now"
    assert "secret" not in repr(PipConfig("http://me:secret@host/simple"))
