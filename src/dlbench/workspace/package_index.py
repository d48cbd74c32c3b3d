"""Find, download and verify release files, and look up packages on the configured indexes.

Files are searched as pip does. Only bytes with the pinned hash are kept: an archive replaced upstream must not become
ground truth. One host's password is never sent to another. Release dates are upload dates, which cannot be backdated.
"""

import difflib
import re
import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from packaging.utils import canonicalize_name

from dlbench.errors import DLBenchError
from dlbench.workspace.archive import file_hash
from dlbench.workspace.home import Log, disk_errors
from dlbench.workspace.pip_config import PipConfig, local_path, read_pip_config, redacted

if TYPE_CHECKING:
    import requests
    from pypi_simple import DistributionPackage

TRIES = 3
BACK_OFF = 0.5
_TRANSIENT = (408, 429, 500, 502, 503, 504)
_TIMEOUT = (15, 60)
_CHUNK = 1 << 20

Result = TypeVar("Result")


class Unreachable(Exception):
    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"{redacted(url)}: {redacted(reason)}")


class IndexClient:
    def __init__(self, config: PipConfig) -> None:
        import requests

        self._config = config
        self._session = requests.Session()

    def page(self, url: str, accept: str) -> "requests.Response | None":
        """The page, or None if the server answers 404."""

        def get() -> "requests.Response | None":
            answer = self._get(url, url, {"Accept": accept})
            if answer.status_code == 404:
                return None
            answer.raise_for_status()
            _ = answer.content  # Read here, so that a connection that breaks halfway is retried.
            return answer

        return self._retry(url, get)

    def save(self, url: str, listed_on: str, target: Path) -> None:
        def get() -> None:
            # Identity: requests would decompress a .tar.gz that a server labels as gzip-encoded.
            with self._get(url, listed_on, {"Accept-Encoding": "identity"}) as answer, target.open("wb") as file:
                answer.raise_for_status()
                for chunk in answer.iter_content(_CHUNK):
                    file.write(chunk)

        self._retry(url, get)

    def close(self) -> None:
        self._session.close()

    def _get(self, url: str, listed_on: str, headers: dict[str, str]) -> "requests.Response":
        here, page = urlsplit(url), urlsplit(listed_on)
        login = None
        if page.username and (here.hostname, here.port) == (page.hostname, page.port) and not here.username:
            login = (page.username, page.password or "")
        host = here.netloc.rpartition("@")[2]
        is_trusted = {host, host.partition(":")[0]} & {*self._config.trusted_hosts}
        verify = False if is_trusted else self._config.cert
        return self._session.get(url, headers=headers, auth=login, stream=True, timeout=_TIMEOUT, verify=verify)

    def _retry(self, url: str, action: Callable[[], Result]) -> Result:
        import requests

        reason = ""
        for attempt in range(TRIES):
            if attempt:
                time.sleep(BACK_OFF * 2**attempt)
            try:
                return action()
            except requests.exceptions.SSLError as error:
                raise Unreachable(url, f"its certificate is not trusted (set PIP_CERT): {error}") from None
            except requests.HTTPError as error:
                status = error.response.status_code if error.response is not None else 0
                reason = f"HTTP status {status}"
                if status not in _TRANSIENT:
                    break
            except requests.RequestException as error:
                reason = str(error)
        raise Unreachable(url, reason)


