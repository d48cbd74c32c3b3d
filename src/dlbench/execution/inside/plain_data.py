"""Exchange values with another process as plain data, so that what a candidate returned brings no code along.

Two processes exchange messages in turn. Each keeps a table of the mutable objects that it sent or received, in the same
order, so that an object is sent once, aliases stay aliases, and changes made by the other side are applied in place.
"""

import hashlib
from typing import Any

from .plain_checks import check_objects
from .plain_objects import Node
from .plain_reader import Reader
from .plain_values import Unreplayable
from .plain_writer import Writer


class Codec(Writer, Reader):
    """One side's table of shared objects, and the two directions of translation."""

    def write(self, value: Any) -> tuple[Node, list[Node], list[bytes]]:  # noqa: ANN401 - any value
        """The value, the shared objects that changed since the last reading, and the bytes that both refer to."""
        changed = [number for number, mark in enumerate(self.marks) if self._mark(number) != mark]
        self.blobs = []
        nodes = [[number, self._content(self.objects[number])] for number in changed]
        return self._encode(value), nodes, self.blobs

    def read(self, node: Node, changed: list[Node], blobs: list[bytes], *, is_last: bool = False) -> Any:  # noqa: ANN401
        """`is_last`: the other side asked for nothing, so that changes from here on are not told."""
        self.blobs = blobs
        try:
            for number, content in changed:
                if name := self._name_global(self._known(number)):
                    self.note(f"a change of {name}")
                self._apply(self._known(number), content)
            value = self._decode(node)
            if self.is_trusted is not None:
                check_objects(self.objects)
        except Unreplayable:
            raise
        except Exception as error:
            raise Unreplayable(f"malformed data ({type(error).__name__}: {error})") from None
        self.marks = (
            [] if is_last and not self.is_awaited else [self._mark(number) for number in range(len(self.objects))]
        )
        return value

    def _mark(self, number: int) -> bytes:
        """A digest of an object's own content, in which other shared objects stand as references."""
        before, self.blobs, self.is_marking = self.blobs, [], True
        count = len(self.objects)
        digest = hashlib.sha256(repr(self._content(self.objects[number])).encode("utf-8", "surrogatepass"))
        for blob in self.blobs:
            digest.update(blob)
        for new in self.objects[count:]:  # they are sent with the change
            del self.numbers[id(new)]
        del self.objects[count:]
        self.blobs, self.is_marking = before, False
        return digest.digest()
