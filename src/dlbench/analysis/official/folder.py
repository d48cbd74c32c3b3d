"""How do the official files become a benchmark folder?

As records of what cannot be run: the files name a project without a release and hold no code, so nothing of them can be
judged, and they are written where no command that runs candidates looks. Prompts, labels, places and tests are all
there to be read and studied, and `repairs.jsonl` says what was changed.
"""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from dlbench.analysis.official.repairs import Mended
from dlbench.dataset.records import KnownLabels, Unrunnable
from dlbench.dataset.toml_format import quote, quote_text
from dlbench.errors import DLBenchError
from dlbench.jsonl import rewrite, write_whole
from dlbench.workspace.home import building

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
