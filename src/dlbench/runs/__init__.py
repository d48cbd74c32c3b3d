"""Read and write run folders: `config.json`, `samples.jsonl` and `verdicts.jsonl`."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dlbench.errors import DLBenchError
from dlbench.jsonl import read_lines, read_text, write_whole
from dlbench.runs.verdict import VERDICTS, Verdict

CONFIG, REQUESTS, SAMPLES = "config.json", "requests.jsonl", "samples.jsonl"
AGREEMENT = "agreement"
"""The folder of variants and choices in a run with `dlbench agree`."""
NOTES = frozenset({"date", "endpoint", "split"})
"""Keys of a configuration that document the first start. They may differ when the run is resumed."""


@dataclass(frozen=True)
class Run:
    folder: Path
    config: dict[str, Any]
    verdicts: list[dict[str, Any]]

    @property
    def name(self) -> str:
        return str(self.config.get("model") or self.folder.name)


def open_run(folder: Path, config: Mapping[str, Any]) -> None:
    """Create the folder, or resume it if it was started with the same configuration; `samples` may be higher.

    A run that has no answer yet, for example because the endpoint refused a setting, may change all of it.
    """
    make_folder(folder)
    path = folder / CONFIG
    if path.is_file():
        started = _read_config(path)
        differing = sorted(key for key in {*started, *config} - NOTES if started.get(key) != config.get(key))
        is_longer = config.get("samples", 0) > started.get("samples", math.inf)
        if is_longer and differing == ["samples"]:
            _write_config(path, {**started, "samples": config["samples"]})
        elif differing and "dlbench" in started and not _holds_work(folder):
            _write_config(path, config)
        elif differing:
            differing = [key for key in differing if key != "samples" or not is_longer]
            what = "; ".join(_describe_difference(key, started.get(key), config.get(key)) for key in differing)
            fix = "resume with the same settings, or choose a new --out"
            if differing == ["samples"]:
                fix = f"pass --samples {started.get('samples')}, or choose a new --out"
            if "benchmark" in differing:
                fix = "choose a new --out: answers and verdicts of this run belong to other records"
            raise DLBenchError(what, where=str(folder), fix=fix)
        return
    if (folder / VERDICTS).is_file():
        raise DLBenchError("the folder holds verdicts of an unknown run", where=str(folder), fix="choose a new --out")
    _write_config(path, config)


def _holds_work(folder: Path) -> bool:
    return any(one.name not in (CONFIG, REQUESTS) and (one.is_dir() or one.stat().st_size) for one in folder.iterdir())


def _write_config(path: Path, config: Mapping[str, Any]) -> None:
    write_whole(path, json.dumps(dict(config), indent=2, ensure_ascii=False) + "\n")


def _describe_difference(key: str, started: object, passed: object) -> str:
    if isinstance(started, list | dict) or isinstance(passed, list | dict):
        return f"this run was started with other {key}"
    return f"this run was started with {key} {started}, you passed {passed}"


def make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"the folder cannot be created: {error.strerror}"
        raise DLBenchError(what, where=str(folder), fix="choose another --out") from None


def read_head(folder: Path) -> Run:
    """A run without its verdicts, which are most of the data."""
    if not (folder / VERDICTS).is_file():
        fix = "pass a folder that `run` or `evaluate` wrote"
        if inside := sorted(str(path.parent) for path in folder.glob(f"*/{VERDICTS}")):
            fix = f"pass the runs in it: {' '.join(inside)}"
        raise DLBenchError("there are no verdicts here", where=str(folder), fix=fix)
    config = _read_config(folder / CONFIG) if (folder / CONFIG).is_file() else {}
    return Run(folder, config, [])


def read_run(folder: Path) -> Run:
    head, path = read_head(folder), folder / VERDICTS
    verdicts: dict[tuple[str, int], dict[str, Any]] = {}
    for number, record in read_lines(path):
        whole = Verdict.check_record(record, f"{path}:{number}")
        verdicts[whole["instance"], whole["sample"]] = whole  # judged again: the last verdict counts
    return replace(head, verdicts=list(verdicts.values()))


def keep_samples(samples: Path, folder: Path) -> None:
    """Copy what was judged into the folder, which then does not depend on the original file."""
    kept = folder / SAMPLES
    if samples.resolve() != kept.resolve():
        write_whole(kept, read_text(samples))


def _read_config(path: Path) -> dict[str, Any]:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
        assert isinstance(config, dict)
    except (OSError, ValueError, AssertionError):
        raise DLBenchError("not the configuration of a run", where=str(path), fix="choose a new --out") from None
    return config
