"""The official DL-Bench dataset: its files as they stand, what was wrong with them, and a benchmark folder of them.

What does a file of the official dataset say, as it stands?

Labels at the top, then the prompt, then where the function and its tests are. A prompt may hold lines such as `class:`
or `Returns:` itself, so keys count only above the prompt and below the last `ground Truth:`; taken anywhere, they would
cut prompts in two. Nothing is mended here: what is wrong is for `repairs` to name.

How do the official files become a benchmark folder?

As records of what cannot be run: the files name a project without a release and hold no code, so nothing of them can be
judged, and they are written where no command that runs candidates looks. Prompts, labels, places and tests are all
there to be read and studied, and `repairs.jsonl` says what was changed.

Where is the code that the official files ask for?

They name projects and files, no release. Here stands one release of each project, the last before the files' own date,
pinned by its hash: otherwise two people who measure the same dataset measure different code.
"""

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path

from dlbench.analysis.official.repairs import Mended, Repair, mend_all
from dlbench.dataset.records import KnownLabels, Unrunnable
from dlbench.dataset.toml_format import quote, quote_text
from dlbench.errors import DLBenchError
from dlbench.jsonl import rewrite, write_whole
from dlbench.workspace.archive import unpack
from dlbench.workspace.home import Say, building
from dlbench.workspace.package_index import download

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
        mend = "give the files as they were published, in UTF-8"
        raise DLBenchError(f"{len(wrong)} of {len(paths)} official files cannot be read:\n{told}{more}", mend=mend)
    return read


def parse(name: str, text: str) -> OfficialFile:
    begin = _PROMPT.search(text)
    end = list(_PLACE.finditer(text))[-1:]
    if begin is None or not end or end[0].start() < begin.end():
        raise DLBenchError("it has no prompt followed by a ground truth", where=name, mend="see docs/studies.md")
    fields = _read_keys(text[: begin.start()], _LABELS)
    missing = [label for label in _LABELS if label not in fields]
    if missing:
        raise DLBenchError(f"it has no {', '.join(missing)}", where=name, mend="see docs/studies.md")
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


__all__ = ["Mended", "OfficialFile", "Repair", "find_files", "find_others", "mend_all", "read_files"]


REPAIRS = "repairs.jsonl"
_WHY = "the official file names a project without a release and holds no code"
_VERSION = "1.0\n"


def write_folder(mended: Sequence[Mended], out: Path) -> list[Unrunnable]:
    """A new folder, there whole or not at all."""
    if out.exists():
        raise DLBenchError("this exists already", where=str(out), mend="give --out a folder that is not there yet")
    records = [make_record(one) for one in mended]
    twice = {record.id for record in records if sum(other.id == record.id for other in records) > 1}
    if twice:
        mend = "give each file a name of its own"
        raise DLBenchError(f"several files come to the same id: {', '.join(sorted(twice))}", mend=mend)
    with building(out) as folder:
        write_whole(folder / "VERSION", _VERSION)
        rewrite(folder / REPAIRS, (asdict(repair) for one in mended for repair in one.repairs))
        for record in records:
            path = folder / "unrunnable" / f"{record.id}.toml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(render(record), encoding="utf-8")  # the folder is no benchmark before all of it is there
    return records


def make_record(one: Mended) -> Unrunnable:
    return Unrunnable(
        id=one.id,
        why=_WHY,
        origin=one.file,
        path=one.path,
        qualname=one.qualname,
        prompt=f"{one.prompt}\n",
        tests=one.tests,
        defects=one.defects,
        labels=KnownLabels(stage=one.stage, task=one.task, data=one.data),
    )


def render(record: Unrunnable) -> str:
    plain = {key: getattr(record, key) for key in ("id", "why", "origin", "path", "qualname")}
    lines = [f"{key} = {quote(value)}" for key, value in plain.items() if value is not None]
    lines += [f"prompt = {quote_text(record.prompt)}", f"tests = {quote(record.tests)}"]
    lines += [f"defects = {quote(record.defects)}"] if record.defects else []
    labels = record.labels.model_dump(mode="json", exclude_none=True)
    return "\n".join([*lines, "", "[labels]", *(f"{axis} = {quote(value)}" for axis, value in labels.items())]) + "\n"


@dataclass(frozen=True)
class Release:
    project: str
    package: str
    file: str
    sha256: str


def read_releases() -> list[Release]:
    text = files("dlbench.analysis.official").joinpath("releases.csv").read_text()
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    return [Release(**row) for row in rows]


def fetch_trees(releases: list[Release], folder: Path, say: Say) -> None:
    """A folder a project, named as the official files name it; what is there already is left as it is."""
    for release in releases:
        tree = folder / release.project
        if tree.exists():
            continue
        archive = folder / f".{release.file}"
        download(release.package, release.file, release.sha256, archive, say)
        try:
            unpack(archive, tree)
        finally:
            archive.unlink()
