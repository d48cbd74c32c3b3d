"""Run uv, compile locks, and choose CPU builds of torch.

uv gets none of the caller's variables that could change what is installed, so one lock gives one environment. A lock is
resolved from the default index alone: a package that only this machine's extra indexes have could not be installed
elsewhere. torch is pinned by the bare version, and each machine takes a CPU build from a find-links folder or from the
CPU index of PyTorch. The plain index would give Linux gigabytes of CUDA, and verdicts are made on the CPU; its wheel is
taken, with a warning, only where there is no CPU build.
"""

import os
import platform
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from dlbench.errors import DiskFull, DLBenchError
from dlbench.jsonl import write_whole
from dlbench.workspace.home import Log, home, quiet, run_program
from dlbench.workspace.pip_config import PipConfig, local_path, read_pip_config, redacted

_KEPT = ("UV_CACHE_DIR", "UV_HTTP_TIMEOUT")
_DROPPED = ("PYTHON", "UV_", "PIP_", "CONDA_", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__")

_DISK_IS_FULL = "the disk is full"

# A message may contain several of these signs; the first entry that matches is the cause.
_CAUSES = (
    (("no space left on device", "os error 28", "disk quota exceeded"),
     _DISK_IS_FULL,
     "free disk space (`dlbench clean` helps), or set DLBENCH_HOME to a larger disk, and run the same command again"),
    (("hash mismatch",),
     "a package is not the one that the lock pins (hash mismatch)",
     "do not use it; if the index is a mirror, ask its owner, otherwise report it to the benchmark"),
    (("no interpreter found", "python-build-standalone"),
     "the required Python version is not installed and could not be fetched",
     "install that version of Python and run the same command again"),
    (("error sending request", "dns error", "failed to fetch", "connection refused", "timed out", "offline"),
     "the package index could not be reached",
     "check the connection and pip's index configuration, and run the same command again"),
    (("no solution found", "no version of", "not found in the", "no matching distribution", "no compatible"),
     "no configured index has a package in the required version for this Python and platform",
     "check the requirements, and pip's index configuration (`dlbench doctor` shows it)"),
    (("failed to build",),
     "a package is available as source only and could not be built",
     "install a compiler and what the last lines name, or choose a version that has wheels"),
)  # fmt: skip


def uv_binary() -> str:
    import uv

    try:
        return uv.find_uv_bin()
    except FileNotFoundError:
        fix = "reinstall it: pip install --force-reinstall uv"
        raise DLBenchError("uv is not installed completely", fix=fix) from None


def run_uv(arguments: Sequence[str], config: PipConfig, where: str) -> None:
    folder = home()
    # No configuration files: a uv.toml or pyproject.toml in a parent folder would change the resolution.
    command = [uv_binary(), *arguments, "--no-config", "--no-progress", "--color", "never"]
    done = run_program(command, folder, uv_environment(folder, config))
    if done.returncode:
        raise _failure(redacted(done.stderr), where)


def uv_environment(folder: Path, config: PipConfig) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name in _KEPT or not name.startswith(_DROPPED)}
    # The cache is on the same disk as the environments, so that they share its files by hard links.
    return {"UV_CACHE_DIR": str(folder / "uv")} | kept | config.environment()


def _failure(stderr: str, where: str) -> DLBenchError:
    last = [f"    {line}" for line in stderr.splitlines() if line.strip()][-12:]
    known = ((what, fix) for signs, what, fix in _CAUSES if any(sign in stderr.lower() for sign in signs))
    what, fix = next(known, ("uv failed", "fix what its last lines name"))
    kind = DiskFull if what == _DISK_IS_FULL else DLBenchError
    return kind("\n".join([f"{what}; uv says:", *last]), where=where, fix=fix)


CPU_BUILDS = ["--torch-backend", "cpu"]
FAMILY = ("torch", "torchvision", "torchaudio")  # Built together: the others load only with the matching torch.
_WHEEL = re.compile(r"^torch-([0-9.]+)\+cpu-cp(\d)(\d+)-")
_PINNED = re.compile(rf"^({'|'.join(FAMILY)})\s*==\s*([^\s;+\\]+)", re.MULTILINE)


