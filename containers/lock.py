"""How are the packages of our own images pinned? As the projects' are: each with the hashes of its files.

What the command line needs and what builds it is read from pyproject.toml, so that an image never has other packages
than an installation. `make lock` runs this; a test refuses locks that do not fit pyproject.toml any more.
"""

import tempfile
import tomllib
from pathlib import Path

from dlbench.workspace import compile_lock

ROOT = Path(__file__).parent.parent
PYTHON = "3.11"


def read_wanted() -> dict[str, list[str]]:
    """By the name of a lock, what it pins."""
    known = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = known["project"]
    extras = project["optional-dependencies"]
    cli = [*project["dependencies"], *extras["embedded"], *extras["serve"]]
    return {"cli": cli, "build": known["build-system"]["requires"]}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, wanted in read_wanted().items():
            listed = Path(folder, f"{name}.in")
            listed.write_text("".join(f"{one}\n" for one in wanted), encoding="utf-8")
            compile_lock(listed, ROOT / "containers" / f"{name}.txt", PYTHON)


if __name__ == "__main__":
    main()
