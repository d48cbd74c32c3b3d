"""Which build of torch does this machine take?

Always one without CUDA: verdicts are made on the CPU. The lock names the bare version, and here it is decided where the
build comes from: a wheel that the owner has laid into a find-links folder, or else the CPU builds that uv knows. Left
to the plain index, Linux would get gigabytes of CUDA.
"""

import platform
import re
import sys
from pathlib import Path

from dlbench.workspace.pip_config import PipConfig, local_path

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
