"""What is wrong with the official files, and what of it can be fixed without a guess?

In one file of four the stage stands where the kind of data should be. Read as they stand, they would be counted as
having neither. Each repair is kept with what was there before, so that anybody can disagree; what only the authors
could fix (no tests, no class, a target in test code) is a defect, and stays.

To which instances do answers belong that upstream's scripts wrote?

One JSON file an answer, named `processed_<official file>.json`; people also put them together, as a list or as lines.
By its file's name an answer is known for certain. Otherwise function, class, file and project must fit one instance and
no other: an answer given to the wrong function would be a failure that its model did not earn, so what fits none or
several is named and left out.
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
from dlbench.construction.screening.paths import classify_path
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
"""What may be a folder's name: that of a project becomes one."""
_DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_CLOSE = 0.85
"""How alike a misspelt label must be to a known one."""


@dataclass(frozen=True)
class Repair:
    file: str
    field: str
    was: str
    now: str
    why: str


@dataclass(frozen=True)
class RepairedFile:
    """One official file, fixed. Labels are None where what stands there is no label of ours."""

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
        """None where there is none that Python could have: without its class, a method may be taken for a function."""
        joined = ".".join(filter(None, (self.class_name, self.function)))
        return joined if self.function and _DOTTED.fullmatch(joined) else None

    @property
    def target(self) -> tuple[str, str | None, str | None]:
        return self.project, self.path, self.qualname


def repair_all(files: Sequence[OfficialFile]) -> list[RepairedFile]:
    """In the order of the files. Names of projects that differ in case only become the more frequent one."""
    spellings: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for file in files:
        spellings[file.fields.get("repo", "").lower()][file.fields.get("repo", "")] += 1
    projects = {low: counts.most_common(1)[0][0] for low, counts in spellings.items()}
    repaired = [_Repairing(file).finish(projects) for file in files]
    first: dict[tuple[str, str | None, str | None], str] = {}
    found = []
    for one in repaired:
        earlier = first.setdefault(one.target, one.file)
        is_same = earlier != one.file and one.path and one.function
        found.append(replace(one, defects=(*one.defects, f"the same target as {earlier}")) if is_same else one)
    return found


class _Repairing:
    """One file on its way, with what was done to it."""

    def __init__(self, file: OfficialFile) -> None:
        self.file = file
        self.fields = dict(file.fields)
        self.repairs: list[Repair] = []
        self.defects: list[str] = []

    def finish(self, projects: Mapping[str, str]) -> RepairedFile:
        stage, data = self._label_stage_and_data()
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

    def _label_stage_and_data(self) -> tuple[Stage | None, Data | None]:
        stage, data = self.fields["stage"], self.fields["data"]
        if stage.lower() not in _STAGES and stage.lower() in _DATA and data.lower() in _STAGES:
            self._repair("stage, data", f"{stage}, {data}", f"{data}, {stage}", "the two were swapped")
            self.fields |= {"stage": data, "data": stage}
        return self._label("stage", _STAGES), self._label("data", _DATA)

    def _label(self, field: str, known: Mapping[str, AnyLabel]) -> AnyLabel | None:
        value = self.fields[field]
        if value.lower() in known:
            return known[value.lower()]
        for close in get_close_matches(value.lower(), known, n=1, cutoff=_CLOSE):
            self._repair(field, value, close, "a slip of the pen")
            return known[close]
        self.defects.append(f"{field} is {value!r}, which is none of its labels")
        return None

    def _name_project(self, projects: Mapping[str, str]) -> str:
        given = self.fields.get("repo", "")
        if not given:
            self.defects.append("no project is named")
            return UNKNOWN
        if not _NAME.fullmatch(projects[given.lower()]):
            self.defects.append(f"repo is {given!r}, which is no name of a project")
            return UNKNOWN
        return self._repair("repo", given, projects[given.lower()], "elsewhere it is written so")

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
        if "function" not in self.fields and self.fields.get("f_name"):
            name = self.fields["f_name"]
            self._repair("function", f"f_name: {name}", f"function: {name}", "another name of the key")
            return self._read_name("function", name)
        if not self.fields.get("function"):
            self.defects.append("no function is named")
        return self._read_name("function", self.fields.get("function", ""))

    def _read_name(self, field: str, given: str) -> str:
        if given and not _DOTTED.fullmatch(given):
            self.defects.append(f"{field} is {given!r}, which is no name")
        return given

    def _find_class(self) -> str:
        if not self.fields.get("class") and self.file.name.startswith("classes-"):
            self.defects.append("the class of the method is not named")
        return self._read_name("class", self.fields.get("class", ""))

    def _find_tests(self) -> tuple[str, ...]:
        given = self.fields.get("test_cases", "")
        joined = self._repair("test_cases", given, given.replace("\n", "").strip('"'), "a stray line break or mark")
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


_PREFIX = "processed_"
_FIX = "give upstream's answers: JSON objects with `result`, `function_name`, `ground_truth`, `test`, `repo`, `class`"


@dataclass
class Answers:
    samples: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    """Where an answer stands, and why it belongs to no instance."""


def match_answers(path: Path, repaired: Sequence[RepairedFile]) -> Answers:
    """Samples as `dlbench evaluate` takes them; those of one instance are numbered in the order they were found."""
    by_file = {Path(one.file).stem: one for one in repaired}
    found = Answers()
    counts: Counter[str] = Counter()
    for where, stem, record in _read(path):
        if not isinstance(record.get("result"), str):
            raise DLBenchError("`result` is missing or not a string", where=where, fix=_FIX)
        named = by_file.get(stem.removeprefix(_PREFIX)) if stem.startswith(_PREFIX) else None
        fitting = [named] if named else _find_fitting(record, repaired, where)
        if len(fitting) != 1:
            told = ", ".join(one.id for one in fitting)
            found.left_out.append((where, f"fits several: {told}" if fitting else "fits no instance"))
            continue
        instance = fitting[0].id
        found.samples.append({"instance": instance, "sample": counts[instance], "answer": record["result"]})
        counts[instance] += 1
    if not found.samples and not found.left_out:
        raise DLBenchError("there is no answer here", where=str(path), fix=_FIX)
    return found


def _find_fitting(record: dict[str, Any], repaired: Sequence[RepairedFile], where: str) -> list[RepairedFile]:
    asked = _repair_key(record, where)
    fitting = [
        one
        for one in repaired
        if one.function == asked.function
        and one.path == asked.path
        and asked.class_name in {"", one.class_name}
        and (asked.project.lower() == one.project.lower() or "repo" not in record)
    ]
    same_tests = [one for one in fitting if one.tests == asked.tests]
    return same_tests if len(fitting) > 1 and same_tests else fitting


def _repair_key(record: dict[str, Any], where: str) -> RepairedFile:
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
        raise DLBenchError(f"`{wrong[0]}` is not a string", where=where, fix=_FIX)
    blank = {"stage": "", "task": "", "data": "", "prompt": ""}
    return repair_all([OfficialFile(where, blank | given)])[0]


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
                raise DLBenchError("not an answer", where=f"{path}, number {number}", fix=_FIX)
            is_alone = not isinstance(read, list)
            yield (str(path), path.stem, record) if is_alone else (f"{path}, number {number}", "", record)


def _load(path: Path) -> Any:  # noqa: ANN401 - whatever JSON has
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise DLBenchError(f"cannot be read: {error.strerror}", where=str(path), fix="check the path") from None
    except (ValueError, RecursionError) as error:
        raise DLBenchError(f"not JSON: {error}", where=str(path), fix=_FIX) from None
