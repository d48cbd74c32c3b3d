"""Parse the official dataset files: labels, prompt, and where the function and its tests are.

Prompts may contain lines such as `class:`, so keys count only above the prompt and below the last `ground Truth:`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dlbench.errors import DLBenchError

_PROMPT = re.compile(r"^prompt:", re.MULTILINE)
_PLACE = re.compile(r"^[ \t]*ground truth[ \t]*:", re.MULTILINE | re.IGNORECASE)
_LABELS = ("stage", "task", "data")
_BELOW = ("repo", "function", "f_name", "test_cases", "class")
_SHOWN = 5


@dataclass(frozen=True)
class OfficialFile:
    name: str
    fields: Mapping[str, str]
    """stage, task, data, prompt, path, and the keys that occur below the prompt; values are stripped."""


def find_files(folder: Path) -> list[Path]:
    """Text files at any depth that begin with a stage, in any encoding; sorted by name."""
    found = [path for path in folder.rglob("*.txt") if path.is_file() and _begins_with_stage(path)]
    return sorted(found, key=lambda path: path.name)


def find_others(folder: Path) -> list[Path]:
    """Text files that `find_files` skips; one without its first line would otherwise be missed silently."""
    return sorted(set(folder.rglob("*.txt")) - set(find_files(folder)))


def read_files(paths: Sequence[Path]) -> list[OfficialFile]:
    """Raises one error that lists all files that cannot be read."""
    read, wrong = list[OfficialFile](), list[str]()
    for path in paths:
        try:
            read.append(parse(path.name, path.read_bytes().decode("utf-8-sig")))
        except UnicodeDecodeError as error:
            wrong.append(f"{path}: not UTF-8 (byte {error.start})")
        except DLBenchError as error:
            wrong.append(f"{path}: {error.what}")
    if wrong:
        listed = "\n".join(f"  {line}" for line in wrong[:_SHOWN])
        more = f"\n  … and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
        fix = "give the files as they were published, in UTF-8"
        raise DLBenchError(f"{len(wrong)} of {len(paths)} official files cannot be read:\n{listed}{more}", fix=fix)
    return read


def parse(name: str, text: str) -> OfficialFile:
    begin = _PROMPT.search(text)
    end = list(_PLACE.finditer(text))[-1:]
    if begin is None or not end or end[0].start() < begin.end():
        raise DLBenchError("there is no prompt followed by a ground truth", where=name, fix="see docs/studies.md")
    fields = _read_keys(text[: begin.start()], _LABELS)
    missing = [label for label in _LABELS if label not in fields]
    if missing:
        raise DLBenchError(f"missing: {', '.join(missing)}", where=name, fix="see docs/studies.md")
    fields["prompt"] = text[begin.end() : end[0].start()].strip()
    first, _, rest = text[end[0].end() :].partition("\n")
    return OfficialFile(name, fields | {"path": first.strip()} | _read_keys(rest, _BELOW))


def _read_keys(text: str, known: Sequence[str]) -> dict[str, str]:
    """One `key: value` per line; a line without a known key continues the value above."""
    found: dict[str, str] = {}
    last = ""
    for line in filter(None, map(str.strip, text.splitlines())):
        key, colon, value = line.partition(":")
        if colon and key.strip() in known:
            last = key.strip()
            found[last] = value.strip()
        elif last:
            found[last] += f"\n{line}"
    return found


def _begins_with_stage(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(200)
    # In UTF-16 every second byte is 0; such a file must be reported, not skipped.
    return head.removeprefix(b"\xef\xbb\xbf").replace(b"\0", b"").lstrip(b"\xff\xfe \t\r\n").startswith(b"stage:")
