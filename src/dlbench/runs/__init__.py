"""What does a run folder hold?

`config.json`, `samples.jsonl`, `verdicts.jsonl`: enough to score it again, to go on with it, and to say later what was
run. A folder is never written with a configuration other than its own.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dlbench.errors import DLBenchError
from dlbench.jsonl import read_lines, read_text, write_whole
from dlbench.runs.verdict import VERDICTS, Verdict

CONFIG, SAMPLES = "config.json", "samples.jsonl"


@dataclass(frozen=True)
class Run:
    folder: Path
    config: dict[str, Any]
    verdicts: list[dict[str, Any]]

    @property
    def name(self) -> str:
        return str(self.config.get("model") or self.folder.name)


def open_run(folder: Path, config: Mapping[str, Any]) -> None:
    """Makes the folder, or goes on with it when it was begun with the same configuration."""
    make_folder(folder)
    path = folder / CONFIG
    if path.is_file():
        known = _read_config(path)
        differing = sorted(key for key in {*known, *config} if known.get(key) != config.get(key))
        if differing:
            raise DLBenchError(
                f"the folder was begun with another {', '.join(differing)}",
                where=str(folder),
                fix="go on with the same settings, or give a new --out",
            )
        return
    if (folder / VERDICTS).is_file():
        raise DLBenchError("there are verdicts here of an unknown run", where=str(folder), fix="give a new --out")
    write_whole(path, json.dumps(dict(config), indent=2, ensure_ascii=False) + "\n")


def make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DLBenchError(f"cannot be made: {error.strerror}", where=str(folder), fix="give another --out") from None


def read_head(folder: Path) -> Run:
    """A run without its verdicts, which are nearly all of it."""
    if not (folder / VERDICTS).is_file():
        raise DLBenchError(
            "there are no verdicts here", where=str(folder), fix="give a folder that `run` or `evaluate` wrote"
        )
    config = _read_config(folder / CONFIG) if (folder / CONFIG).is_file() else {}
    return Run(folder, config, [])


def read_run(folder: Path) -> Run:
    head, path = read_head(folder), folder / VERDICTS
    verdicts: dict[tuple[str, int], dict[str, Any]] = {}
    name = str(path)
    for number, record in read_lines(path):
        whole = Verdict.check_record(record, f"{name}:{number}")
        verdicts[whole["instance"], whole["sample"]] = whole  # tried again, the last word counts
    return replace(head, verdicts=list(verdicts.values()))


def keep_samples(samples: Path, folder: Path) -> None:
    """A copy of what was judged, so that the folder still shows it when the file it came from has gone."""
    kept = folder / SAMPLES
    if samples.resolve() != kept.resolve():
        write_whole(kept, read_text(samples))


def _read_config(path: Path) -> dict[str, Any]:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
        assert isinstance(config, dict)
    except (OSError, ValueError, AssertionError):
        raise DLBenchError("not a run's configuration", where=str(path), fix="give a new --out") from None
    return config