def pinned(requirements: str) -> dict[str, str]:
    """Pinned packages of torch's family with their bare versions."""
    return dict(_PINNED.findall(requirements))


def local_versions(config: PipConfig, python: str) -> list[str]:
    """Versions of torch available as CPU wheels for that Python in the find-links folders; newest last."""
    names = [path.name for location in config.find_links for path in local_path(location).glob("torch-*.whl")]
    found = {
        match[1]
        for name in names
        if (match := _WHEEL.match(name)) and f"{match[2]}.{match[3]}" == python and platform.machine() in name
    }
    return sorted(found, key=lambda version: [int(part) for part in version.split(".")])


def first_install(lock: str, config: PipConfig, python: str) -> list[str]:
    """Requirements to install as CPU builds before the lock; empty if the lock alone gets them. With the lock, uv would
    take other packages from the CPU index, too, and those do not have the hashes that the lock pins."""
    family = pinned(lock)
    if sys.platform != "linux" or not family or family.get("torch") in local_versions(config, python):
        return []
    return [f"{name}=={version}" for name, version in family.items()]


_NOTE = """\
# torch and its companions are pinned without hash and build: each machine takes the CPU build available to it.
"""
_BUILD = re.compile(rf"^({'|'.join(FAMILY)})==([^\s+\\]+)(?:\+[^\s\\]+)?(?:[ \t]*\\\n[ \t]+--hash=\S+)*$", re.MULTILINE)

_MARKER = re.compile(r";.*\b(platform_machine|sys_platform|platform_system)\b")
"""A requirement for some platforms only."""


def read_requirements(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        what = f"the requirements cannot be read: {error.strerror}"
        raise DLBenchError(what, where=str(path), fix="check `environment` in the project's record") from None


def run_with_cpu_builds(cpu: Sequence[str], plain: Sequence[str], config: PipConfig, where: str, log: Log) -> None:
    """Run uv with the CPU index of PyTorch, and with the configured indexes alone if that fails."""
    try:
        run_uv(cpu, config, where)
    except DiskFull:
        raise
    except DLBenchError as error:
        run_uv(plain, config, where)
        reason = error.what.splitlines()[0].removesuffix("; uv says:")
        log(f"warning: no CPU build of torch: {reason}; took the configured index's, which brings CUDA on Linux")


def compile_lock(requirements: Path, lock: Path, python: str, log: Log = quiet) -> None:
    config = read_pip_config()
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "lock.txt")
        arguments = ["pip", "compile", "--generate-hashes", "--no-header", "--no-annotate"]
        arguments += ["--python-version", python, "--output-file", str(output)]
        arguments += config.uv_arguments(extra=False)
        text = read_requirements(requirements)
        if _MARKER.search(text):
            arguments.append("--universal")  # keep the lines for other platforms
        requested = pinned(text).get("torch")
        local = local_versions(config, python)
        version = requested if requested in local else (local[-1] if local and requested is None else None)
        source = str(requirements.absolute())
        if version is None:
            run_with_cpu_builds([*arguments, *CPU_BUILDS, source], [*arguments, source], config, str(requirements), log)
        else:
            # Constrained explicitly: the index may have a newer torch, whose CUDA packages would be locked too.
            constraint = Path(folder, "torch.txt")
            constraint.write_text(f"torch=={version}+cpu\n", encoding="utf-8")
            run_uv([*arguments, "--constraints", str(constraint), source], config, str(requirements))
        text = output.read_text(encoding="utf-8")
    write_whole(lock, without_torch_build(text))


def without_package(text: str, name: str) -> str:
    pattern = "[-_.]+".join(map(re.escape, re.split(r"[-_.]+", name)))
    return re.sub(rf"^{pattern}==.*(?:\n[ \t]+.*)*\n?", "", text, flags=re.MULTILINE | re.IGNORECASE)


def without_torch_build(text: str) -> str:
    """The lock's text with torch's family pinned by version only, and a note about it on top."""
    bare, count = _BUILD.subn(r"\1==\2", text)
    return _NOTE + bare if count else text
