"""Which releases has a project, and when was each uploaded?

Asked of the package index's JSON interface, beside the pages that pip reads. Upload dates are what "live" means: they
cannot be written back afterwards, as a date in a changelog can.
"""

import re
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from urllib.parse import urljoin, urlsplit

from dlbench.errors import DLBenchError
from dlbench.workspace.pip_config import PipConfig, read_pip_config
from dlbench.workspace.web import Unreachable, Web


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
    url: str


@dataclass(frozen=True)
class Package:
    """What the index says of a package: its newest metadata, and its files."""

    name: str
    summary: str
    license: str
    classifiers: tuple[str, ...]
    requires: tuple[str, ...]
    keywords: str
    description: str
    releases: tuple[Release, ...]
    """By upload date, the oldest first."""
    withdrawn: tuple[Release, ...] = ()
    """Files that are not to be installed any more, though everybody could read them, and still can."""


def look_up(name: str, config: PipConfig | None = None) -> Package:
    """Raises DLBenchError where no configured index knows the package, or none can be reached."""
    from pypi_simple import PYPI_SIMPLE_ENDPOINT

    config = config or read_pip_config()
    unreachable: list[str] = []
    with Web(config) as web:
        for index in [config.index_url or PYPI_SIMPLE_ENDPOINT, *config.extra_index_urls]:
            if urlsplit(index).scheme not in ("http", "https"):
                continue  # A folder has pages of links, but nobody who answers.
            page = f"{re.sub(r'/simple/?$', '', index.rstrip('/'))}/pypi/{name}/json"
            try:
                answer = web.page(page, "application/json")
                if answer is not None:
                    return read_package(answer.json(), page)
            except (Unreachable, ValueError) as problem:
                unreachable.append(str(problem))
            except (LookupError, TypeError, AttributeError):
                unreachable.append(str(Unreachable(page, "it does not answer as a package index does")))
    if unreachable:
        what = f"the package index did not say which releases there are: {'; '.join(unreachable)}"
        raise DLBenchError(what, where=name, mend="check the connection and run the same command again")
    raise DLBenchError("no configured index knows this package", where=name, mend="check its name")


def read_package(content: dict[str, Any], page: str) -> Package:
    info = content["info"]
    files = [  # whether it was withdrawn, and what it is
        (bool(file.get("yanked")), _read_file(version, file, page))
        for version, files in content["releases"].items()
        for file in files
    ]
    files.sort(key=lambda one: (one[1].uploaded, one[1].filename))
    return Package(
        name=info["name"],
        summary=info.get("summary") or "",
        license=info.get("license_expression") or info.get("license") or "",
        classifiers=tuple(info.get("classifiers") or ()),
        requires=tuple(info.get("requires_dist") or ()),
        keywords=info.get("keywords") or "",
        description=info.get("description") or "",
        releases=tuple(file for out, file in files if not out),
        withdrawn=tuple(file for out, file in files if out),
    )


def _read_file(version: str, file: dict[str, Any], page: str) -> Release:
    return Release(
        version=version,
        uploaded=datetime.fromisoformat(file["upload_time"]).date(),
        filename=file["filename"],
        sha256=file["digests"]["sha256"],
        kind=file["packagetype"],
        requires_python=file.get("requires_python") or "",
        size=int(file.get("size") or 0),
        url=urljoin(page, file["url"]),
    )
