import os
import shutil
import subprocess
import sys
import time
from multiprocessing import get_context
from multiprocessing.queues import Queue
from pathlib import Path

import pytest

from dlbench.errors import DiskFull, DLBenchError
from dlbench.workspace.environment import build_environment, is_complete, python_of
from dlbench.workspace.pip_config import PipConfig
from dlbench.workspace.uv import (
    _failure,
    compile_lock,
    first_install,
    uv_environment,
    without_package,
    without_torch_build,
)

from .parts import Index, make_wheel, sha256

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A find-links folder and no index, so that builds need no network."""
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    return tmp_path / "wheels"


@pytest.fixture
def lock(tmp_path: Path, wheels: Path) -> Path:
    path = tmp_path / "tiny.txt"
    path.write_text(f"tiny-dep==1.0 \\\n    --hash=sha256:{sha256(make_wheel(wheels))}\n")
    return path


def version_in(environment: Path) -> str:
    code = "import tiny_dep; print(tiny_dep.version)"
    return subprocess.check_output([python_of(environment), "-c", code], text=True).strip()


def test_environment_is_built_from_local_wheels(
    lock: Path, messages: list[str], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(lock.parent))
    monkeypatch.setenv("VIRTUAL_ENV", str(lock.parent))
    monkeypatch.setenv("UV_SYSTEM_PYTHON", "1")
    environment = build_environment(lock, PYTHON, messages.append)
    assert environment.parent == home / "environments"
    assert environment.name.startswith("tiny-")
    assert version_in(environment) == "1.0"
    assert list(environment.rglob("tiny_dep/__pycache__/*.pyc"))
    before = len(messages)
    assert build_environment(lock, PYTHON, messages.append) == environment
    assert len(messages) == before


def test_files_are_shared_with_the_cache(lock: Path, messages: list[str], home: Path) -> None:
    environment = build_environment(lock, PYTHON, messages.append)
    (module,) = environment.rglob("tiny_dep/__init__.py")
    assert module.stat().st_nlink > 1
    assert (home / "uv").is_dir()


def test_package_is_removed_from_a_lock_with_its_hashes():
    text = "a==1 \\\n    --hash=sha256:0\nMy_Net==2 \\\n    --hash=sha256:1 \\\n    --hash=sha256:2\nmy-net-extra==3\n"
    left = "a==1 \\\n    --hash=sha256:0\nmy-net-extra==3\n"
    assert without_package(text, "my.net") == left
    assert without_package(left, "my.net") == left


def list_files(environment: Path) -> dict[str, int]:
    paths = [path for path in environment.rglob("*") if path.is_file() and not path.is_symlink()]
    return {path.relative_to(environment).as_posix(): path.stat().st_ino for path in paths}


def test_environments_share_files_and_bytecode(lock: Path, wheels: Path, messages: list[str]) -> None:
    first = build_environment(lock, PYTHON, messages.append)
    more = lock.with_name("more.txt")
    other = make_wheel(wheels, "other_dep")
    more.write_text(f"{lock.read_text()}other-dep==1.0 \\\n    --hash=sha256:{sha256(other)}\n")
    second = build_environment(more, PYTHON, messages.append)
    before, after = list_files(first), list_files(second)
    shared = [name for name in before if "tiny_dep/" in name]
    assert any(name.endswith(".pyc") for name in shared)
    assert [name for name in shared if before[name] != after[name]] == []
    assert version_in(second) == "1.0"
    script = (second / "bin/tiny_dep-tool").read_text()
    assert str(second) in script
    assert str(first) not in script
    assert os.access(second / "bin/tiny_dep-tool", os.X_OK)
    # and nothing in it depends on what there was before
    shutil.rmtree(first)
    shutil.rmtree(second)
    assert set(list_files(build_environment(more, PYTHON, messages.append))) == set(after)


def test_changed_environment_does_not_affect_the_next(lock: Path, wheels: Path, messages: list[str]) -> None:
    first = build_environment(lock, PYTHON, messages.append)
    (module,) = first.rglob("tiny_dep/__init__.py")
    module.unlink()
    module.write_text("version = 'forged'\n")
    wheel = make_wheel(wheels)
    more = lock.with_name("more.txt")
    more.write_text(f"tiny-dep==1.0 \\\n    --hash=sha256:{sha256(wheel)} \\\n    --hash=sha256:{'0' * 64}\n")
    assert version_in(build_environment(more, PYTHON, messages.append)) == "1.0"


def test_environment_is_readable_despite_a_strict_umask(lock: Path, messages: list[str]) -> None:
    before = os.umask(0o077)
    try:
        environment = build_environment(lock, PYTHON, messages.append)
    finally:
        os.umask(before)
    for path in (environment.parent, environment, *environment.rglob("tiny_dep/*")):
        assert path.stat().st_mode & 0o004, path


def test_interrupted_build_is_repeated(lock: Path, messages: list[str]) -> None:
    environment = build_environment(lock, PYTHON, messages.append)
    (environment / ".dlbench-complete").unlink()
    (environment / "half").touch()
    assert not is_complete(environment)
    assert build_environment(lock, PYTHON, messages.append) == environment
    assert is_complete(environment)
    assert not (environment / "half").exists()


def test_environment_with_a_missing_python_is_rebuilt(lock: Path, messages: list[str]) -> None:
    environment = build_environment(lock, PYTHON, messages.append)
    python_of(environment).unlink()
    python_of(environment).symlink_to(lock.parent / "gone")
    assert version_in(build_environment(lock, PYTHON, messages.append)) == "1.0"


def test_failed_build_leaves_nothing_and_succeeds_once_fixed(lock: Path, wheels: Path, messages: list[str]) -> None:
    wheel = next(wheels.iterdir())
    away = shutil.move(wheel, lock.parent)
    with pytest.raises(DLBenchError, match="no configured index has a package"):
        build_environment(lock, PYTHON, messages.append)
    shutil.move(away, wheel)
    assert version_in(build_environment(lock, PYTHON, messages.append)) == "1.0"


def test_wheel_with_a_wrong_hash_is_rejected(lock: Path, wheels: Path, messages: list[str], home: Path) -> None:
    lock.write_text(lock.read_text().replace("sha256:", "sha256:0000")[:-5] + "\n")
    with pytest.raises(DLBenchError, match="hash mismatch"):
        build_environment(lock, PYTHON, messages.append)
    assert list((home / "environments").iterdir()) == []


def test_missing_python_is_reported(lock: Path, messages: list[str]) -> None:
    with pytest.raises(DLBenchError, match="the required Python version is not installed"):
        build_environment(lock, "3.99", messages.append)


def test_missing_lock_is_reported(tmp_path: Path, messages: list[str]) -> None:
    with pytest.raises(DLBenchError) as caught:
        build_environment(tmp_path / "none.txt", PYTHON, messages.append)
    assert caught.value.where == str(tmp_path / "none.txt")


def test_concurrent_processes_build_one_environment(lock: Path) -> None:
    def build(messages: "Queue[str]") -> None:
        build_environment(lock, PYTHON, messages.put)
        messages.put("done")

    fork = get_context("fork")
    messages: Queue[str] = fork.Queue()
    both = [fork.Process(target=build, args=(messages,), daemon=True) for _ in range(2)]
    for process in both:
        process.start()
    heard = [messages.get(timeout=30) for _ in range(4)]
    for process in both:
        process.join()
    assert heard.count("done") == 2
    assert sum("waiting for another process" in text for text in heard) == 1
    assert sum("building the environment" in text for text in heard) == 1


@pytest.mark.slow  # uv itself tries for seconds before it gives up.
def test_unreachable_index_is_reported_without_its_password(
    index: Index, lock: Path, messages: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.setenv("PIP_INDEX_URL", index.url.replace("//", "//me:secret@"))
    index.close()
    with pytest.raises(DLBenchError, match="could not be reached") as caught:
        build_environment(lock, PYTHON, messages.append)
    assert "secret" not in str(caught.value)


def test_only_cache_and_timeout_variables_reach_uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PYTHONPATH", "VIRTUAL_ENV", "UV_INDEX_URL", "PIP_REQUIRE_VIRTUALENV", "CONDA_PREFIX"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("UV_HTTP_TIMEOUT", "7")
    found = uv_environment(tmp_path, PipConfig())
    assert not {"PYTHONPATH", "VIRTUAL_ENV", "UV_INDEX_URL", "PIP_REQUIRE_VIRTUALENV", "CONDA_PREFIX"} & set(found)
    assert found["UV_HTTP_TIMEOUT"] == "7"
    assert found["UV_CACHE_DIR"] == str(tmp_path / "uv")
    monkeypatch.setenv("UV_CACHE_DIR", "/elsewhere")
    assert uv_environment(tmp_path, PipConfig())["UV_CACHE_DIR"] == "/elsewhere"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux gets CUDA from the plain index")
def test_torch_is_a_cpu_build(wheels: Path) -> None:
    config = PipConfig(find_links=(str(wheels),))
    lock = "numpy==2.0\ntorch==2.13.0\ntorchdata==1.0\n"
    assert first_install(lock, config, "3.11") == ["torch==2.13.0"]
    make_wheel(wheels, "torch", "2.13.0+cpu", f"cp311-cp311-manylinux_2_28_{os.uname().machine}")
    assert first_install(lock, config, "3.11") == []
    assert first_install(lock, config, "3.12") != []
    assert first_install("numpy==2.0\n", config, "3.12") == []


def test_local_cpu_build_is_preferred(wheels: Path, tmp_path: Path, messages: list[str], home: Path) -> None:
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}-none-linux_{os.uname().machine}"
    make_wheel(wheels, "torch", "2.13.0")
    make_wheel(wheels, "torch", "2.13.0+cpu", tag)
    (tmp_path / "torch.txt").write_text("torch==2.13.0\n")
    environment = build_environment(tmp_path / "torch.txt", PYTHON, messages.append)
    assert list(environment.rglob("torch-2.13.0+cpu.dist-info"))


def test_lock_pins_hashes_for_all_but_torch(wheels: Path, tmp_path: Path) -> None:
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}-none-linux_{os.uname().machine}"
    make_wheel(wheels, "torch", "2.13.0+cpu", tag)
    make_wheel(wheels, "torch", "2.14.0")
    dependency = sha256(make_wheel(wheels))
    (tmp_path / "wanted.in").write_text("torch\ntiny-dep\n")
    compile_lock(tmp_path / "wanted.in", tmp_path / "lock.txt", PYTHON)
    lines = (tmp_path / "lock.txt").read_text().splitlines()
    assert lines[0].startswith("# torch")
    assert lines[1:] == ["tiny-dep==1.0 \\", f"    --hash=sha256:{dependency}", "torch==2.13.0"]


@pytest.mark.slow
def test_plain_torch_is_taken_with_a_warning_where_the_cpu_index_is_unreachable(
    index: Index, tmp_path: Path, messages: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for scheme in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(scheme, "http://127.0.0.1:9")
    make_wheel(index.files, "torch", "2.13.0")
    index.list("torch")
    (tmp_path / "net.in").write_text("torch\n")
    compile_lock(tmp_path / "net.in", tmp_path / "net.txt", PYTHON, messages.append)
    assert (tmp_path / "net.txt").read_text().splitlines()[1:] == ["torch==2.13.0"]
    environment = build_environment(tmp_path / "net.txt", PYTHON, messages.append)
    assert list(environment.rglob("torch-2.13.0.dist-info"))
    warnings = [text for text in messages if text.startswith("warning: no CPU build of torch: ")]
    assert len(warnings) == 2


def test_lock_keeps_requirements_of_other_platforms(wheels: Path, tmp_path: Path) -> None:
    make_wheel(wheels)
    wanted = 'tiny-dep==1.0; platform_machine == "{}"\n'
    (tmp_path / "wanted.in").write_text(wanted.format("x86_64") + wanted.format("aarch64"))
    compile_lock(tmp_path / "wanted.in", tmp_path / "lock.txt", PYTHON)
    line = (tmp_path / "lock.txt").read_text().splitlines()[0]
    assert line == "tiny-dep==1.0 ; platform_machine == 'aarch64' or platform_machine == 'x86_64' \\"


def test_only_torch_packages_lose_their_hashes() -> None:
    hashes = " \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\n"
    text = f"torch==2.13.0+cpu{hashes}torchmetrics==1.0{hashes}torchvision==0.28.0{hashes}"
    expected = f"torch==2.13.0\ntorchmetrics==1.0{hashes}torchvision==0.28.0\n"
    assert without_torch_build(text).partition("\n")[2] == expected
    assert without_torch_build(f"numpy==2.0{hashes}") == f"numpy==2.0{hashes}"


def test_full_disk_in_uv_is_recognized() -> None:
    assert isinstance(_failure("error: failed to copy\n  No space left on device (os error 28)", "lock"), DiskFull)
    assert not isinstance(_failure("error: hash mismatch", "lock"), DiskFull)


@pytest.mark.slow
def test_real_lock_is_compiled_and_built_from_the_default_index(
    tmp_path: Path, messages: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "wanted.in").write_text("einops==0.8.1\npytest\n")
    lock = tmp_path / "real.txt"
    compile_lock(tmp_path / "wanted.in", lock, PYTHON)
    begin = time.monotonic()
    environment = build_environment(lock, PYTHON, messages.append)
    assert subprocess.check_output([python_of(environment), "-c", "import einops, pytest; print('ok')"]) == b"ok\n"
    assert time.monotonic() - begin < 120
