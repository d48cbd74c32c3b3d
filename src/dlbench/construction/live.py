"""Which functions can no model have seen that was trained before a day?

Those of releases uploaded since, which no release before had. One look into the last release before the day tells
whether a project has any, so that the others cost nothing.
"""

from dataclasses import replace
from datetime import date

from dlbench.construction.each import explain
from dlbench.construction.history import choose_files, look_into
from dlbench.construction.project import Wish
from dlbench.construction.selection.archives import choose_release
from dlbench.construction.selection.select import Candidate, judge, kind_of
from dlbench.errors import is_full_disk
from dlbench.workspace.home import Say
from dlbench.workspace.package_index import Release, look_up

_SETTLED = ("code", "cases", "documents")
"""What was weighed when the project was chosen, by rule or by a person."""


def find_fresh(wishes: list[Wish], since: date, say: Say) -> tuple[list[Wish], list[dict[str, str]]]:
    """The projects with a release since, and a function in it that was not there before; the others with the reason."""
    fresh: list[Wish] = []
    left_out: list[dict[str, str]] = []
    for wish in wishes:
        try:
            package = look_up(wish.name)
            newest = choose_release(package, version=wish.version)
            before = [file for file in choose_files(package, newest) if file.uploaded < since]
            if newest.uploaded < since:
                why = f"its newest release is of {newest.uploaded}"
            else:
                known = look_into(package.name, before[-1]) if before else frozenset()
                new = look_into(package.name, newest) - known
                say(f"{wish.name} {newest.version} of {newest.uploaded}: {len(new)} new functions")
                why = _find_objection(wish.name, newest, say) if new else "its newest release has no new function"
        except Exception as error:
            if is_full_disk(error):
                raise
            why = explain(error)
        if why:
            left_out.append({"project": wish.name, "why": why})
        else:
            # the very release that was looked at: the next may be uploaded while this one is gone through
            fresh.append(replace(wish, version=newest.version))
    return fresh, left_out


def _find_objection(name: str, release: Release, say: Say) -> str:
    """What step 2 has against a release: one that was chosen once may have lost its tests, or its licence."""
    reasons = judge(Candidate(name, version=release.version), say)["reasons"]
    return "; ".join(reason for reason in reasons if kind_of(reason) not in _SETTLED)
