"""What does an instance's reference do when its tests run, that nobody could know beforehand?

Which modules it imports on the way (a worker imports them once, before it forks), whether it looks at frames or
replaces functions itself (its candidates may, too), how long its tests take. Learnt by one run of the reference, kept
in the workspace for as long as nothing of it changes.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from dlbench.dataset import Instance
from dlbench.execution.engine import Engine
from dlbench.execution.fresh import retry_if_killed, run_fresh, to_status
from dlbench.execution.sandbox.base import inside_key
from dlbench.execution.supervise import Observation
from dlbench.jsonl import write_whole
from dlbench.runs.verdict import Status
from dlbench.workspace import Prepared, home


@dataclass(frozen=True)
class ReferenceProfile:
    passes: bool = False
    """A reference that does not pass taught nothing."""
    why: str = ""
    hides: bool = True
    """Whether its tests pass when nobody may read their files; some look at their own source."""
    allowed: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    """Third-party modules, in the order in which they were imported."""
    late: tuple[str, ...] = ()
    """Modules that were imported only when tests ran."""
    own: tuple[str, ...] = ()
    """Modules of the project that were imported before any test ran."""
    seconds: float = 0.0
    load_seconds: float = 0.0
    """What came before the tests, mostly imports."""
    is_alone: bool = False
    """Whether it was learnt in an interpreter of its own, where what modules do on import is seen, too."""


def load_profile(prepared: Prepared, instance: Instance) -> ReferenceProfile | None:
    path = _path(prepared, instance)
    return _read(path) if path.is_file() else None


def profile_reference(
    engine: Engine, prepared: Prepared, instance: Instance, run: Callable[[bool], Observation] | None = None
) -> ReferenceProfile:
    """What is known of the instance; learnt now where nothing is.

    `run`: who runs it, tests hidden or not; what was learnt so is not enough for a fresh interpreter.
    """
    known = load_profile(prepared, instance)
    if known is not None and (known.is_alone or run is not None):
        return known

    def run_alone(hides: bool) -> Observation:
        return run_fresh(engine, prepared, instance, None, learn=True, hides=hides)

    facts = ReferenceProfile()
    for hides in (True, False):
        facts = parse_profile(retry_if_killed(partial(run or run_alone, hides)), engine, instance)
        facts = replace(facts, hides=hides or not facts.passes, is_alone=run is None)
        if facts.passes:
            break
    if facts.passes:
        path = _path(prepared, instance)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(asdict(facts)))
    return facts


def parse_profile(watched: Observation, engine: Engine, instance: Instance) -> ReferenceProfile:
    status, message, _ = to_status(watched, instance, engine.confinement)
    learned = watched.messages.of_kind("learned")
    if status is not Status.PASS or not learned:
        return ReferenceProfile(why=f"{status}: {message}"[:1000])
    said = learned[0]
    seconds = sum(message["seconds"] for message in watched.messages.of_kind("test"))
    return ReferenceProfile(
        passes=True,
        allowed=tuple(said["allowed"]),
        modules=tuple(said["modules"]),
        late=tuple(said["late"]),
        own=tuple(said["own"]),
        seconds=seconds,
        load_seconds=max(0.0, watched.seconds - seconds),
    )


def load_route(prepared: Prepared, instance: Instance, way: str) -> bool | None:
    """Is the reference known to pass where it is served in this way? None where nobody has tried."""
    path = _path(prepared, instance).with_suffix(f".{way}")
    return path.read_text(encoding="utf-8") == "passes" if path.is_file() else None


def save_route(prepared: Prepared, instance: Instance, way: str, passes: bool) -> None:
    write_whole(_path(prepared, instance).with_suffix(f".{way}"), "passes" if passes else "does not pass")


def load_profiles(prepared: Prepared) -> list[ReferenceProfile]:
    """What is known of any instance of the project."""
    found = [_read(path) for path in sorted(_folder(prepared).glob("*.json"))]
    return [facts for facts in found if facts is not None]


def _read(path: Path) -> ReferenceProfile | None:
    """What another version of us wrote, or a broken disk, is learnt anew."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        facts: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in record.items()
        }
        return ReferenceProfile(**facts)
    except (OSError, ValueError, TypeError, AttributeError):
        return None


def _folder(prepared: Prepared) -> Path:
    setup = prepared.project.tests.model_dump_json()
    facts = [prepared.tree.parent.name, prepared.environment.name, inside_key(), setup]
    return home() / "rehearsals" / hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:24]


def _path(prepared: Prepared, instance: Instance) -> Path:
    key = hashlib.sha256(json.dumps([instance.id, *sorted(instance.tests)]).encode()).hexdigest()[:24]
    return _folder(prepared) / f"{key}.json"
