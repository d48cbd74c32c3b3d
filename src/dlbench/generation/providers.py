"""Map a model's name to an endpoint, and keep API keys out of everything that is written or shown.

Endpoints repeat keys in errors, and programs print their environment, so their text passes through `Secrets.hide`.
"""

import functools
import os
import re
import socket
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

from dlbench.errors import DLBenchError

_DEFAULT = "openai"


@dataclass(frozen=True)
class Endpoint:
    """`model` is the name to send; `limit` and `seed` are names of parameters, `seed` "" if it is refused."""

    model: str
    base_url: str
    key: str = ""
    limit: str = "max_tokens"
    seed: str = "seed"
    reasoning: bool = False
    body: Mapping[str, Any] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """The URL to post to. Credentials in the address are used only without a key."""
        parts = urlsplit(self.base_url)
        host = parts.netloc.rpartition("@")[2] if self.key else parts.netloc
        return urlunsplit(parts._replace(netloc=host, path=parts.path.rstrip("/") + "/chat/completions"))

    @property
    def authorization(self) -> dict[str, str]:
        """Empty with credentials in the address; the key `none` for servers that require any key."""
        has_user = not self.key and "@" in urlsplit(self.base_url).netloc
        return {} if has_user else {"Authorization": f"Bearer {self.key or 'none'}"}

    @property
    def secrets(self) -> list[str]:
        parts = urlsplit(self.base_url)
        return [self.key, parts.password or "", *(value for _, value in parse_qsl(parts.query))]


@functools.cache
def presets() -> dict[str, dict[str, Any]]:
    return tomllib.loads(Path(__file__).with_name("providers.toml").read_text(encoding="utf-8"))


def find_endpoint(
    name: str, base_url: str | None = None, api_key: str | None = None, *, reasoning: bool = False
) -> Endpoint:
    """With a base URL, a provider's prefix is part of the model's name: many servers call models `openai/…`."""
    prefix, _, model = name.partition("/")
    preset = presets().get(prefix, {}) if model else {}
    if preset and (base_url is None or preset.get("local")):
        key = api_key or _first_set(preset.get("key", ""), "DLBENCH_API_KEY")
    else:
        key = api_key or _first_set("DLBENCH_API_KEY", "OPENAI_API_KEY")
        base_url = base_url or _first_set("DLBENCH_BASE_URL", "OPENAI_BASE_URL")
        if model and not base_url:
            fix = f"pass --base-url, the endpoint of this model, or a provider before its name: {', '.join(presets())}"
            raise DLBenchError(f"there is no provider {prefix!r}", where=f"--model {name}", fix=fix)
        model, prefix, preset = name, _DEFAULT, {} if base_url else presets()[_DEFAULT]
    if "key" in preset and not key:
        fix = f"set {preset['key']} or DLBENCH_API_KEY, or pass the --base-url of an endpoint without keys"
        raise DLBenchError("no API key", where=f"model {model} of {prefix}", fix=fix)
    reasoning = reasoning or any(fnmatchcase(model, pattern) for pattern in preset.get("reasoning", ()))
    return Endpoint(
        model,
        _checked(base_url or preset["base_url"]),
        _checked_key(key),
        "max_completion_tokens" if reasoning else preset.get("limit", "max_tokens"),
        preset.get("seed", "seed"),
        reasoning,
        preset.get("body", {}),
    )


def _first_set(*names: str) -> str:
    return next((value for name in names if (value := os.environ.get(name, ""))), "")


def _checked(base_url: str) -> str:
    try:
        parts = urlsplit(base_url)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        where = shown_url(base_url) if parts.scheme and parts.netloc else "--base-url"
        raise DLBenchError("the base URL is not an HTTP address", where=where, fix="write http://host:port/v1")
    return base_url


def _checked_key(key: str) -> str:
    """A key that was read from a file often ends with a line break."""
    key = key.strip()
    if not (key.isascii() and key.isprintable()):
        fix = "check the environment variable, or --api-key"
        raise DLBenchError("the API key contains invalid characters", where="API key", fix=fix)
    return key


_PORTS = {"http": 80, "https": 443}


def shown_url(base_url: str) -> str:
    """Without credentials and query, which may contain a key."""
    parts = urlsplit(base_url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def check_endpoint(base_url: str) -> None:
    """Raise an error if nothing accepts connections there. Nothing is tried through a proxy."""
    parts = urlsplit(base_url)
    if find_proxy(base_url) is not None:
        return
    try:
        socket.create_connection((parts.hostname or "", parts.port or _PORTS[parts.scheme]), timeout=10).close()
    except (OSError, ValueError) as error:  # a port that is no number
        what = f"no server answers at {shown_url(base_url)}: {error}"
        raise DLBenchError(what, where="--base-url", fix="start it, or correct the address") from None


def find_proxy(base_url: str) -> str | None:
    """Of the environment, if any. Not left to the HTTP client, which would also read credentials from ~/.netrc."""
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    if host in ("localhost", "::1") or host.startswith("127.") or proxy_bypass(host):
        return None
    return getproxies().get(parts.scheme)


# Shorter values also occur in code and prose; hiding them would change answers.
_MIN_LENGTH = 8
_SECRET_VARIABLE = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)$", re.IGNORECASE)
_SECRET_HEADER = re.compile(r"auth|key|token|secret|password|credential|cookie|session", re.IGNORECASE)
_SECRET_VALUE = re.compile(r"(?:bearer|basic|token) |sk-", re.IGNORECASE)
_MAX_SHOWN = 300


def find_secrets(headers: Mapping[str, str]) -> list[str]:
    """The values that look like keys, with and without a word such as `Bearer` before them. Other values stay visible
    in answers: hiding `application/json` would change code."""
    found = [value for name, value in headers.items() if _SECRET_HEADER.search(name) or _SECRET_VALUE.match(value)]
    return [part for value in found for part in (value, value.rpartition(" ")[2])]


class Secrets:
    """The given keys, and the environment variables that are named like keys."""

    def __init__(self, *keys: str) -> None:
        variables = (value for name, value in os.environ.items() if _SECRET_VARIABLE.search(name))
        # Longest first: one key may be the prefix of another.
        self._keys = sorted({key for key in (*keys, *variables) if len(key) >= _MIN_LENGTH}, key=len, reverse=True)

    def hide(self, text: str) -> str:
        for key in self._keys:
            text = text.replace(key, "***")
        return text


def shorten(text: str, *, end: bool = False) -> str:
    """One line for a message: the beginning of the text, or its end."""
    line = " ".join(text.split())
    if len(line) <= _MAX_SHOWN:
        return line
    return "…" + line[-_MAX_SHOWN:] if end else line[:_MAX_SHOWN] + "…"