def download(project_name: str, filename: str, sha256: str, target: Path, log: Log) -> None:
    """Download the file to `target`, or raise and leave nothing there."""
    config = read_pip_config()
    unreachable, listed = list[str](), list[str]()
    with closing(IndexClient(config)) as web:
        for page, is_index in _places(project_name, config):
            try:
                files = {file.filename: file.url for file in _list_files(page, is_index, project_name, web)}
                listed += files
                if filename in files:
                    log(f"fetching {filename} from {urlsplit(page).hostname or page}")
                    return _save(web, files[filename], page, sha256, target)
            except Unreachable as problem:
                unreachable.append(str(problem))
    what = f"no configured index or folder has {filename}"
    fix = "check name, version and archive in the project's record"
    if unreachable:
        what = f"{filename} could not be fetched; not reachable: {'; '.join(unreachable)}"
        fix = "check the connection and run the same command again; what is already fetched is kept"
    elif near := difflib.get_close_matches(filename, dict.fromkeys(listed), n=5, cutoff=0.5):
        what += "; nearest: " + ", ".join(near)
    elif not listed:
        what += f", nor any file of a project named {project_name}"
    if config.no_index and not unreachable:
        fix += "; pip's configuration sets no-index, so only find-links locations were searched"
    raise DLBenchError(what, where=project_name, fix=fix)


def _places(project_name: str, config: PipConfig) -> list[tuple[str, bool]]:
    """Every location to search, and whether it is the project's page on an index."""
    from pypi_simple import PYPI_SIMPLE_ENDPOINT

    indexes = [] if config.no_index else [config.index_url or PYPI_SIMPLE_ENDPOINT, *config.extra_index_urls]
    pages = [f"{index.rstrip('/')}/{canonicalize_name(project_name)}/" for index in indexes]
    return [(location, False) for location in config.find_links] + [(page, True) for page in pages]


def _is_remote(url: str) -> bool:
    return urlsplit(url).scheme in ("http", "https")


def _list_files(location: str, is_index: bool, project_name: str, web: IndexClient) -> "list[DistributionPackage]":
    """All files that the location lists; a find-links location lists those of other projects, too."""
    import pypi_simple

    if _is_remote(location):
        if (answer := web.page(location, pypi_simple.ACCEPT_ANY)) is None:
            return []
        try:
            found = pypi_simple.ProjectPage.from_response(answer, project_name)
        except (pypi_simple.UnsupportedContentTypeError, pypi_simple.UnsupportedRepoVersionError, ValueError) as error:
            raise Unreachable(location, f"the answer is not a package index page: {error}") from None
    else:
        path = local_path(location) / "index.html" if is_index else local_path(location)
        if path.is_dir():
            links = [pypi_simple.Link(file.name, file.as_uri(), {}) for file in path.iterdir() if file.is_file()]
            return [pypi_simple.DistributionPackage.from_link(link, project_name) for link in links]
        if not path.is_file():
            return []
        found = pypi_simple.ProjectPage.from_html(project_name, path.read_bytes(), base_url=path.as_uri())
    return found.packages


def _save(web: IndexClient, url: str, page: str, sha256: str, target: Path) -> None:
    with disk_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as folder:
            part = Path(folder, target.name)
            _copy(web, url, page, part)
            verify(part, sha256, redacted(url).partition("#")[0])
            part.chmod(0o644)
            part.replace(target)


def _copy(web: IndexClient, url: str, page: str, target: Path) -> None:
    if _is_remote(url):
        web.save(url, page, target)
    else:
        shutil.copyfile(local_path(url), target)


def verify(path: Path, sha256: str, where: str) -> None:
    if (found := file_hash(path)) != sha256:
        what = f"the file is not the one that was pinned: its sha256 is {found}, the record says {sha256}"
        fix = "do not use it; if the index is a mirror, ask its owner, otherwise report it to the benchmark"
        raise DLBenchError(what, where=where, fix=fix)


@dataclass(frozen=True)
class Release:
    """One file of a release. `kind`: sdist or bdist_wheel."""

    version: str
    uploaded: date
    filename: str
    sha256: str
    kind: str
    requires_python: str
    size: int
    is_dated: bool = True
    """Whether the index gives a date; without one, `uploaded` is today."""


@dataclass(frozen=True)
class Package:
    """A package's newest metadata and its files, as the index reports them."""

    name: str
    summary: str = ""
    license: str = ""
    classifiers: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    keywords: str = ""
    description: str = ""
    releases: tuple[Release, ...] = ()
    """By upload date, oldest first."""
    withdrawn: tuple[Release, ...] = ()
    """Yanked files: no longer installed by default, but still readable by everybody."""


