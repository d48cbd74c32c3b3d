"""Repair the official files where no guess is needed, and match upstream's answers to them.

What only the authors could fix (no tests, no class, a target in test code) is recorded as a defect. Upstream's scripts
write one JSON file per answer, `processed_<official file>.json`; people also merge them into lists or JSONL. An answer
that does not fit exactly one instance is left out: matched to the wrong function, it would count as a failure.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from dlbench.analysis.official.files import OfficialFile
from dlbench.construction.screening.parsed_module import classify_path
from dlbench.dataset.labels import Data, Label, Stage, Task
from dlbench.errors import DLBenchError
from dlbench.jsonl import read_lines

AnyLabel = TypeVar("AnyLabel", bound=Label)

UNKNOWN = "unknown"
_STAGES: dict[str, Stage] = {
    "pre-post processing": Stage.PRE_POST_PROCESSING,
    "pre-post process": Stage.PRE_POST_PROCESSING,
    "model construction": Stage.MODEL_CONSTRUCTION,
    "training": Stage.TRAINING,
    "inference": Stage.INFERENCE,
    "evaluating&metrics": Stage.EVALUATION_METRICS,
    "evaluation/metrics": Stage.EVALUATION_METRICS,
}
_TASKS: dict[str, Task] = {
    "": Task.GENERAL,
    "classification": Task.CLASSIFICATION,
    "regression": Task.REGRESSION,
    "detection": Task.OBJECT_DETECTION,
    "segmentation": Task.IMAGE_SEGMENTATION,
    "prediction": Task.TIME_SERIES_PREDICTION,
    "recommendation": Task.RECOMMENDATION,
}
_DATA: dict[str, Data] = {
    "": Data.OTHERS,
    "image": Data.IMAGE,
    "text": Data.TEXT,
    "table": Data.STRUCTURED_ARRAY,
    "tabular": Data.STRUCTURED_ARRAY,
}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
"""Valid folder names; projects become folders."""
_CLOSE = 0.85
"""Least similarity of a misspelt label to a known one."""


@dataclass(frozen=True)
class Repair:
    file: str
    field: str
    was: str
    now: str
    why: str


@dataclass(frozen=True)
class RepairedFile:
    """One official file after repair. Labels are None if the value is no known label."""

    file: str
    project: str
    path: str | None
    function: str
    class_name: str
    tests: tuple[str, ...]
    prompt: str
    stage: Stage | None
    task: Task | None
    data: Data | None
    repairs: tuple[Repair, ...]
    defects: tuple[str, ...]

    @property
    def id(self) -> str:
        slug = re.sub(r"[^A-Za-z0-9._-]+", "_", PurePosixPath(self.file).stem).lstrip(".-")
        return f"{self.project}/{slug or '_'}"

    @property
    def qualname(self) -> str | None:
        """None if it is not a valid Python name; without its class, a method could be taken for a function."""
        joined = ".".join(filter(None, (self.class_name, self.function)))
        return joined if self.function and _is_dotted(joined) else None


def repair_all(files: Sequence[OfficialFile]) -> list[RepairedFile]:
    """In the order of the files. Project names that differ in case become the most frequent spelling."""
    spellings: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for file in files:
        spellings[file.fields.get("repo", "").lower()][file.fields.get("repo", "")] += 1
    projects = {low: counts.most_common(1)[0][0] for low, counts in spellings.items()}
    first: dict[tuple[str, str | None, str | None], str] = {}
    found = []
    for file in files:
        one = _FileRepair(file).finish(projects)
        earlier = first.setdefault((one.project, one.path, one.qualname), one.file)
        is_same = earlier != one.file and one.path and one.function
        found.append(replace(one, defects=(*one.defects, f"the same target as {earlier}")) if is_same else one)
    return found


class _FileRepair:
    def __init__(self, file: OfficialFile) -> None:
        self.file = file
        self.fields = dict(file.fields)
        self.repairs: list[Repair] = []
        self.defects: list[str] = []

    def finish(self, projects: Mapping[str, str]) -> RepairedFile:
        self._swap_stage_and_data()
        stage, data = self._label("stage", _STAGES), self._label("data", _DATA)
        task = self._label("task", _TASKS)
        project = self._name_project(projects)
        return RepairedFile(
            file=self.file.name,
            project=project,
            path=self._find_path(project),
            function=self._find_function(),
            class_name=self._find_class(),
            tests=self._find_tests(),
            prompt=self.fields["prompt"],
            stage=stage,
            task=task,
            data=data,
            repairs=tuple(self.repairs),
            defects=tuple(self.defects),
        )

    def _repair(self, field: str, was: str, now: str, why: str) -> str:
        if was != now:
            self.repairs.append(Repair(self.file.name, field, was, now, why))
        return now

    def _swap_stage_and_data(self) -> None:
        stage, data = self.fields["stage"], self.fields["data"]
        if stage.lower() not in _STAGES and stage.lower() in _DATA and data.lower() in _STAGES:
            self._repair("stage, data", f"{stage}, {data}", f"{data}, {stage}", "the two were swapped")
            self.fields |= {"stage": data, "data": stage}

    def _label(self, field: str, known: Mapping[str, AnyLabel]) -> AnyLabel | None:
        value = self.fields[field]
        if value.lower() in known:
            return known[value.lower()]
        for close in get_close_matches(value.lower(), known, n=1, cutoff=_CLOSE):
            self._repair(field, value, close, "misspelt")
            return known[close]
        self.defects.append(f"{field} is {value!r}, not a known label")
        return None

    def _name_project(self, projects: Mapping[str, str]) -> str:
        name = self.fields.get("repo", "")
        if name and _NAME.fullmatch(projects[name.lower()]):
            return self._repair("repo", name, projects[name.lower()], "the usual spelling of the project")
        self.defects.append(f"repo is {name!r}, not the name of a project" if name else "no project is named")
        return UNKNOWN

    def _find_path(self, project: str) -> str | None:
        path = self.fields["path"]
        path = self._repair("ground truth", path, re.sub(r"#L[\dCL-]*$", "", path), "a line number of a web page")
        bare = re.sub(r"^blob/(master|main)/", "", path)
        if bare != path:
            path = self._repair("ground truth", path, bare.removeprefix(f"{project}/"), "a part of a web address")
        parts = PurePosixPath(path).parts
        if not path or path.startswith("/") or ".." in parts or "\\" in path:
            self.defects.append("no file of the target is named")
            return None
        if classify_path(path) in {"tests", "helpers for tests"}:
            self.defects.append("the target is test code")
        return path

    def _find_function(self) -> str:
        name = self.fields.get("function", "")
        if "function" not in self.fields and (name := self.fields.get("f_name", "")):
            self._repair("function", f"f_name: {name}", f"function: {name}", "another name of the key")
        if not name:
            self.defects.append("no function is named")
        return self._check_name("function", name)

    def _check_name(self, field: str, name: str) -> str:
        if name and not _is_dotted(name):
            self.defects.append(f"{field} is {name!r}, not a name")
        return name

    def _find_class(self) -> str:
        if not self.fields.get("class") and self.file.name.startswith("classes-"):
            self.defects.append("the class of the method is not named")
        return self._check_name("class", self.fields.get("class", ""))

    def _find_tests(self) -> tuple[str, ...]:
        value = self.fields.get("test_cases", "")
        joined = self._repair("test_cases", value, value.replace("\n", "").strip('"'), "a stray line break or mark")
        tests = [test.strip() for test in joined.split(",") if test.strip() not in {"", "?"}]
        if not tests:
            self.defects.append("no tests are named")
        return tuple(self._repair_test(test) for test in tests)

    def _repair_test(self, test: str) -> str:
        test = self._repair("test_cases", test, test.rstrip(":"), "a stray colon at the end")
        file, colons, case = test.partition("::")
        if test.endswith("/"):
            self.defects.append("a whole folder of tests is named")
        elif not file.endswith(".py"):
            test = self._repair("test_cases", test, f"{file}.py{colons}{case}", "the file's ending was missing")
        if not colons and not test.endswith("/"):
            self.defects.append("a whole file of tests is named")
        return test


def _is_dotted(name: str) -> bool:
    # Both checks: `\w` also matches "²", and identifiers may have characters that records reject.
    return all(part.isidentifier() and re.fullmatch(r"\w+", part) for part in name.split("."))


_PREFIX = "processed_"
_ANSWER_KEYS = {
    "function": "function_name",
    "path": "ground_truth",
    "test_cases": "test",
    "repo": "repo",
    "class": "class",
}
_FIX = "give upstream's answers: JSON objects with `result`, `function_name`, `ground_truth`, `test`, `repo`, `class`"


@dataclass
class Answers:
    samples: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    """Where the answer is, and why it matches no instance."""


def match_answers(path: Path, repaired: Sequence[RepairedFile]) -> Answers:
    """Samples for `dlbench evaluate`; those of one instance are numbered in the order found."""
    by_file = {Path(one.file).stem: one for one in repaired}
    found = Answers()
    counts: Counter[str] = Counter()
    for where, stem, record in _read(path):
        if not isinstance(record.get("result"), str):
            raise DLBenchError("`result` is missing or not a string", where=where, fix=_FIX)
        named = by_file.get(stem.removeprefix(_PREFIX)) if stem.startswith(_PREFIX) else None
        fitting = [named] if named else _find_fitting(record, repaired, where)
        if len(fitting) != 1:
            ids = ", ".join(one.id for one in fitting)
            found.left_out.append((where, f"fits several: {ids}" if fitting else "fits no instance"))
            continue
        instance = fitting[0].id
        found.samples.append({"instance": instance, "sample": counts[instance], "answer": record["result"]})
        counts[instance] += 1
    if not found.samples and not found.left_out:
        raise DLBenchError("there are no answers here", where=str(path), fix=_FIX)
    return found


def _find_fitting(record: dict[str, Any], repaired: Sequence[RepairedFile], where: str) -> list[RepairedFile]:
    key = _repair_key(record, where)
    fitting = [
        one
        for one in repaired
        if one.function == key.function
        and one.path == key.path
        and key.class_name in {"", one.class_name}
        and (key.project.lower() == one.project.lower() or "repo" not in record)
    ]
    same_tests = [one for one in fitting if one.tests == key.tests]
    return same_tests if len(fitting) > 1 and same_tests else fitting


def _repair_key(record: dict[str, Any], where: str) -> RepairedFile:
    """The answer's own fields have the same faults as the file they were copied from."""
    values = dict.fromkeys(("stage", "task", "data", "prompt"), "")
    for name, key in _ANSWER_KEYS.items():
        values[name] = record.get(key) or ""
        if not isinstance(values[name], str):
            raise DLBenchError(f"`{key}` is not a string", where=where, fix=_FIX)
    return repair_all([OfficialFile(where, values)])[0]


def _read(path: Path) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The location of each answer, the stem of its file, and the answer."""
    if path.is_dir():
        for file in sorted(one for one in path.rglob("*") if one.suffix in {".json", ".jsonl"} and one.is_file()):
            yield from _read(file)
    elif path.suffix == ".jsonl":
        yield from ((f"{path}:{number}", "", record) for number, record in read_lines(path))
    else:
        try:
            content = json.loads(path.read_text(encoding="utf-8-sig"))
        except OSError as error:
            raise DLBenchError(f"cannot be read: {error.strerror}", where=str(path), fix="check the path") from None
        except (ValueError, RecursionError) as error:
            raise DLBenchError(f"not JSON: {error}", where=str(path), fix=_FIX) from None
        is_list = isinstance(content, list)
        for number, record in enumerate(content if is_list else [content], 1):
            if not isinstance(record, dict):
                raise DLBenchError("not an answer", where=f"{path}, number {number}", fix=_FIX)
            yield (f"{path}, number {number}", "", record) if is_list else (str(path), path.stem, record)
