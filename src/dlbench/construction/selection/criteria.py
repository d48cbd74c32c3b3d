"""Select the discovered projects that can give instances (step 2).

Each package's newest source archive is fetched and read, never run. Documentation, as docstrings or as text, is
required because without it nobody can say what a function should do, and no fair prompt can be written.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import canonicalize_name

from dlbench.construction import Row, WorkFolder
from dlbench.construction.selection import OTHER, discover, find_topics, to_one_line
from dlbench.construction.selection.case_counts import Cases, collect_names, count_cases
from dlbench.construction.selection.releases import choose_release, find_license, open_release
from dlbench.construction.selection.source_layout import Layout, Libraries, Module, find_tests_root, parse, read_project
from dlbench.errors import DLBenchError, is_full_disk
from dlbench.jsonl import Journal
from dlbench.workspace.home import Log, quiet
from dlbench.workspace.package_index import Package, Release

LEAST_SHARE = 0.3
LEAST_WORDS = 200
_FOLDERS = ("docs", "doc", "documentation")
_TEXTS = (".md", ".rst", ".txt")

STEP = "select"
LEAST_RATIO = 3.0
_JUDGED = "select_judged"
_TRANSIENT = ("index", "archive")
"""Kinds of reasons that may be temporary; such packages are examined again after a kill."""


@dataclass(frozen=True)
class Candidate:
    """`repositories`: GitHub repositories of this name; the package must name one of them."""

    name: str
    repositories: tuple[str, ...] = ()
    version: str = ""
    """Of the release; empty for the newest with a source archive."""


def count_words(tree: Path, description: str) -> int:
    """`description`, from the index, replaces a README that the archive does not contain."""
    readme = sum(len(_read_text(path).split()) for path in tree.iterdir() if path.name.lower().startswith("readme"))
    pages = (path for folder in _FOLDERS for path in (tree / folder).rglob("*") if path.suffix.lower() in _TEXTS)
    return max(readme, len(description.split())) + sum(len(_read_text(path).split()) for path in pages)


def _read_text(path: Path) -> str:
    """Empty if there is no such file of its own."""
    return "" if path.is_symlink() or not path.is_file() else path.read_text(encoding="utf-8", errors="replace")


def find_candidates(work: WorkFolder, names: Sequence[str] = ()) -> list[Candidate]:
    """Candidates for the names, or for all of step 1.

    For `owner/name`, a repository, the package of the same name is searched; `name==version` is one release."""
    if not names:
        names = [row["name"] for row in work.read(discover.STEP)]
    found: dict[str, Candidate] = {}
    for requested in names:
        name, _, version = requested.partition("==")
        bare = name.rpartition("/")[2]
        key = canonicalize_name(bare)
        earlier = found.get(key)
        if "/" not in name or (earlier and not earlier.repositories):
            # A name given as a package is taken as such, even if repositories have the same name.
            found[key] = Candidate(earlier.name if earlier and "/" in name else bare, version=version)
        else:
            found[key] = Candidate(bare, (*(earlier.repositories if earlier else ()), name), version)
    return list(found.values())


def select(
    work: WorkFolder, names: Sequence[str] = (), *, log: Log = quiet, on_row: Callable[[Row], None] = lambda row: None
) -> list[Row]:
    """Judge the candidates and write `select.jsonl`; rows of earlier runs stay unless judged again."""
    rows: list[Row] = []
    with Journal(work.path(_JUDGED)) as journal:
        judged = {tuple(record["asked"]): record["row"] for record in journal.records()}
        for candidate in find_candidates(work, names):
            key = (candidate.name, *candidate.repositories, *filter(None, [candidate.version]))
            row = judged.get(key)
            if row is None:
                row = judge_candidate(candidate, log)
                if not any(reason_kind(reason) in _TRANSIENT for reason in row["reasons"]):
                    journal.append({"asked": key, "row": row})
            rows.append(row)
            on_row(row)
        earlier = {row["name"]: row for row in work.read(STEP)} if work.has(STEP) else {}
        work.write(STEP, [*(earlier | {row["name"]: row for row in rows}).values()])
        journal.path.unlink()
    return rows


def judge_candidate(candidate: Candidate, log: Log = quiet) -> Row:
    row: Row = {**_EMPTY_ROW, "reasons": [], "packages": [], "name": candidate.name}
    kind = "index"
    try:
        package = discover.look_up_package(candidate.name)
        kind = "release"
        release = choose_release(package, version=candidate.version)
        row |= {"version": release.version, "uploaded": release.uploaded.isoformat()}
        row |= {"filename": release.filename, "sha256": release.sha256}
        kind = "archive"
        with open_release(package, release, log) as tree:
            _read(candidate, package, release, tree, row)
    except Exception as error:  # An archive can be broken in unforeseen ways.
        if is_full_disk(error):
            raise
        why = error.what if isinstance(error, DLBenchError) else f"cannot be read: {type(error).__name__}: {error}"
        row["reasons"].append(f"{kind}: {to_one_line(why)}")
    row["selected"] = not row["reasons"]
    return row


_EMPTY_ROW: Row = {
    "selected": False, "reasons": [], "repository": "", "version": "", "uploaded": None, "filename": "", "sha256": "",
    "kind": "", "framework": "", "import_root": "", "packages": [], "tests_root": "", "test_files": 0,
    "test_functions": 0, "test_cases": 0, "tested_functions": 0, "ratio": 0.0, "public_functions": 0,
    "documented": 0.0, "words": 0, "license": "",
}  # fmt: skip


def _read(candidate: Candidate, package: Package, release: Release, tree: Path, row: Row) -> None:
    """Measure the project and add every reason against it, not only the first."""
    layout, modules, libraries = read_project(tree, package.name, package.requires)
    cases, by_file = _count(tree, layout, modules)
    public = sum(module.public for module in modules)
    documented = sum(module.documented for module in modules) / max(1, public)
    words = count_words(tree, package.description)
    license = find_license(package, tree)
    repository = _find_repository(candidate, package, tree)
    row |= {
        "repository": repository,
        "kind": libraries.kind,
        "framework": "" if libraries.framework == OTHER else libraries.framework,
        "import_root": layout.import_root if layout.packages else "",
        "packages": list(layout.packages),
        "tests_root": find_tests_root(by_file),
        "test_files": len(by_file),
        "test_functions": cases.functions,
        "test_cases": cases.cases,
        "tested_functions": len(cases.by_function),
        "ratio": round(cases.ratio, 2),
        "public_functions": public,
        "documented": round(documented, 3),
        "words": words,
        "license": license.name,
    }
    reasons: list[str] = row["reasons"]
    if candidate.repositories and not repository:
        reasons.append(f"repository: the package does not name {' or '.join(candidate.repositories)}")
    if not modules:
        reasons.append(f"code: no Python package in {release.filename}")
    elif problem := _code_problem(libraries, package):
        reasons.append(f"code: {problem}")
    if not cases.functions:
        reasons.append(f"tests: none in the archive ({len(layout.tests)} files have test names)")
    elif cases.ratio < LEAST_RATIO:
        figure = f"{cases.ratio:.1f} test cases for each of {len(cases.by_function)} tested functions"
        reasons.append(f"cases: {figure}, fewer than {LEAST_RATIO:.0f} (estimate; {cases.cases} cases)")
    if documented < LEAST_SHARE and words < LEAST_WORDS:
        figure = f"{documented:.0%} of {public} public functions have a docstring, less than {LEAST_SHARE:.0%}"
        reasons.append(f"documents: {figure}, and README and docs have {words} words, fewer than {LEAST_WORDS}")
    if license.problem:
        reasons.append(f"license: {license.problem}")


def _count(tree: Path, layout: Layout, modules: Sequence[Module]) -> tuple[Cases, dict[str, int]]:
    """All cases, and the number of test functions of each file with tests."""
    known = collect_names(layout.packages, modules)
    found = {file: count_cases(parsed, known) for file in layout.tests if (parsed := parse(tree / file))}
    by_function = sum((cases.by_function for cases in found.values()), Counter[str]())
    by_file = {file: cases.functions for file, cases in found.items() if cases.functions}
    return Cases(sum(by_file.values()), sum(cases.cases for cases in found.values()), by_function), by_file


def _code_problem(libraries: Libraries, package: Package) -> str:
    if libraries.framework == OTHER:
        return f"built on a framework without a benchmark environment ({libraries.figures})"
    if not libraries.kind:
        return f"no deep-learning or array library ({libraries.figures})"
    if libraries.kind == "array" and not find_topics(package):
        unrelated = "summary, keywords and classifiers do not mention machine learning"
        return f"arrays only, and {unrelated} ({libraries.figures})"
    return ""


def _find_repository(candidate: Candidate, package: Package, tree: Path) -> str:
    """The repository that the archive names: a package of the same name may be unrelated."""
    files = ("PKG-INFO", "pyproject.toml", "setup.py", "setup.cfg", "README.md", "README.rst")
    text = "\n".join([package.description, *(_read_text(tree / name) for name in files)]).lower()
    named = (one for one in candidate.repositories if f"github.com/{one.lower()}" in text)
    return next(named, "")


def reason_kind(reason: str) -> str:
    return reason.partition(":")[0]


def render_selection(rows: Iterable[Row]) -> str:
    """A Markdown table, selected projects first; the verdict column has the reasons against the others."""
    listed = sorted(rows, key=lambda row: (not row["selected"], row["name"].lower()))
    lines = [
        "| project | version | uploaded | framework | license | test cases | tested functions | cases each "
        "| documented | verdict |",
        "| --- | --- | --- | --- | --- | ---: | ---: | ---: | ---: | --- |",
    ]
    for row in listed:
        cells = [row["name"], row["version"], row["uploaded"] or "", row["framework"], row["license"]]
        cells += [str(row["test_cases"]), str(row["tested_functions"]), f"{row['ratio']:.1f}"]
        cells += [f"{row['documented']:.0%}", "selected" if row["selected"] else "; ".join(row["reasons"])]
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines) + "\n"
