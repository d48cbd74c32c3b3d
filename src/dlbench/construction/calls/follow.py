"""Which functions does a test come to, through how many calls there may be?

Every function is gone through with the class of its `self`, as often as something new is known of its parameters, of
what its callees give back, or of the attributes that it reads; until nothing new comes, or the budget is spent.
"""

from collections import defaultdict, deque
from collections.abc import Iterable

from dlbench.construction.calls.things import NOTHING, Bound, Lookup, Things
from dlbench.construction.calls.visit import MOST_THINGS, Key, Visit

MOST_VISITS = 60_000


class Follower:
    """The graph as far as it was asked for. `edges`: what each function, on each receiver, comes to."""

    def __init__(self, lookup: Lookup, most_visits: int = MOST_VISITS) -> None:
        self.lookup: Lookup = lookup
        self.edges: dict[Bound, set[Bound]] = defaultdict(set)
        self.is_complete = True
        self._known: dict[Key, Things] = defaultdict(frozenset)
        self._untold: set[Key] = set()
        self._readers: dict[Key, set[Bound]] = defaultdict(set)
        self._waiting: deque[Bound] = deque()
        self._queued: set[Bound] = set()
        self._visited: set[Bound] = set()
        self._left = most_visits

    def follow(self, starts: Iterable[Bound]) -> None:
        for start in starts:
            self._queue(start)
        while self._waiting:
            if not self._left:
                self.is_complete = False
                return
            self._left -= 1
            node = self._waiting.popleft()
            self._queued.discard(node)
            self._visited.add(node)
            Visit(self, node).go()

    def _queue(self, node: Bound) -> None:
        if node not in self._queued:
            self._queued.add(node)
            self._waiting.append(node)

    def read(self, reader: Bound, key: Key) -> Things:
        self._readers[key].add(reader)
        return self._known[key]

    def learn(self, key: Key, things: Things) -> None:
        if key in self._untold or things <= self._known[key]:
            return
        together = self._known[key] | things
        if len(together) > MOST_THINGS:
            self._untold.add(key)
            together = NOTHING
        self._known[key] = together
        for reader in self._readers[key]:
            if reader in self._visited:
                self._queue(reader)

    def call(self, caller: Bound, callee: Bound) -> None:
        self.edges[caller].add(callee)
        if callee not in self._visited:
            self._queue(callee)
