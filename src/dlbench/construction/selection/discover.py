"""Discover projects on GitHub by topic, or on the package index by name (step 1).

Every page and package is saved at once, so that an interrupted run resumes without repeating requests. Once everything
has been fetched, the saved pages are dropped, and the next run starts over.
"""

import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from packaging.utils import InvalidName, canonicalize_name

from dlbench.construction import Row, WorkFolder
from dlbench.construction.selection import find_topics, read_topics, to_one_line
from dlbench.construction.selection.github import API, MOST, PATIENCE, PER_PAGE, GitHub, GitHubError, Sleep, Stopped
from dlbench.construction.selection.releases import newest
from dlbench.errors import DLBenchError
from dlbench.jsonl import Journal
from dlbench.workspace.home import Log, quiet
from dlbench.workspace.package_index import Package, look_up

STEP, FAILED = "discover", "discover_failed"
_PAGES, _LOOKED_UP = "discover_pages", "discover_looked_up"
_TOPIC = re.compile(r"[a-z0-9][a-z0-9-]{0,49}")


@dataclass(frozen=True)
class Discovery:
    """`stopped`: why not everything was fetched; the same call resumes."""

    rows: list[Row]
    failed: list[Row]
    stopped: str = ""

    @property
    def complete(self) -> bool:
        return not (self.failed or self.stopped)


def discover_on_github(
    work: WorkFolder,
    topics: Sequence[str] = (),
    *,
    most: int = MOST,
    base_url: str = API,
    token: str | None = None,
    patience: float = PATIENCE,
    log: Log = quiet,
    sleep: Sleep = time.sleep,
) -> Discovery:
    """The `most` starred repositories of each topic, by default the built-in topics and GITHUB_TOKEN."""
    requested = list(dict.fromkeys(topics or read_topics().github))
    for topic in requested:
        if not _TOPIC.fullmatch(topic):
            fix = "a topic has lower-case letters, digits and hyphens, for example deep-learning"
            raise DLBenchError("not a GitHub topic", where=repr(topic), fix=fix)
    most = min(most, MOST)
    token = (os.environ.get("GITHUB_TOKEN", "") if token is None else token).strip()
    failed: list[Row] = []
    stopped = ""
    with GitHub(base_url, token, patience, log, sleep) as github, Journal(work.path(_PAGES)) as journal:
        kept = {(r["topic"], r["page"]): r for r in journal.records() if r["source"] == base_url}
        for topic in requested:
            try:
                for record in _fetch_pages(github, topic, most, kept):
                    journal.append({"source": base_url, **record})
                    kept[topic, record["page"]] = record
                    count = len(record["repositories"])
                    partial = "; GitHub reports incomplete results" if record["partial"] else ""
                    log(f"topic {topic}, page {record['page']}: {count} repositories{partial}")
            except GitHubError as problem:
                failed.append({"name": topic, "origin": "github", "reason": str(problem)})
                log(f"topic {topic} left out: {problem}")
            except Stopped as problem:
                stopped = str(problem)
                break
        found = Discovery(_merge_pages(requested, most, kept), failed, stopped)
        _write(work, journal, found, "github", requested)
    return found


def _fetch_pages(github: GitHub, topic: str, most: int, kept: dict[tuple[str, int], Row]) -> Iterator[Row]:
    """Fetch the pages that are not saved yet."""
    for number in range(1, -(-most // PER_PAGE) + 1):
        record = kept.get((topic, number))
        if record is None:
            record = {"topic": topic, "page": number} | github.find_page(topic, number)
            yield record
        if not record["more"]:
            return


def _merge_pages(topics: list[str], most: int, kept: dict[tuple[str, int], Row]) -> list[Row]:
    """One row for each repository with all its topics; most starred first."""
    rows: dict[str, Row] = {}
    for topic in topics:
        numbers = sorted(number for name, number in kept if name == topic)
        listed = [repository for number in numbers for repository in kept[topic, number]["repositories"]]
        for repository in listed[:most]:
            unknown = {"version": "", "uploaded": None, "releases": None, "has_sdist": None}
            new = {"origin": "github", "topics": [], **repository, **unknown}
            row = rows.setdefault(repository["name"].lower(), new)
            row["topics"] = list(dict.fromkeys([*row["topics"], topic]))
    return sorted(rows.values(), key=_order)


def discover_on_index(work: WorkFolder, names: Iterable[str], *, log: Log = quiet) -> Discovery:
    """Look up each name on the package index; failures are recorded, and the rest continues."""
    requested = list(dict.fromkeys(name.strip() for name in names if name.strip()))
    failed: list[Row] = []
    with Journal(work.path(_LOOKED_UP)) as journal:
        kept: dict[str, Row] = {record["asked"]: record["row"] for record in journal.records()}
        for number, name in enumerate(requested, 1):
            if name in kept:
                continue
            try:
                row = _index_row(look_up_package(name))
            except DLBenchError as error:
                failed.append({"name": name, "origin": "index", "reason": to_one_line(error.what)})
                log(f"{number}/{len(requested)} {name}: {to_one_line(error.what)}")
                continue
            journal.append({"asked": name, "row": row})
            kept[name] = row
            log(f"{number}/{len(requested)} {name}: {row['releases']} releases")
        rows = {kept[name]["name"]: kept[name] for name in requested if name in kept}
        found = Discovery(sorted(rows.values(), key=_order), failed)
        _write(work, journal, found, "index", requested)
    return found


def look_up_package(name: str) -> Package:
    try:
        return look_up(canonicalize_name(name, validate=True))
    except InvalidName:
        raise DLBenchError("not a package name", where=repr(name), fix="check its name") from None


def _index_row(package: Package) -> Row:
    last = newest(package)
    days = [release.uploaded for release in package.releases]
    return {
        "name": to_one_line(package.name),
        "origin": "index",
        "url": "",
        "stars": None,
        "topics": find_topics(package),
        "summary": to_one_line(package.summary),
        "license": to_one_line(package.license, 100),
        "version": last.version if last else "",
        "uploaded": max(days).isoformat() if days else None,
        "releases": len({release.version for release in package.releases}),
        "has_sdist": any(release.kind == "sdist" for release in package.releases),
    }


def _write(work: WorkFolder, journal: Journal, found: Discovery, origin: str, requested: list[str]) -> None:
    """Merge into the results of earlier runs; a row found again is replaced but keeps its topics."""
    rows = {_key(row): row for row in work.read(STEP)} if work.has(STEP) else {}
    for row in found.rows:
        earlier = rows.get(_key(row), row)
        rows[_key(row)] = {**row, "topics": list(dict.fromkeys([*earlier["topics"], *row["topics"]]))}
    work.write(STEP, sorted(rows.values(), key=_order))
    before = work.read(FAILED) if work.has(FAILED) else []
    others = [row for row in before if row["origin"] != origin or row["name"] not in requested]
    work.write(FAILED, [*others, *found.failed])
    if found.complete:
        journal.path.unlink()


def _key(row: Row) -> tuple[str, str]:
    return row["origin"], row["name"].lower()


def _order(row: Row) -> tuple[str, int, str]:
    return row["origin"], -(row["stars"] or 0), row["name"].lower()
