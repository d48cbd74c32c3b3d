"""The official DL-Bench dataset: read its files, repair them, write them as a benchmark folder, fetch their sources.

The files become records that cannot be run; `repairs.jsonl` lists every change. `releases.csv` pins one release per
project, the last before the files' date, by its hash; otherwise two people would measure different code.
"""

import csv
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
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
    """Write a new folder, completely or not at all."""
    if out.exists():
        raise DLBenchError("it exists already", where=str(out), fix="give --out a folder that does not exist yet")
    records = [make_record(one) for one in repaired]
    repeated = [one for one, times in Counter(record.id for record in records).items() if times > 1]
    if repeated:
        fix = "give each file a distinct name"
        raise DLBenchError(f"several files have the same id: {', '.join(sorted(repeated))}", fix=fix)
    with building(out) as folder:
        write_whole(folder / "VERSION", _VERSION)
        rewrite(folder / REPAIRS, (asdict(repair) for one in repaired for repair in one.repairs))
        for record in records:
            path = folder / "unrunnable" / f"{record.id}.toml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(render(record), encoding="utf-8")
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
    text = Path(__file__).with_name("releases.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    return [Release(**row) for row in rows]


def fetch_trees(releases: list[Release], folder: Path, log: Log) -> None:
    """One folder per project, named as in the official files; existing folders are left as they are."""
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
