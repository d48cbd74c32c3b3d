"""To which instances do answers belong that upstream's scripts wrote?

One JSON file an answer, named `processed_<official file>.json`; people also put them together, as a list or as lines.
By its file's name an answer is known for certain. Otherwise function, class, file and project must fit one instance and
no other: an answer given to the wrong function would be a failure that its model did not earn, so what fits none or
several is named and left out.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dlbench.analysis.official.files import OfficialFile
from dlbench.analysis.official.repairs import Mended, mend_all
from dlbench.errors import DLBenchError
from dlbench.jsonl import read_lines

_PREFIX = "processed_"
_MEND = "give upstream's answers: JSON objects with `result`, `function_name`, `ground_truth`, `test`, `repo`, `class`"


@dataclass
class Answers:
    samples: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    """Where an answer stands, and why it belongs to no instance."""


def match_answers(path: Path, mended: Sequence[Mended]) -> Answers:
    """Samples as `dlbench evaluate` takes them; those of one instance are numbered in the order they were found."""
    by_file = {Path(one.file).stem: one for one in mended}
    found = Answers()
    counts: Counter[str] = Counter()
    for where, stem, record in _read(path):
        if not isinstance(record.get("result"), str):
            raise DLBenchError("`result` is missing or not a string", where=where, mend=_MEND)
        named = by_file.get(stem.removeprefix(_PREFIX)) if stem.startswith(_PREFIX) else None
        fitting = [named] if named else _find_fitting(record, mended, where)
        if len(fitting) != 1:
            told = ", ".join(one.id for one in fitting)
            found.left_out.append((where, f"fits several: {told}" if fitting else "fits no instance"))
            continue
        instance = fitting[0].id
        found.samples.append({"instance": instance, "sample": counts[instance], "answer": record["result"]})
        counts[instance] += 1
    if not found.samples and not found.left_out:
        raise DLBenchError("there is no answer here", where=str(path), mend=_MEND)
    return found


def _find_fitting(record: dict[str, Any], mended: Sequence[Mended], where: str) -> list[Mended]:
    asked = _mend_key(record, where)
    fitting = [
        one
        for one in mended
        if one.function == asked.function
        and one.path == asked.path
        and asked.class_name in {"", one.class_name}
        and (asked.project.lower() == one.project.lower() or "repo" not in record)
    ]
    same_tests = [one for one in fitting if one.tests == asked.tests]
    return same_tests if len(fitting) > 1 and same_tests else fitting


def _mend_key(record: dict[str, Any], where: str) -> Mended:
    """The answer's own words about its instance have the same faults as the file they were copied from."""
    names = {
        "function": "function_name",
        "path": "ground_truth",
        "test_cases": "test",
        "repo": "repo",
        "class": "class",
    }
    given = {name: record.get(key) or "" for name, key in names.items()}
    wrong = [names[name] for name, value in given.items() if not isinstance(value, str)]
    if wrong:
        raise DLBenchError(f"`{wrong[0]}` is not a string", where=where, mend=_MEND)
    blank = {"stage": "", "task": "", "data": "", "prompt": ""}
    return mend_all([OfficialFile(where, blank | given)])[0]


def _read(path: Path) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Where each answer stands, the stem of its file, and the answer."""
    if path.is_dir():
        for file in sorted(one for one in path.rglob("*") if one.suffix in {".json", ".jsonl"} and one.is_file()):
            yield from _read(file)
    elif path.suffix == ".jsonl":
        yield from ((f"{path}:{number}", "", record) for number, record in read_lines(path))
    else:
        read = _load(path)
        several = read if isinstance(read, list) else [read]
        for number, record in enumerate(several, 1):
            if not isinstance(record, dict):
                raise DLBenchError("not an answer", where=f"{path}, number {number}", mend=_MEND)
            is_alone = not isinstance(read, list)
            yield (str(path), path.stem, record) if is_alone else (f"{path}, number {number}", "", record)


def _load(path: Path) -> Any:  # noqa: ANN401 - whatever JSON has
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise DLBenchError(f"cannot be read: {error.strerror}", where=str(path), mend="check the path") from None
    except (ValueError, RecursionError) as error:
        raise DLBenchError(f"not JSON: {error}", where=str(path), mend=_MEND) from None