def look_up(name: str) -> Package:
    """The package of the first location that has it: a find-links location with a source archive, then each index.

    A location before it that cannot be read is an error: the same name on the next index may be somebody else's."""
    config = read_pip_config()
    with closing(IndexClient(config)) as web:
        for page, is_index in _places(name, config):
            try:
                package = _read_metadata(page, web) if is_index and _is_remote(page) else None
                package = package or _read_listing(page, is_index, name, web)
            except Unreachable as problem:
                what = f"the package index could not be queried: {problem}"
                fix = "check the connection and run the same command again"
                raise DLBenchError(what, where=name, fix=fix) from None
            if package and (is_index or any(file.kind == "sdist" for file in package.releases)):
                return package
    raise DLBenchError("no configured index has this package", where=name, fix="check its name")


def _read_metadata(page: str, web: IndexClient) -> Package | None:
    """What the index's JSON API says; None if it has none, as most private indexes."""
    index, _, name = page.rstrip("/").rpartition("/")
    address = f"{re.sub(r'/simple$', '', index)}/pypi/{name}/json"
    try:
        if (answer := web.page(address, "application/json")) is None:
            return None
        content = answer.json()
        listed = [(version, file) for version, files in content["releases"].items() for file in files]
        read = [(bool(file.get("yanked")), _read_file(version, file)) for version, file in listed]
        return _make_package(content["info"], read)
    except (LookupError, TypeError, AttributeError):
        raise Unreachable(address, "the answer is not package metadata") from None
    except (Unreachable, ValueError):
        return None


def _read_listing(page: str, is_index: bool, name: str, web: IndexClient) -> Package | None:
    """The files that a simple page (PEP 503, PEP 691) or a folder lists, without metadata; None if there is none.

    A file without a hash is fetched to compute it, and one without a date is dated today."""
    files = [file for file in _list_files(page, is_index, name, web) if file.version and file.project]
    found = []
    for file in files:
        if canonicalize_name(file.project or "") != canonicalize_name(name):
            continue
        sha256 = file.digests.get("sha256", "")
        if not sha256 and (file.package_type == "sdist" or not _is_remote(file.url)):
            with tempfile.TemporaryDirectory() as folder:
                _copy(web, file.url, page, Path(folder, "file"))
                sha256 = file_hash(Path(folder, "file"))
        kind = "bdist_wheel" if file.package_type == "wheel" else str(file.package_type)
        uploaded = file.upload_time.date() if file.upload_time else date.today()
        python, size = file.requires_python or "", file.size or 0
        is_dated = file.upload_time is not None
        release = Release(str(file.version), uploaded, file.filename, sha256, kind, python, size, is_dated)
        found.append((file.is_yanked, release))
    return _make_package({"name": name}, found) if found else None


def _make_package(info: dict[str, Any], files: list[tuple[bool, Release]]) -> Package:
    """`files`: whether each was yanked, and its record."""
    files.sort(key=lambda one: (one[1].uploaded, one[1].filename))
    return Package(
        name=info["name"],
        summary=info.get("summary") or "",
        license=info.get("license_expression") or info.get("license") or "",
        classifiers=tuple(info.get("classifiers") or ()),
        requires=tuple(info.get("requires_dist") or ()),
        keywords=info.get("keywords") or "",
        description=info.get("description") or "",
        releases=tuple(file for is_yanked, file in files if not is_yanked),
        withdrawn=tuple(file for is_yanked, file in files if is_yanked),
    )


def _read_file(version: str, file: dict[str, Any]) -> Release:
    return Release(
        version=version,
        uploaded=datetime.fromisoformat(file["upload_time"]).date(),
        filename=file["filename"],
        sha256=file["digests"]["sha256"],
        kind=file["packagetype"],
        requires_python=file.get("requires_python") or "",
        size=int(file.get("size") or 0),
    )
