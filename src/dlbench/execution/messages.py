"""Did the judge say this, or somebody else?

What arrives on a judge's channel is taken only with the next number and the right keyed hash; the first line without
ends the listening.
"""

import hashlib
import hmac
import json
import secrets
from dataclasses import dataclass, field
from typing import Any

_MOST_BYTES = 16 << 20


@dataclass
class Messages:
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    taken: list[dict[str, Any]] = field(default_factory=list)
    forged: str = ""
    buffer: bytes = b""
    received: int = 0
    heard: int = 0
    keeps: bool = True
    """Whether what was taken is kept, and so must not be too much."""

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """The new messages in what arrived; no data is the end of the channel."""
        self.received += len(data)
        *lines, self.buffer = (self.buffer + data).split(b"\n")
        new: list[dict[str, Any]] = []
        for line in lines:
            if not self.forged:
                new += self._take(line)
        if self.keeps:
            self.taken += new
        if (self.keeps and self.received > _MOST_BYTES) or (not data and self.buffer):
            self.forged = self.forged or "the judge's channel was flooded or cut inside a message"
        return new

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        return [message for message in self.taken if message["kind"] == kind]

    def _take(self, line: bytes) -> list[dict[str, Any]]:
        mac, _, body = line.partition(b" ")
        expected = hmac.new(self.secret, body, hashlib.sha256).hexdigest().encode()
        if not hmac.compare_digest(mac, expected):
            self.forged = "something else than the judge wrote on its channel"
            return []
        message = json.loads(body)
        self.heard += 1
        if message["n"] != self.heard:
            self.forged = "a message of the judge was repeated or left out"
            return []
        return [message]
