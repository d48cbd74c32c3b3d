"""Are the records those that the benchmark's version was given to?

`SEAL` holds the version and a digest of all that a score depends on: projects, instances, locks, splits. Without it a
record could change under a version that people cite, and nobody would know which of the two their score is of.
`make seal` writes it, and refuses to where the version was not raised.
"""

import hashlib
import sys
from pathlib import Path

from dlbench.dataset.loading import default_root
from dlbench.journal import write_whole

FILE = "SEAL"
CHANGED = (
    "records changed under the same VERSION: raise its second number (the first where scores can no longer be"
    " compared), then run `make seal`"
)
UNSEALED = "there is no seal of this VERSION: run `make seal`"
_SEALED = ("projects/*.toml", "instances/*/*.toml", "locks/*.txt", "splits/*.txt")


def make_seal(root: Path) -> str:
    total = hashlib.sha256()
    for path in sorted(path for pattern in _SEALED for path in root.glob(pattern)):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        total.update(f"{path.relative_to(root).as_posix()} {digest}\n".encode())
    return f"{(root / 'VERSION').read_text(encoding='utf-8').strip()} {total.hexdigest()}\n"


def find_fault(root: Path) -> str:
    """`CHANGED`, `UNSEALED`, or nothing where the seal fits."""
    path = root / FILE
    kept, made = path.read_text(encoding="utf-8") if path.is_file() else "", make_seal(root)
    if kept == made:
        return ""
    return CHANGED if kept.split()[:1] == made.split()[:1] else UNSEALED


def seal(root: Path) -> None:
    if find_fault(root) == CHANGED:
        sys.exit(CHANGED)
    write_whole(root / FILE, make_seal(root))


if __name__ == "__main__":
    seal(default_root())
