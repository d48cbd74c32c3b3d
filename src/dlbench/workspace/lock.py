"""How does a list of wanted packages become a lock that gives the same environment everywhere?

Every package is pinned with the hashes of its files, resolved from the default index alone: a package that only this
machine's extra indexes have could not be installed elsewhere. torch is the exception, and the lock says so on top.
"""

import re
import tempfile
from pathlib import Path

from dlbench.errors import DLBenchError
from dlbench.jsonl import write_whole
from dlbench.workspace.pip_config import read_pip_config
from dlbench.workspace.torch_build import CPU_BUILDS, FAMILY, local_versions, pinned
from dlbench.workspace.uv import run_uv

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
        raise DLBenchError(what, where=str(path), mend="check `environment` in the project's record") from None


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
