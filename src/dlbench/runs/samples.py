"""Read samples, the file that people exchange: what a model answered, to which instance.

Reading is strict: a dropped sample would change a score. All samples of a file must come from one model and technique:
answers without an index are numbered in order, so those of two models would count as samples of one that solves what
either solves.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dlbench.dataset.tracks import TrackBenchmark
from dlbench.errors import DLBenchError
from dlbench.jsonl import read_lines
from dlbench.registry import find_known


class OriginCheck:
    """Refuse records of a second model or technique; records that name none are accepted."""

    def __init__(self) -> None:
        self._first: dict[str, str] = {}

    def check(self, record: Mapping[str, Any], where: str) -> None:
        for key in ("model", "technique"):
            value = record.get(key)
            if isinstance(value, str) and self._first.setdefault(key, value) != value:
                what = f"an answer of the {key} {value} in a file of {self._first[key]}"
                fix = f'write one file per {key}; if they are meant as one, remove "{key}"'
                raise DLBenchError(what, where=where, fix=fix)


_LENGTH_REASONS = {"length", "max_tokens", "model_length", "max_output_tokens"}


def is_truncated(finish_reason: object) -> bool:
    """Whether the endpoint reports that the answer reached its length limit; Gemini writes it in capitals."""
    return isinstance(finish_reason, str) and finish_reason.lower() in _LENGTH_REASONS


@dataclass(frozen=True)
class Sample:
    """`text` is a model's raw answer, or bare code when `is_code`."""

    instance: str
    sample: int
    text: str
    is_code: bool = False
    is_truncated: bool = False
    """The endpoint reported that the answer reached its length limit."""

    @property
    def key(self) -> tuple[str, int]:
        return self.instance, self.sample

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode(errors="surrogatepass")).hexdigest()


def duplicate_sample(instance: str, sample: int, where: str) -> DLBenchError:
    fix = 'number the samples of an instance with "sample": 0, 1, 2, …'
    return DLBenchError(f"sample {sample} of {instance} is given twice", where=where, fix=fix)


def read_samples(path: Path, benchmark: TrackBenchmark) -> list[Sample]:
    return parse_samples(read_lines(path), str(path), benchmark)


def parse_samples(lines: Iterable[tuple[int, dict[str, Any]]], name: str, benchmark: TrackBenchmark) -> list[Sample]:
    samples: dict[tuple[str, int], Sample] = {}
    counts, origin = Counter[str](), OriginCheck()
    for number, record in lines:
        where = f"{name}:{number}"
        origin.check(record, where)
        sample = _parse(record, where, counts, benchmark)
        if sample.key in samples:
            raise duplicate_sample(*sample.key, where)
        samples[sample.key] = sample
    if not samples:
        raise DLBenchError("there is no sample in the file", where=name, fix="write one JSON object per line")
    return list(samples.values())


def _parse(record: dict[str, Any], where: str, counts: Counter[str], benchmark: TrackBenchmark) -> Sample:
    instance = record.get("instance")
    if not isinstance(instance, str):
        fix = 'write "instance": "project/name"'
        if "task_id" in record:
            fix = "`dlbench import evalplus` converts files of evalplus"
        raise DLBenchError('"instance" is missing or not a string', where=where, fix=fix)
    find_known(instance, benchmark.instances, "instance", where)
    index = record.get("sample", counts[instance])
    if not isinstance(index, int) or isinstance(index, bool) or index < 0:
        raise DLBenchError('"sample" is not a whole number from 0', where=where, fix='write "sample": 0, 1, 2, …')
    counts[instance] += 1
    keys = [key for key in ("answer", "code") if isinstance(record.get(key), str)]
    if len(keys) != 1:
        what = 'both "answer" and "code" are present' if keys else 'neither "answer" nor "code" is a string'
        fix = 'write the model\'s raw text as "answer", or bare code as "code"'
        raise DLBenchError(what, where=where, fix=fix)
    truncated = is_truncated(record.get("finish_reason"))
    return Sample(instance, index, record[keys[0]], is_code=keys[0] == "code", is_truncated=truncated)
