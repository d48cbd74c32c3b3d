"""Read datasets of any supported form as prompts with references.

These are our benchmark or one like it, a folder of official DL-Bench files, and DS-1000's JSONL.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dlbench.analysis.official import find_files, make_record, read_files, repair_all
from dlbench.dataset import AXES, Benchmark, Instance, Unrunnable, load
from dlbench.dataset.target import TargetError, find_target
from dlbench.errors import DLBenchError
from dlbench.jsonl import read_lines
from dlbench.workspace import fetch
from dlbench.workspace.home import Log

OURS = "ours"
_LINES = (".jsonl", ".jsonl.gz")


@dataclass(frozen=True)
class Item:
    id: str
    prompt: str
    code: str | None
    """The reference; None if it is not known."""
    group: str
    """The project or library."""
    labels: Mapping[str, str]
    """stage, task and data, as far as known."""


@dataclass(frozen=True)
class Corpus:
    name: str
    items: tuple[Item, ...]

    @property
    def with_code(self) -> list[tuple[Item, str]]:
        return [(item, item.code) for item in self.items if item.code is not None]


def read_corpus(dataset: str, *, sources: Path | None = None, with_code: bool = True, log: Log = print) -> Corpus:
    """`dataset`: `ours`, a path, or NAME=PATH. `sources` has one folder per project, for datasets without code.
    Without `with_code` nothing is fetched, and items of a benchmark have no code."""
    name, path = _parse_name(dataset)
    if path is None:
        items = _read_benchmark(load(), sources, with_code, log)
    elif path.is_file() and path.name.endswith(_LINES):
        items = list(_read_lines(path))
    elif (path / "VERSION").is_file():
        items = _read_benchmark(load(path), sources, with_code, log)
    elif path.is_dir() and (files := find_files(path)):
        items = _make_items(map(make_record, repair_all(read_files(files))), sources if with_code else None)
    else:
        raise DLBenchError(
            "not a known kind of dataset" if path.exists() else "there is no such file or folder",
            where=str(path),
            fix="give `ours`, a benchmark folder, a folder of official DL-Bench files, or DS-1000's .jsonl(.gz)",
        )
    if not items:
        raise DLBenchError("the dataset is empty", where=str(path or OURS), fix="check the path")
    if repeated := [one for one, times in Counter(item.id for item in items).items() if times > 1]:
        what = f"{len(repeated)} ids occur more than once, such as {repeated[0]}"
        raise DLBenchError(what, where=str(path or OURS), fix="give a folder that has each file once")
    return Corpus(name, tuple(items))


def read_corpora(datasets: Sequence[str], *, sources: Path | None, with_code: bool = True, log: Log) -> list[Corpus]:
    corpora = []
    for dataset in datasets:
        log(f"reading {dataset}")
        corpora.append(read_corpus(dataset, sources=sources, with_code=with_code, log=log))
    name, count = Counter(corpus.name for corpus in corpora).most_common(1)[0]
    if count > 1:
        raise DLBenchError(f"two datasets are named {name!r}", fix="give one of them as NAME=PATH")
    return corpora


def _parse_name(dataset: str) -> tuple[str, Path | None]:
    if dataset == OURS:
        return OURS, None
    name, equals, rest = dataset.partition("=")
    if equals and name and not Path(dataset).exists():
        return name, None if rest == OURS else Path(rest)
    path = Path(dataset)
    return path.resolve().name.removesuffix(".gz").removesuffix(".jsonl"), path


def _read_benchmark(benchmark: Benchmark, sources: Path | None, with_code: bool, log: Log) -> list[Item]:
    items = []
    for one in benchmark.instances.values():
        code = None
        if with_code:
            tree = fetch(benchmark.project_of(one), benchmark.root, log)
            code = find_target((tree / one.path).read_text(encoding="utf-8"), one.qualname).text
        items.append(Item(one.id, one.prompt, code, one.project, _read_labels(one)))
    return items + _make_items(benchmark.unrunnable.values(), sources if with_code else None)


def _read_labels(one: Instance | Unrunnable) -> dict[str, str]:
    return {axis: str(label) for axis in AXES if (label := getattr(one.labels, axis)) is not None}


def _make_items(records: Iterable[Unrunnable], sources: Path | None) -> list[Item]:
    if sources is not None and not sources.is_dir():
        fix = "give --sources a folder with one source tree per project"
        raise DLBenchError("there is no such folder", where=str(sources), fix=fix)
    trees = {path.name.lower(): path for path in sources.iterdir()} if sources else {}
    return [
        Item(one.id, one.prompt, _find_reference(one, trees.get(one.project.lower())), one.project, _read_labels(one))
        for one in records
    ]


def _find_reference(one: Unrunnable, tree: Path | None) -> str | None:
    if tree is None or one.path is None or one.qualname is None:
        return None
    for root in (tree, tree / "src"):
        with suppress(OSError, ValueError, SyntaxError, TargetError):
            return find_target((root / one.path).read_text(encoding="utf-8"), one.qualname).text
    return None


def _read_lines(path: Path) -> Iterator[Item]:
    """`prompt` and `reference_code` of every line, and DS-1000's metadata if present."""
    for number, record in read_lines(path):
        for key in ("prompt", "reference_code"):
            if not isinstance(record.get(key), str):
                fix = "give DS-1000's file: each line has `prompt` and `reference_code`"
                raise DLBenchError(f"`{key}` is missing or not a string", where=f"{path}:{number}", fix=fix)
        known = record["metadata"] if isinstance(record.get("metadata"), dict) else {}
        name, group = str(known.get("problem_id", number - 1)), str(known.get("library", ""))
        yield Item(name, record["prompt"], record["reference_code"], group, {})
