"""How is uv run, and what does it mean when it fails?

uv gets the machine's pip configuration and none of the caller's variables that could change what is installed, so that
one lock gives one environment. Its failures are told apart, because a full disk and a wrong version need other fixes.

Which build of torch does this machine take?

Always one without CUDA: verdicts are made on the CPU. The lock names the bare version, and here it is decided where the
build comes from: a wheel that the owner has laid into a find-links folder, or else the CPU builds that uv knows. Left
to the plain index, Linux would get gigabytes of CUDA.

How does a list of wanted packages become a lock that gives the same environment everywhere?

Every package is pinned with the hashes of its files, resolved from the default index alone: a package that only this
machine's extra indexes have could not be installed elsewhere. torch is the exception, and the lock says so on top.
"""

import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from dlbench.errors import DiskFull, DLBenchError
from dlbench.jsonl import write_whole
from dlbench.workspace.home import home
from dlbench.workspace.pip_config import PipConfig, local_path, read_pip_config, redacted

_KEPT = ("UV_CACHE_DIR", "UV_HTTP_TIMEOUT")
_DROPPED = ("PYTHON", "UV_", "PIP_", "CONDA_", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__")

_DISK_IS_FULL = "the disk is full"

# In the order of asking: a message may hold several of these, and the first that fits is the cause.
_CAUSES = (
    (
        ("no space left on device", "os error 28", "disk quota exceeded"),
        _DISK_IS_FULL,
        "make room (`dlbench clean` helps), or set DLBENCH_HOME to a larger disk, and run the same command again",
    ),
    (
        ("hash mismatch",),
        "a package is not the one that the lock pins (hash mismatch)",
        "do not use it; if the index is a mirror, ask its owner, otherwise report it to the benchmark",
    ),
    (
        ("no interpreter found", "python-build-standalone"),
        "no Python of the wanted version is on this machine, and none could be fetched",
        "install that version of Python and run the same command again",
    ),
    (
        ("error sending request", "dns error", "failed to fetch", "connection refused", "timed out", "offline"),
        "the package index could not be reached",
        "check the connection and pip's index configuration, and run the same command again",
    ),
    (
        ("no solution found", "no version of", "not found in the", "no matching distribution", "no compatible"),
        "no configured index has a package in the version that is wanted, for this Python and platform",
        "check the requirements, and pip's index configuration (`dlbench doctor` shows it)",
    ),
    (
        ("failed to build",),
        "a package comes as source only and could not be built",
        "install a compiler and what the last lines name, or choose a version that has wheels",
    ),
)


def uv_binary() -> str:
    import uv

    try:
        return uv.find_uv_bin()
    except FileNotFoundError:
        raise DLBenchError(
            "uv is not installed completely", fix="reinstall it: pip install --force-reinstall uv"
        ) from None


def run_uv(arguments: Sequence[str], config: PipConfig, where: str) -> None:
    folder = home()
    done = subprocess.run(
        # No configuration files: a uv.toml or pyproject.toml up the tree would steer the resolution.
        [uv_binary(), *arguments, "--no-config", "--no-progress", "--color", "never"],
        cwd=folder,
        env=uv_environment(folder, config),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        umask=0o022,
    )
    if done.returncode:
        raise _failure(redacted(done.stderr), where)


def uv_environment(folder: Path, config: PipConfig) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name in _KEPT or not name.startswith(_DROPPED)}
    # One cache beside the environments: they share its files by hard links, so forty do not cost forty torches.
    return {"UV_CACHE_DIR": str(folder / "uv")} | kept | config.environment()


def _failure(said: str, where: str) -> DLBenchError:
    last = [f"    {line}" for line in said.splitlines() if line.strip()][-12:]
    known = ((what, fix) for signs, what, fix in _CAUSES if any(sign in said.lower() for sign in signs))
    what, fix = next(known, ("uv failed", "fix what its last lines name"))
    kind = DiskFull if what == _DISK_IS_FULL else DLBenchError
    return kind("\n".join([f"{what}; uv says:", *last]), where=where, fix=fix)


