"""Export labelling tasks to Label Studio and import its votes.

An export in another format or with another labelling configuration is rejected as a whole before any vote is written:
a partial import would look like annotators who did not finish.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from dlbench.construction import Row
from dlbench.construction.labelling.catalogue import Entry, Source
from dlbench.construction.labelling.votes import Sheets, Vote, parse_vote, plan_votes, read_votes
from dlbench.dataset.labels import AXES
from dlbench.errors import DLBenchError

_EXPORT_AGAIN = "export the project from Label Studio again, in the format JSON"


def write_task(entry: Entry, prompt: str, source: Source) -> Row:
    """One task. It contains the function's id, since Label Studio assigns its own task numbers."""
    tests = "\n\n".join(f"# {test['id']}\n{test['code']}" for test in source["tests"])
    path, code = entry.function["path"], source["code"]
    return {"data": {"function": entry.id, "path": path, "code": code, "tests": tests, "prompt": prompt}}


def write_configuration() -> str:
    """The labelling configuration, to paste into the settings of the Label Studio project."""
    view = ElementTree.Element("View", style="display: flex; gap: 2em")
    reading = ElementTree.SubElement(view, "View", style="flex: 3; min-width: 0")
    for name, heading in (("path", "$function"), ("code", "Code"), ("tests", "Tests"), ("prompt", "Prompt")):
        ElementTree.SubElement(reading, "Header", value=heading)
        preformatted = ElementTree.SubElement(reading, "View", style="white-space: pre-wrap")
        ElementTree.SubElement(preformatted, "Text", name=name, value=f"${name}")
    voting = ElementTree.SubElement(view, "View", style="flex: 2; min-width: 0")
    for axis, labels in AXES.items():
        ElementTree.SubElement(voting, "Header", value=axis.capitalize())
        choices = ElementTree.SubElement(
            voting, "Choices", name=axis, toName="code", choice="single-radio", required="true",
            requiredMessage=f"Choose the {axis}",
        )  # fmt: skip
        for label in labels:
            ElementTree.SubElement(choices, "Choice", value=label.value, hint=label.definition)
    ElementTree.SubElement(voting, "Header", value="Note")
    ElementTree.SubElement(voting, "TextArea", name="note", toName="code", maxSubmissions="1", editable="true")
    ElementTree.indent(view)
    return ElementTree.tostring(view, encoding="unicode") + "\n"


def read_export(path: Path) -> list[Vote]:
    """The votes of an export in the format JSON. Annotators are named by e-mail address or number."""
    try:
        tasks = json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise DLBenchError("the file does not exist", where=str(path), fix="check the path") from None
    except (OSError, ValueError, RecursionError) as error:
        raise DLBenchError(f"not a JSON file: {error}", where=str(path), fix=_EXPORT_AGAIN) from None
    if not isinstance(tasks, list):
        raise DLBenchError("not a list of tasks", where=str(path), fix=_EXPORT_AGAIN)
    last: dict[tuple[str, str], Vote] = {}
    people: dict[str, str] = {}
    for number, task in enumerate(tasks, 1):
        for person, vote in _read_task(task, f"{path}: task {number}"):
            known = people.setdefault(vote.annotator, person)
            if known != person:
                what, fix = f"{known} and {person} would both be named {vote.annotator}", "rename one in the export"
                raise DLBenchError(what, where=vote.where, fix=fix)
            key = vote.id, vote.annotator
            if key not in last or vote.at >= last[key].at:
                last[key] = vote
    return list(last.values())


def _read_task(task: object, where: str) -> Iterator[tuple[str, Vote]]:
    """Person and vote for each annotation; skipped annotations are ignored."""
    if isinstance(task, dict) and "annotations" not in task and {"annotator", "annotation_id"} & set(task):
        raise DLBenchError("this is the format JSON-MIN, not JSON", where=where, fix=_EXPORT_AGAIN)
    data = _get(task, "data", dict, where)
    function = _get(data, "function", str, f"{where}, data")
    for number, annotation in enumerate(_get(task, "annotations", list, where), 1):
        location = f"{where} ({function}), annotation {number}"
        result = _get(annotation, "result", list, location)
        if annotation.get("was_cancelled"):
            continue
        person = _find_person(annotation.get("completed_by"), location)
        time = annotation.get("updated_at") or annotation.get("created_at")
        if not time:
            raise DLBenchError("`updated_at` is missing", where=location, fix=_EXPORT_AGAIN)
        row = {"id": function, "at": time} | dict(_read_choice(choice, location) for choice in result)
        vote = parse_vote(row, _make_name(person), location)
        if not vote.is_complete:
            missing = ", ".join(axis for axis in AXES if axis not in vote.labels)
            raise DLBenchError(f"no choice for {missing}", where=location, fix="finish it in Label Studio")
        yield person, vote


def _read_choice(choice: object, where: str) -> tuple[str, str]:
    name = _get(choice, "from_name", str, where)
    value = _get(choice, "value", dict, where)
    if name == "note":
        texts = value.get("text", [])
        return name, "\n".join(map(str, texts if isinstance(texts, list) else [texts]))
    if name not in AXES:
        fix = "use the configuration that `dlbench construct label --export-label-studio` writes"
        raise DLBenchError(f"{name!r} is not in the labelling configuration", where=where, fix=fix)
    chosen = _get(value, "choices", list, f"{where}, {name}")
    if len(chosen) != 1:
        raise DLBenchError(f"{len(chosen)} values for {name}", where=where, fix="choose exactly one in Label Studio")
    return name, chosen[0]


def _get(record: Any, name: str, kind: type, where: str) -> Any:  # noqa: ANN401 - any JSON value
    value = record.get(name) if isinstance(record, dict) else None
    if not isinstance(value, kind):
        raise DLBenchError(f"`{name}` is missing or not a {kind.__name__}", where=where, fix=_EXPORT_AGAIN)
    return value


def _find_person(completed_by: object, where: str) -> str:
    """The annotator's e-mail address or number; Label Studio exports a number or a record."""
    if isinstance(completed_by, dict):
        completed_by = completed_by.get("email") or completed_by.get("id")
    if isinstance(completed_by, bool) or not isinstance(completed_by, int | str) or not str(completed_by):
        raise DLBenchError("`completed_by` is missing", where=where, fix=_EXPORT_AGAIN)
    return str(completed_by)


def _make_name(person: str) -> str:
    return f"annotator-{person}" if person.isdecimal() else re.sub(r"[^a-z0-9_]+", "-", person.lower()).strip("-")[:40]


def import_votes(votes: Iterable[Vote], known: Iterable[str], sheets: Sheets) -> int:
    """Write the votes that are newer than the annotator's recorded vote, and return their number.

    Importing the same export twice therefore adds nothing, whatever was voted since."""
    known = set(known)
    by_annotator: defaultdict[str, list[Vote]] = defaultdict(list)
    for vote in votes:
        if vote.id not in known:
            fix = "give the work folder that the tasks were exported from"
            raise DLBenchError(f"unknown function {vote.id!r}", where=vote.where, fix=fix)
        by_annotator[vote.annotator].append(vote)
    with sheets.lock:
        recorded = {(vote.id, vote.annotator): vote.at for vote in read_votes(sheets)}
        planned: list[tuple[str, Row]] = []
        for annotator, cast in by_annotator.items():
            newer = [vote.as_row() for vote in cast if vote.at > recorded.get((vote.id, annotator), "")]
            planned += [(annotator, row) for row in plan_votes(sheets, annotator, newer)]
        for annotator, row in planned:
            sheets.append(annotator, row)
    return len(planned)
