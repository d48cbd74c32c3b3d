"""The official DL-Bench dataset: its files as they stand, what was wrong with them, and a benchmark folder of them.

What does a file of the official dataset say, as it stands?

Labels at the top, then the prompt, then where the function and its tests are. A prompt may hold lines such as `class:`
or `Returns:` itself, so keys count only above the prompt and below the last `ground Truth:`; taken anywhere, they would
cut prompts in two. Nothing is fixed here: what is wrong is for `repairs` to name.

How do the official files become a benchmark folder?

As records of what cannot be run: the files name a project without a release and hold no code, so nothing of them can be
judged, and they are written where no command that runs candidates looks. Prompts, labels, places and tests are all
there to be read and studied, and `repairs.jsonl` says what was changed.

Where is the code that the official files ask for?

They name projects and files, no release. Here stands one release of each project, the last before the files' own date,
pinned by its hash: otherwise two people who measure the same dataset measure different code.
"""

import csv
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path

from dlbench.analysis.official.files import OfficialFile, find_files, find_others, parse, read_files
from dlbench.analysis.official.repairs import Repair, RepairedFile, repair_all
from dlbench.dataset.records import KnownLabels, Unrunnable, quote, quote_text
from dlbench.errors import DLBenchError
from dlbench.jsonl import rewrite, write_whole
from dlbench.workspace.archive import unpack
from dlbench.workspace.home import Log, building
from dlbench.workspace.package_index import download

__all__ = ["OfficialFile", "Repair", "RepairedFile", "find_files", "find_others", "parse", "read_files", "repair_all"]

REPAIRS = "repairs.jsonl"
_WHY = "the official file names a project without a release and holds no code"
_VERSION = "1.0\n"


def write_folder(repaired: Sequence[RepairedFile], out: Path) -> list[Unrunnable]:
    """A new folder, there whole or not at all."""
    if out.exists():
        raise DLBenchError("this exists already", where=str(out), fix="give --out a folder that is not there yet")
    records = [make_record(one) for one in repaired]
    twice = {record.id for record in records if sum(other.id == record.id for other in records) > 1}
    if twice:
        fix = "give each file a name of its own"
        raise DLBenchError(f"several files come to the same id: {', '.join(sorted(twice))}", fix=fix)
    with building(out) as folder:
        write_whole(folder / "VERSION", _VERSION)
        rewrite(folder / REPAIRS, (asdict(repair) for one in repaired for repair in one.repairs))
        for record in records:
            path = folder / "unrunnable" / f"{record.id}.toml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(render(record), encoding="utf-8")  # the folder is no benchmark before all of it is there
    return records


def make_record(one: RepairedFile) -> Unrunnable:
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


def fetch_trees(releases: list[Release], folder: Path, log: Log) -> None:
    """A folder a project, named as the official files name it; what is there already is left as it is."""
    for release in releases:
        tree = folder / release.project
        if tree.exists():
            continue
        archive = folder / f".{release.file}"
        download(release.package, release.file, release.sha256, archive, log)
        try:
            unpack(archive, tree)
        finally:
            archive.unlink()