CPU_BUILDS = ["--torch-backend", "cpu"]
FAMILY = ("torch", "torchvision", "torchaudio")  # Built together: the others load only with their own torch.
_WHEEL = re.compile(r"^torch-([0-9.]+)\+cpu-cp(\d)(\d+)-")
_PINNED = re.compile(rf"^({'|'.join(FAMILY)})\s*==\s*([^\s;+\\]+)", re.MULTILINE)


def pinned(requirements: str) -> dict[str, str]:
    """The packages of torch's family that are pinned there, with the bare version."""
    return dict(_PINNED.findall(requirements))


def local_versions(config: PipConfig, python: str) -> list[str]:
    """Versions of torch that lie as CPU wheels in the owner's folders, fit for that Python; the newest last."""
    names = [path.name for place in config.find_links for path in _wheels(place)]
    found = {
        match[1]
        for name in names
        if (match := _WHEEL.match(name)) and f"{match[2]}.{match[3]}" == python and platform.machine() in name
    }
    return sorted(found, key=lambda version: [int(part) for part in version.split(".")])


def first_install(lock: str, config: PipConfig, python: str) -> list[str]:
    """What uv must install ahead of the lock to get CPU builds; nothing where the lock alone gets them.

    Ahead and not along: with the CPU builds' index asked for, uv takes more packages from it than these, and they do
    not have the hashes that the lock pins.
    """
    family = pinned(lock)
    if sys.platform != "linux" or not family or family.get("torch") in local_versions(config, python):
        return []
    return [f"{name}=={version}" for name, version in family.items()] + CPU_BUILDS


def _wheels(place: str) -> list[Path]:
    folder = local_path(place)
    return list(folder.glob("torch-*.whl")) if folder.is_dir() else []


_NOTE = """\
# torch and what is built with it stand here without hash and build: each machine takes the CPU build that it can get.
"""
_BUILD = re.compile(rf"^({'|'.join(FAMILY)})==([^\s+\\]+)(?:\+[^\s\\]+)?(?:[ \t]*\\\n[ \t]+--hash=\S+)*$", re.MULTILINE)

_MARKER = re.compile(r";.*\b(platform_machine|sys_platform|platform_system)\b")
"""A requirement for some kinds of machine only."""


def read_requirements(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        what = f"the list of packages cannot be read: {error.strerror}"
        raise DLBenchError(what, where=str(path), fix="check `environment` in the project's record") from None


def compile_lock(requirements: Path, lock: Path, python: str) -> None:
    config = read_pip_config()
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "lock.txt")
        arguments = ["pip", "compile", "--generate-hashes", "--no-header", "--no-annotate"]
        arguments += ["--python-version", python, "--output-file", str(output)]
        arguments += config.uv_arguments_without_extra()
        text = read_requirements(requirements)
        if _MARKER.search(text):
            arguments.append("--universal")  # or the lines for other machines than this one would be dropped
        wanted = pinned(text).get("torch")
        local = local_versions(config, python)
        version = wanted if wanted in local else (local[-1] if local and wanted is None else None)
        if version is None:
            arguments += CPU_BUILDS
        else:
            # Said outright: the index may have a newer torch, whose CUDA packages would come along.
            constraint = Path(folder, "torch.txt")
            constraint.write_text(f"torch=={version}+cpu\n", encoding="utf-8")
            arguments += ["--constraints", str(constraint)]
        run_uv([*arguments, str(requirements.absolute())], config, str(requirements))
        text = output.read_text(encoding="utf-8")
    write_whole(lock, without_torch_build(text))


def without_package(text: str, name: str) -> str:
    """The lock's text without the entry of a package."""
    pattern = "[-_.]+".join(map(re.escape, re.split(r"[-_.]+", name)))
    return re.sub(rf"^{pattern}==.*(?:\n[ \t]+.*)*\n?", "", text, flags=re.MULTILINE | re.IGNORECASE)


def without_torch_build(text: str) -> str:
    """The lock's text with the family's entries bare, and a note on top that says so."""
    bare, count = _BUILD.subn(r"\1==\2", text)
    return _NOTE + bare if count else text
