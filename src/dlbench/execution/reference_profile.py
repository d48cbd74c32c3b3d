"""Profile an instance's reference: what only a run of its tests reveals.

A worker imports the modules that the tests import once, before it forks. If the reference inspects frames or replaces
functions, its candidates may do so too. The profile is kept in the workspace for as long as what it depends on.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from threading import Lock
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
    """Whether the profiling run passed; otherwise the rest is empty."""
    failure: str = ""
    """Why the reference does not pass in a fresh interpreter, even without profiling."""
    hides: bool = True
    """Whether its tests pass when their files cannot be read; some read their own source."""
    allowed: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    """Third-party modules, in the order of their import."""
    late: tuple[str, ...] = ()
    """Modules imported only while tests ran."""
    own: tuple[str, ...] = ()
    """Modules of the project imported before any test ran."""
    seconds: float = 0.0
    load_seconds: float = 0.0
    """Time before the tests, mostly imports."""
    is_alone: bool = False
    """Whether it was made in its own interpreter, where the effects of imports are seen too."""


def load_profile(engine: Engine, prepared: Prepared, instance: Instance) -> ReferenceProfile | None:
    return _read(profile_path(engine, prepared, instance))


def profile_reference(
    engine: Engine, prepared: Prepared, instance: Instance, run: Callable[[bool], Observation] | None = None
) -> ReferenceProfile:
    """The profile of an instance, made on first use.

    `run`: runs the reference with its tests hidden or not, in place of a fresh interpreter. A profile made by it is not
    enough for fresh mode. A failed profile of fresh mode is remembered for as long as the engine lives.
    """
    path = profile_path(engine, prepared, instance)
    with engine.profile_locks.setdefault(path, Lock()):
        known = _read(path) or engine.failed_references.get(path)
        if known is not None and (known.is_alone or run is not None):
            return known

        run_once = run or (lambda hides: run_fresh(engine, prepared, instance, None, learn=True, hides=hides))
        for hides in (True, False):
            observation = retry_if_killed(partial(run_once, hides))
            if profile := parse_profile(observation, engine, instance):
                profile = replace(profile, hides=hides, is_alone=run is None)
                path.parent.mkdir(parents=True, exist_ok=True)
                write_whole(path, json.dumps(asdict(profile)))
                return profile
        if run is not None:
            return ReferenceProfile()
        # profiling is slower than a plain run: it alone does not prove that the reference fails
        observation = retry_if_killed(lambda: run_fresh(engine, prepared, instance, None))
        status, message, _ = to_status(observation, instance, engine.confinement)
        failure = "" if status is Status.PASS else f"{status}: {message[-1000:]}"
        engine.failed_references[path] = ReferenceProfile(failure=failure, is_alone=True)
        return engine.failed_references[path]


def parse_profile(observation: Observation, engine: Engine, instance: Instance) -> ReferenceProfile | None:
    """None if the reference did not pass."""
    learned = observation.messages.of_kind("learned")
    if not learned or to_status(observation, instance, engine.confinement)[0] is not Status.PASS:
        return None
    seconds = sum(message["seconds"] for message in observation.messages.of_kind("test"))
    lists: dict[str, Any] = {name: tuple(learned[0][name]) for name in ("allowed", "modules", "late", "own")}
    load_seconds = max(0.0, observation.seconds - seconds)
    return ReferenceProfile(passes=True, seconds=seconds, load_seconds=load_seconds, **lists)


def load_route(engine: Engine, prepared: Prepared, instance: Instance, route: str) -> bool | None:
    """Whether the reference is known to pass when served by this route; None if it was never tried."""
    path = profile_path(engine, prepared, instance).with_suffix(f".{route}")
    return path.read_text(encoding="utf-8") == "passes" if path.is_file() else None


def save_route(engine: Engine, prepared: Prepared, instance: Instance, route: str, passes: bool) -> None:
    path = profile_path(engine, prepared, instance).with_suffix(f".{route}")
    write_whole(path, "passes" if passes else "does not pass")


def load_profiles(engine: Engine, prepared: Prepared) -> list[ReferenceProfile]:
    """The profiles of all instances of the project that were run here."""
    found = [_read(path) for path in sorted(profile_folder(engine, prepared).glob("*.json"))]
    return [profile for profile in found if profile is not None]


def _read(path: Path) -> ReferenceProfile | None:
    """A missing file, a broken one, or one of another version means a new profile."""
    try:
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        lists = {key: tuple(value) for key, value in record.items() if isinstance(value, list)}
        return ReferenceProfile(**record | lists)
    except (OSError, ValueError, TypeError, AttributeError):
        return None


def profile_folder(engine: Engine, prepared: Prepared) -> Path:
    """One per source, environment, sandbox and version of what runs inside: the profile depends on each of them."""
    setup = prepared.project.tests.model_dump_json()
    source, environment = prepared.tree.parent.name, prepared.environment.name
    key = json.dumps([source, environment, engine.confinement.name, inside_key(), setup])
    return home() / "rehearsals" / hashlib.sha256(key.encode()).hexdigest()[:24]


def profile_path(engine: Engine, prepared: Prepared, instance: Instance) -> Path:
    key = hashlib.sha256(json.dumps([instance.id, *sorted(instance.tests)]).encode()).hexdigest()[:24]
    return profile_folder(engine, prepared) / f"{key}.json"
