"""Define the problems that checks of a benchmark report.

A check returns typed problems and never stops at the first; a command prints them. `kind` is for programs; `where`,
`what` and `fix` are for people.
"""

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    MALFORMED_RECORD = "malformed_record"
    UNKNOWN_LABEL = "unknown_label"
    MISPLACED_FILE = "misplaced_file"
    UNKNOWN_PROJECT = "unknown_project"
    UNKNOWN_INSTANCE = "unknown_instance"
    MISSING_LOCK = "missing_lock"
    UNPINNED_LOCK = "unpinned_lock"
    PROJECT_IN_LOCK = "project_in_lock"
    DUPLICATE_TARGET = "duplicate_target"
    DUPLICATE_ID = "duplicate_id"
    SOURCE_UNAVAILABLE = "source_unavailable"
    SOURCE_MISMATCH = "source_mismatch"
    MISSING_PATH = "missing_path"
    MISSING_TARGET = "missing_target"
    HASH_MISMATCH = "hash_mismatch"
    MISSING_TEST = "missing_test"
    PROMPT_IS_A_DRAFT = "prompt_is_a_draft"
    PROMPT_LENGTH = "prompt_length"
    PROMPT_LEAKS_CODE = "prompt_leaks_code"
    PROMPT_LEAKS_DOCSTRING = "prompt_leaks_docstring"
    PROMPT_LEAKS_MESSAGE = "prompt_leaks_message"
    LABEL_AGAINST_VOTES = "label_against_votes"
    TIE_WITHOUT_REASON = "tie_without_reason"
    TOO_FEW_VOTES = "too_few_votes"
    TOO_FEW_TESTS = "too_few_tests"
    WEAK_TESTS = "weak_tests"
    PROJECT_TOO_LARGE = "project_too_large"
    THIRD_PARTY_CODE = "third_party_code"


@dataclass(frozen=True)
class Problem:
    kind: Kind
    where: str
    what: str
    fix: str
