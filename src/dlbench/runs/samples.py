"""What did a model answer, and to what? The file that people exchange, read strictly.

A line that is not understood is an error with its number: a sample dropped in silence would change a score.

Are all answers of a file one model's, asked in one way?

Answers without numbers are counted through. Two models' in one file would become samples of one, which solves what
either of them solves: a score that nobody has.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dlbench.dataset import Benchmark
from dlbench.errors import DLBenchError
from dlbench.jsonl import read_lines
from dlbench.registry import find_known


class OriginCheck:
    """What the records of one file say so far; those that say nothing go with any."""

    def __init__(self) -> None:
        self._said: dict[str, str] = {}

    def check(self, record: Mapping[str, Any], where: str) -> None:
        for key in ("model", "technique"):
            said = record.get(key)
            if isinstance(said, str) and self._said.setdefault(key, said) != said:
                raise DLBenchError(
                    f"an answer of another {key} than before: {said}, not {self._said[key]}",
                    where=where,
                    fix=f'give each {key} a file of its own; where they are meant as one, leave "{key}" out',
                )


_AT_LIMIT = {"length", "max_tokens", "model_length", "max_output_tokens"}


def is_truncated(finish_reason: object) -> bool:
    """Whether the endpoint says that the answer reached the limit on its length; Gemini says it in capitals."""
    return isinstance(finish_reason, str) and finish_reason.lower() in _AT_LIMIT


@dataclass(frozen=True)
class Sample:
    """`text` is a model's raw answer, or bare code when `is_code`."""

    instance: str
    sample: int
    text: str
    is_code: bool = False
    is_truncated: bool = False
    """The endpoint said that the answer reached the limit on its length."""

    @property
    def key(self) -> tuple[str, int]:
        return self.instance, self.sample

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode(errors="surrogatepass")).hexdigest()


def read_samples(path: Path, benchmark: Benchmark) -> list[Sample]:
    return parse_samples(read_lines(path), str(path), benchmark)


def parse_samples(lines: Iterable[tuple[int, dict[str, Any]]], name: str, benchmark: Benchmark) -> list[Sample]:
    samples: dict[tuple[str, int], Sample] = {}
    counts: Counter[str] = Counter()
    origin = OriginCheck()
    for number, record in lines:
        where = f"{name}:{number}"
        origin.check(record, where)
        sample = _parse(record, where, counts, benchmark)
        if sample.key in samples:
            raise DLBenchError(
                f"sample {sample.sample} of {sample.instance} is given twice",
                where=where,
                fix='number the samples of an instance with "sample": 0, 1, 2, …',
            )
        samples[sample.key] = sample
    if not samples:
        raise DLBenchError("there is no sample in the file", where=name, fix="write one JSON object a line")
    return list(samples.values())


def _parse(record: dict[str, Any], where: str, counts: Counter[str], benchmark: Benchmark) -> Sample:
    instance = record.get("instance")
    if not isinstance(instance, str):
        fix = 'give "instance": "project/name"'
        if "task_id" in record:
            fix = "a file of evalplus's shape becomes samples by `dlbench import evalplus`"
        raise DLBenchError('"instance" is missing or not a string', where=where, fix=fix)
    try:
        find_known(instance, benchmark.instances, "instance")
    except DLBenchError as error:
        raise DLBenchError(error.what, where=where, fix=error.fix) from None
    index = record.get("sample", counts[instance])
    if not isinstance(index, int) or isinstance(index, bool) or index < 0:
        raise DLBenchError('"sample" is not a whole number from 0', where=where, fix='give "sample": 0, 1, 2, …')
    counts[instance] += 1
    given = [key for key in ("answer", "code") if isinstance(record.get(key), str)]
    if len(given) != 1:
        what = 'it has neither "answer" nor "code"' if not given else 'it has both "answer" and "code"'
        fix = 'give the model\'s raw text as "answer", or bare code as "code"'
        raise DLBenchError(f"{what} (as a string)", where=where, fix=fix)
    is_truncated = is_truncated(record.get("finish_reason"))
    return Sample(instance, index, record[given[0]], is_code=given[0] == "code", is_truncated=is_truncated)
