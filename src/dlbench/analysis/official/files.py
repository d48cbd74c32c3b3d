"""Read the official dataset files: a prompt, where the function is, and labels."""

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
    """stage, task, data, prompt, path, and of the keys below the prompt those that are there; ends are stripped."""


def find_files(folder: Path) -> list[Path]:
    """Text files that begin with a stage, in whatever encoding, anywhere below; sorted by name."""
    found = [path for path in folder.rglob("*.txt") if path.is_file() and _begins_with_stage(path)]
    return sorted(found, key=lambda path: path.name)


def find_others(folder: Path) -> list[Path]:
    """Text files that `find_files` passes over; one that lost its first line would otherwise go missing in silence."""
    return sorted(set(folder.rglob("*.txt")) - set(find_files(folder)))


def read_files(paths: Sequence[Path]) -> list[OfficialFile]:
    """All that are wrong are named together, and then none is read."""
    read: list[OfficialFile] = []
    wrong: list[str] = []
    for path in paths:
        try:
            read.append(parse(path.name, path.read_bytes().decode("utf-8-sig")))
        except UnicodeDecodeError as error:
            wrong.append(f"{path}: not UTF-8 (byte {error.start})")
        except DLBenchError as error:
            wrong.append(f"{path}: {error.what}")
    if wrong:
        told = "\n".join(f"  {line}" for line in wrong[:_SHOWN])
        more = f"\n  … and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
        fix = "give the files as they were published, in UTF-8"
        raise DLBenchError(f"{len(wrong)} of {len(paths)} official files cannot be read:\n{told}{more}", fix=fix)
    return read


def parse(name: str, text: str) -> OfficialFile:
    begin = _PROMPT.search(text)
    end = list(_PLACE.finditer(text))[-1:]
    if begin is None or not end or end[0].start() < begin.end():
        raise DLBenchError("it has no prompt followed by a ground truth", where=name, fix="see docs/studies.md")
    fields = _read_keys(text[: begin.start()], _LABELS)
    missing = [label for label in _LABELS if label not in fields]
    if missing:
        raise DLBenchError(f"it has no {', '.join(missing)}", where=name, fix="see docs/studies.md")
    fields["prompt"] = text[begin.end() : end[0].start()].strip()
    first, _, rest = text[end[0].end() :].partition("\n")
    return OfficialFile(name, fields | {"path": first.strip()} | _read_keys(rest, _BELOW))


def _read_keys(text: str, known: Sequence[str]) -> dict[str, str]:
    """`key: value` a line; a line without a known key goes on with the value above it."""
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
    # in UTF-16 every second byte is 0; passed over in silence it would be missing from every count
    return head.removeprefix(b"\xef\xbb\xbf").replace(b"\0", b"").lstrip(b"\xff\xfe \t\r\n").startswith(b"stage:")
