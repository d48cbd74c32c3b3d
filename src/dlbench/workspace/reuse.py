"""Which packages of a new environment lie in another one already?

Dozens of projects need the same large packages, and unpacking and compiling torch once more for each takes longer than
anything else. A package whose entry in the lock, hashes included, is that of an environment which this machine built
with the same configuration is the same package: its files, and their bytecode, are linked and not made again. What an
environment holds does not depend on it.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path

from dlbench.workspace.home import make_folder
from dlbench.workspace.pip_config import PipConfig

_ENTRY = re.compile(r"^(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)==.*(?:\n[ \t]+.*)*", re.MULTILINE)


def write_mark(mark: Path, requirements: str, python: str, config: PipConfig) -> None:
    """Says that the environment is complete, and what it was made of."""
    mark.write_text(json.dumps({"requirements": requirements, "made_by": _describe(python, config)}), encoding="utf-8")


def link_known(environment: Path, requirements: str, python: str, config: PipConfig, mark: str) -> int:
    """Links what others have into a new environment, and says how many packages; those still missing are to be had."""
    wanted = _entries(requirements)
    count = 0
    for other in sorted(environment.parent.iterdir()):
        said = _read_mark(other / mark)
        known = _entries(said["requirements"]) if said.get("made_by") == _describe(python, config) else {}
        same = {name for name, entry in known.items() if wanted.get(name) == entry}
        if same and other != environment:
            for distribution in distributions(path=[str(_packages(other, python))]):
                name = _plain(distribution.metadata["Name"])
                if name in same and _link(distribution, other, environment, python):
                    del wanted[name]
                    count += 1
    return count


def _describe(python: str, config: PipConfig) -> str:
    """The configuration, as a hash: it may name hosts and hold passwords."""
    return hashlib.sha256(f"{python}\n{config.uv_arguments()}".encode()).hexdigest()


def read_lock(mark: Path) -> str:
    """The lock's text, as the mark has it; empty where there is none."""
    return _read_mark(mark).get("requirements", "")


def _read_mark(mark: Path) -> dict[str, str]:
    try:
        said = json.loads(mark.read_text(encoding="utf-8"))
        return {key: str(said[key]) for key in ("requirements", "made_by")}
    except (OSError, ValueError, KeyError, TypeError):
        return {}  # not finished, or by a version of ours that did not write it down


def _entries(requirements: str) -> dict[str, str]:
    return {_plain(match["name"]): match[0].strip() for match in _ENTRY.finditer(requirements)}


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _packages(environment: Path, python: str) -> Path:
    return environment / "lib" / f"python{python}" / "site-packages"


def _link(distribution: Distribution, source: Path, environment: Path, python: str) -> bool:
    """All files of a package or none; False where something of it is missing there."""
    before, after = _packages(source, python), _packages(environment, python)
    made: list[Path] = []
    try:
        for path in _list_files(distribution, before, source, f"cpython-{python.replace('.', '')}"):
            target = Path(os.path.normpath(after / os.path.relpath(path, before)))
            if target.exists():
                continue
            for folder in reversed([one for one in target.parents if one.is_relative_to(environment)]):
                make_folder(folder)
            made.append(target)
            script = _rewrite(path, source, environment) if path.parent == source / "bin" else None
            if script is None:
                target.hardlink_to(path)
            else:
                target.write_bytes(script)
                target.chmod(path.stat().st_mode)
    except OSError:
        for target in made:
            target.unlink(missing_ok=True)
        return False
    return bool(made)


def _list_files(distribution: Distribution, packages: Path, environment: Path, tag: str) -> Iterator[Path]:
    """What was installed and the bytecode beside it. Raises OSError where a file is gone, or outside."""
    for file in distribution.files or []:
        path = Path(os.path.normpath(packages / file))
        if not path.is_relative_to(environment) or not path.is_file():
            raise FileNotFoundError(path)
        yield path
        if path.suffix == ".py":
            compiled = path.parent / "__pycache__" / f"{path.stem}.{tag}.pyc"
            if compiled.is_file():
                yield compiled


def _rewrite(script: Path, before: Path, after: Path) -> bytes | None:
    """A script with the other environment's interpreter in it, for this one; None where there is none in it."""
    text = script.read_bytes()
    return text.replace(os.fsencode(before), os.fsencode(after)) if os.fsencode(before) in text else None
