"""Which endpoint does a model's name mean, and how does it want to be spoken to?

`groq/…` is enough to say address, key and habits; they stand in `providers.toml`, not in code: a new provider is
four lines of data. A key goes only to the endpoint that it belongs to: a name read wrongly must not hand it to another.

How is a key kept out of everything that is written or shown?

Endpoints repeat the key in what they refuse, programs print their environment, and a run folder is shared. Whatever
comes from outside passes through `hide` before it is said or kept.
"""

import functools
import os
import re
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
    """`model` is the name that is sent; `limit` and `seed` are what these are called here, `seed` "" where refused."""

    model: str
    base_url: str
    key: str = ""
    limit: str = "max_tokens"
    seed: str = "seed"
    reasoning: bool = False
    local: bool = False
    body: Mapping[str, Any] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """Where to post. A user and a password in the address count only where no key is given."""
        parts = urlsplit(self.base_url)
        host = parts.netloc.rpartition("@")[2] if self.key else parts.netloc
        return urlunsplit(parts._replace(netloc=host, path=parts.path.rstrip("/") + "/chat/completions"))

    @property
    def authorization(self) -> dict[str, str]:
        """None beside a user and a password; `none` for servers that want a key and take any."""
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
    """With a base URL, the prefix of a provider is part of the name: many servers call models `openai/…`."""
    prefix, _, rest = name.partition("/")
    preset = presets().get(prefix) if rest else None
    if preset is not None and (base_url is None or preset.get("local")):
        key = api_key or _first_set(preset.get("key", ""), "DLBENCH_API_KEY")
        return _preset_endpoint(prefix, rest, base_url, key, reasoning)
    key = api_key or _first_set("DLBENCH_API_KEY", "OPENAI_API_KEY")
    address = base_url or _first_set("DLBENCH_BASE_URL", "OPENAI_BASE_URL")
    if not address:
        return _preset_endpoint(_DEFAULT, name, None, key, reasoning)
    limit = "max_completion_tokens" if reasoning else "max_tokens"
    return Endpoint(name, _checked(address), _checked_key(key), limit, reasoning=reasoning)


def _preset_endpoint(prefix: str, model: str, base_url: str | None, key: str, reasoning: bool) -> Endpoint:
    preset = presets()[prefix]
    variable = preset.get("key")
    if variable and not key:
        raise DLBenchError(
            "no API key is given",
            where=f"model {model} of {prefix}",
            fix=f"set {variable} (or DLBENCH_API_KEY), or give --base-url of an endpoint that needs none",
        )
    reasoning = reasoning or any(fnmatchcase(model, pattern) for pattern in preset.get("reasoning", ()))
    return Endpoint(
        model,
        _checked(base_url or preset["base_url"]),
        _checked_key(key),
        "max_completion_tokens" if reasoning else preset.get("limit", "max_tokens"),
        preset.get("seed", "seed"),
        reasoning,
        preset.get("local", False),
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
        raise DLBenchError(
            "the base URL is not an http or https address",
            where=shown_url(base_url) if parts.scheme else "--base-url",
            fix="give it as http://host:port/v1",
        )
    return base_url


def _checked_key(key: str) -> str:
    """Read from a file, a key often comes with the end of its line."""
    key = key.strip()
    if not (key.isascii() and key.isprintable()):
        fix = "check the variable that holds it, or --api-key"
        raise DLBenchError("the API key has characters that no key has", where="API key", fix=fix)
    return key


def shown_url(base_url: str) -> str:
    """Without a user, a password or a query, where some endpoints want their key."""
    parts = urlsplit(base_url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def find_proxy(base_url: str) -> str | None:
    """The environment's. None reaches this machine's own loopback address.

    By hand: trusted with the environment, the HTTP client would take users and passwords from ~/.netrc as well.
    """
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    if host in ("localhost", "::1") or host.startswith("127.") or proxy_bypass(host):
        return None
    return getproxies().get(parts.scheme)


# What is shorter stands in code and prose as well: hidden there, it would change an answer.
_SHORTEST = 8
_NAMES = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)$", re.IGNORECASE)
_SHOWN = 300


class Secrets:
    """These keys, and those that the environment names as such."""

    def __init__(self, *keys: str) -> None:
        planted = (value for name, value in os.environ.items() if _NAMES.search(name))
        # The longest first: one may begin with another.
        self._keys = sorted({key for key in (*keys, *planted) if len(key) >= _SHORTEST}, key=len, reverse=True)

    def hide(self, text: str) -> str:
        for key in self._keys:
            if key in text:
                text = text.replace(key, "***")
        return text


def shorten(text: str, *, end: bool = False) -> str:
    """One line of it for a message: its beginning, or its end."""
    line = " ".join(text.split())
    if len(line) <= _SHOWN:
        return line
    return "…" + line[-_SHOWN:] if end else line[:_SHOWN] + "…"
