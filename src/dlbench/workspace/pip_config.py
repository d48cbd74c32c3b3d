"""Read this machine's pip configuration: package indexes, wheel folders, certificates.

Behind a mirror or a firewall only the places configured for pip work, so downloads and uv must use them too. The
configuration is read at every use and recorded nowhere: it belongs to the machine, and a URL may contain a password.
"""

import configparser
import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from dlbench.errors import DLBenchError

_KEYS = ("index-url", "extra-index-url", "find-links", "no-index", "trusted-host", "cert")


# No repr: it would print the passwords in the URLs into a traceback.
@dataclass(frozen=True, repr=False)
class PipConfig:
    index_url: str | None = None
    extra_index_urls: tuple[str, ...] = ()
    find_links: tuple[str, ...] = ()
    no_index: bool = False
    trusted_hosts: tuple[str, ...] = ()
    cert: str | None = None

    def uv_arguments(self, *, extra: bool = True) -> list[str]:
        """Equivalent arguments for uv, which does not read pip's configuration. `extra`: with the extra indexes."""
        arguments = [part for location in self.find_links for part in ("--find-links", location)]
        if self.no_index:
            return [*arguments, "--no-index"]
        if self.index_url:
            arguments += ["--default-index", self.index_url]
        arguments += [part for host in self.trusted_hosts for part in ("--allow-insecure-host", host)]
        if extra and self.extra_index_urls:
            arguments += [part for url in self.extra_index_urls for part in ("--extra-index-url", url)]
            # pip takes the best version over all indexes; uv's default stops at the first index that has the name.
            arguments += ["--index-strategy", "unsafe-best-match"]
        return arguments

    def environment(self) -> dict[str, str]:
        return {"SSL_CERT_FILE": self.cert} if self.cert and not os.environ.get("SSL_CERT_FILE") else {}


def redacted(text: str) -> str:
    """Replace the user names and passwords of URLs in the text."""
    return re.sub(r"://[^/\s@]+@", "://****@", text)


def local_path(location: str) -> Path:
    """Path of a location that is not on the network, given as a path or as a file: URL."""
    return Path(url2pathname(urlsplit(location).path) if location.startswith("file:") else location)


def read_pip_config(environ: Mapping[str, str] = os.environ) -> PipConfig:
    values = _from_files(environ)
    for key in _KEYS:
        # pip treats an empty variable as unset.
        if value := environ.get("PIP_" + key.upper().replace("-", "_")):
            values[key] = value
    return PipConfig(
        index_url=_local(values["index-url"].strip()) if "index-url" in values else None,
        extra_index_urls=tuple(map(_local, values.get("extra-index-url", "").split())),
        find_links=tuple(map(_local, values.get("find-links", "").split())),
        no_index=values.get("no-index", "").strip().lower() in ("1", "true", "yes", "on", "y", "t"),
        trusted_hosts=tuple(values.get("trusted-host", "").split()),
        cert=_local(values["cert"].strip()) if "cert" in values else None,
    )


def _local(location: str) -> str:
    """Make a path absolute, since the programs that receive it run in other folders."""
    is_url = "://" in location or location.startswith("file:")
    return location if is_url else str(Path(location).expanduser().absolute())


def _from_files(environ: Mapping[str, str]) -> dict[str, str]:
    general, install = dict[str, str](), dict[str, str]()
    for path in _files(environ):
        parser = configparser.RawConfigParser()
        try:
            parser.read(path, encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError) as error:
            what = f"pip's configuration cannot be read: {error.__class__.__name__}"
            raise DLBenchError(what, where=str(path), fix="fix the file: `pip config debug` shows it") from None
        for name, section in (("global", general), ("install", install)):
            if parser.has_section(name):
                given = ((key.replace("_", "-").removeprefix("--"), value) for key, value in parser.items(name))
                section.update((key, value) for key, value in given if value)
    # As in pip, a command's own section overrides [global], whichever files the two are in.
    return {key: value for key, value in (general | install).items() if key in _KEYS}


def _files(environ: Mapping[str, str]) -> Iterator[Path]:
    """pip's standard locations; a later file overrides an earlier one."""
    chosen = environ.get("PIP_CONFIG_FILE")
    if chosen == os.devnull:
        return
    user = Path(environ["HOME"]) if environ.get("HOME") else Path.home()
    support = Path("Library/Application Support/pip/pip.conf")  # macOS only.
    yield "/" / support
    for folder in (environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(os.pathsep):
        yield Path(folder, "pip", "pip.conf")
    yield Path("/etc/pip.conf")
    # pip ignores the user's files when PIP_CONFIG_FILE names an existing file.
    if not (chosen and Path(chosen).exists()):
        yield user / ".pip" / "pip.conf"
        yield Path(environ.get("XDG_CONFIG_HOME") or user / ".config") / "pip" / "pip.conf"
        yield user / support
    yield Path(sys.prefix, "pip.conf")
    if chosen:
        yield Path(chosen)
