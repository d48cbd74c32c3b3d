"""Where is one file of a release, and is it the file that was pinned?

Looked for as pip would: in the owner's find-links places, then the index, then the extra indexes. Whatever the place,
only bytes with the pinned hash are kept: an archive replaced upstream must not become ground truth.
"""

import difflib
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from dlbench.errors import DLBenchError
from dlbench.workspace.home import Say, disk_errors
from dlbench.workspace.pip_config import PipConfig, local_path, read_pip_config, redacted
from dlbench.workspace.web import Unreachable, Web

_RUN_AGAIN = "check the connection and run the same command again; what is already fetched is kept"


def download(project_name: str, filename: str, sha256: str, target: Path, say: Say) -> None:
    """Puts the file at `target`, or raises and leaves nothing there."""
    config = read_pip_config()
    unreachable: list[str] = []
    listed: list[str] = []
    with Web(config) as web:
        for page, files in _listings(project_name, config, web, unreachable):
            listed += files
            if filename not in files:
                continue
            say(f"fetching {filename}")
            try:
                _save(web, files[filename], page, sha256, target)
            except Unreachable as problem:
                unreachable.append(str(problem))
            else:
                return
    if unreachable:
        what = f"{filename} could not be fetched; not reachable: " + "; ".join(unreachable)
        raise DLBenchError(what, where=project_name, mend=_RUN_AGAIN)
    raise _not_listed(project_name, filename, listed, config)


def _listings(
    project_name: str, config: PipConfig, web: Web, unreachable: list[str]
) -> Iterator[tuple[str, dict[str, str]]]:
    """Each place's page and its file names with their URLs; a place out of reach is noted and passed over."""
    from pypi_simple import PYPI_SIMPLE_ENDPOINT

    normal = re.sub(r"[-_.]+", "-", project_name).lower()
    indexes = [] if config.no_index else [config.index_url or PYPI_SIMPLE_ENDPOINT, *config.extra_index_urls]
    flat = [(place, _find_links) for place in config.find_links]
    simple = [(f"{place.rstrip('/')}/{normal}/", _local_index) for place in indexes]
    for page, look in flat + simple:
        try:
            if urlsplit(page).scheme in ("http", "https"):
                yield page, _over_http(page, project_name, web)
            else:
                yield page, look(local_path(page), project_name)
        except Unreachable as problem:
            unreachable.append(str(problem))


def _over_http(page: str, project_name: str, web: Web) -> dict[str, str]:
    from pypi_simple import ACCEPT_ANY, ProjectPage, UnsupportedContentTypeError, UnsupportedRepoVersionError

    answer = web.page(page, ACCEPT_ANY)
    if answer is None:
        return {}
    try:
        return {file.filename: file.url for file in ProjectPage.from_response(answer, project_name).packages}
    except (UnsupportedContentTypeError, UnsupportedRepoVersionError, ValueError) as error:
        raise Unreachable(page, f"it does not answer as a package index does: {error}") from None


def _find_links(place: Path, project_name: str) -> dict[str, str]:
    if place.is_dir():
        return {path.name: path.as_uri() for path in place.iterdir() if path.is_file()}
    return _parsed(place, project_name)


def _local_index(folder: Path, project_name: str) -> dict[str, str]:
    return _parsed(folder / "index.html", project_name)


def _parsed(page: Path, project_name: str) -> dict[str, str]:
    from pypi_simple import ProjectPage

    if not page.is_file():
        return {}
    found = ProjectPage.from_html(project_name, page.read_bytes(), base_url=page.as_uri())
    return {file.filename: file.url for file in found.packages}


def _save(web: Web, url: str, page: str, sha256: str, target: Path) -> None:
    with disk_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        part = Path(name)
        try:
            with os.fdopen(handle, "w+b") as file:
                if urlsplit(url).scheme in ("http", "https"):
                    web.save(url, page, file)
                else:
                    with local_path(url).open("rb") as local:
                        shutil.copyfileobj(local, file)
            verify(part, sha256, redacted(url).partition("#")[0])
            part.chmod(0o644)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)


def verify(path: Path, sha256: str, where: str) -> None:
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != sha256:
        raise DLBenchError(
            f"the file is not the one that was pinned: its sha256 is {found}, the record says {sha256}",
            where=where,
            mend="do not use it; if the index is a mirror, ask its owner, otherwise report it to the benchmark",
        )


def _not_listed(project_name: str, filename: str, listed: list[str], config: PipConfig) -> DLBenchError:
    near = difflib.get_close_matches(filename, dict.fromkeys(listed), n=5, cutoff=0.5)
    what = f"no configured index or folder has {filename}"
    if near:
        what += "; nearest: " + ", ".join(near)
    elif not listed:
        what += f", nor any file of a project named {project_name}"
    mend = "check name, version and archive in the project's record"
    if config.no_index:
        mend += "; pip's configuration says no-index, so only find-links places were searched"
    return DLBenchError(what, where=project_name, mend=mend)
