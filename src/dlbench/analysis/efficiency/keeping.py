"""What has been measured of a run already?

Rounds stand in a journal beside the run, each on disk before the next begins: what was stopped goes on, and the tables
can be computed again without running anything. A record is about one text of the reference, one list of tests and the
texts of candidates: where any of them is another now, it is passed over and measured anew.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from dlbench.analysis.efficiency.measuring import AGAIN, REFERENCE, Round, Taken
from dlbench.analysis.efficiency.upkeep import Upkeep
from dlbench.dataset import Instance
from dlbench.errors import DLBenchError
from dlbench.jsonl import Journal, read_lines

EFFICIENCY = "efficiency.jsonl"


@dataclass
class Kept:
    """By `name_instance` and, within, by the names of candidates."""

    rounds: dict[str, list[Round]] = field(default_factory=lambda: defaultdict(list))
    upkeep: dict[str, dict[str, Upkeep]] = field(default_factory=lambda: defaultdict(dict))

    def take(self, record: Mapping[str, Any]) -> None:
        about = record["about"]
        if "round" in record:
            found = {name: Taken(**one) for name, one in record["round"].items()}
            if not {REFERENCE, AGAIN} <= found.keys():
                raise KeyError(REFERENCE)
            self.rounds[about].append(found)
        else:
            self.upkeep[about] |= {name: Upkeep(**one) for name, one in record["upkeep"].items()}


def read_kept(path: Path) -> Kept:
    kept = Kept()
    for number, record in read_lines(path) if path.is_file() else ():
        try:
            kept.take(record)
        except (KeyError, TypeError, AttributeError) as error:
            what = f"not a measure: {type(error).__name__} {error}"
            raise DLBenchError(what, where=f"{path}:{number}", mend="remove the file, and measure anew") from None
    return kept


class Keeper:
    """Takes measures in and writes them down at once."""

    def __init__(self, journal: Journal, kept: Kept) -> None:
        self.journal, self.kept = journal, kept

    def keep_round(self, instance: Instance, found: Round) -> None:
        self._keep(instance, {"round": {name: asdict(one) for name, one in found.items()}})

    def keep_upkeep(self, instance: Instance, found: Mapping[str, Upkeep]) -> None:
        self._keep(instance, {"upkeep": {name: asdict(one) for name, one in found.items()}})

    def _keep(self, instance: Instance, content: dict[str, Any]) -> None:
        record = {"instance": instance.id, "about": name_instance(instance)} | content
        self.journal.append(record)
        self.kept.take(record)


def name_instance(instance: Instance) -> str:
    """Another where its reference or its tests are others."""
    return _shorten(json.dumps([instance.id, instance.sha256, *sorted(instance.tests)]))


def name_code(code: str) -> str:
    return _shorten(code)


def _shorten(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:24]
