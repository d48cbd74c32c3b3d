"""Run tests on a tree with other files in it, under the guards of an answer, and keep what each run showed.

A finished run is never repeated: its key has all that it depends on. What the machine could not judge is not kept.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path

from dlbench.errors import DLBenchError
from dlbench.execution.engine import Engine
from dlbench.execution.file_sets import FileSet, open_tree
from dlbench.execution.isolated_run import RunOptions, run_tests
from dlbench.jsonl import Journal
from dlbench.runs.verdict import Outcome
from dlbench.workspace import Prepared
from dlbench.workspace.home import Log


@dataclass(frozen=True)
class KeptRun:
    outcomes: dict[str, str]
    """Of tests that ended."""
    messages: dict[str, str]
    learned: list[str]
    """What the code does that an answer may do too."""
    load_errors: list[str]
    tampered: str
    """Why nothing counts."""

    @property
    def is_collected(self) -> bool:
        return bool(self.outcomes) and not self.load_errors

    def passed(self, test: str) -> bool:
        return self.outcomes.get(test) == Outcome.PASSED


@dataclass(frozen=True)
class KeptRuns:
    engine: Engine
    path: Path
    log: Log
    workers: int

    def run(
        self,
        what: str,
        prepared: Prepared,
        files: FileSet,
        tests: Sequence[str],
        options: RunOptions,
        seconds: Mapping[str, float],
    ) -> KeptRun:
        """`seconds`: of each test, as far as known; it changes no outcome."""
        texts = {path: content and sha256(content).hexdigest() for path, content in sorted(files.items())}
        facts = [prepared.tree.parent.name, prepared.environment.name, texts, [*tests], asdict(options)]
        key = sha256(json.dumps(facts).encode()).hexdigest()[:32]
        with Journal(self.path) as journal:
            known = {row["key"]: row["run"] for row in journal.records()}
            if key not in known:
                self.log(what)
                with open_tree(prepared, files, self.engine.limits) as tree:
                    run = run_tests(self.engine, tree, tests, replace(options, workers=self.workers, expected=seconds))
                if run.failure:
                    what, fix = f"{what}: the machine cannot judge them: {run.failure}", "see `dlbench doctor`"
                    raise DLBenchError(what, where=prepared.project.name, fix=fix)
                outcomes = {test: str(run.outcomes[test]) for test in tests if test in run.seconds}
                messages = {test: run.messages[test][-300:] for test in tests if test in run.messages}
                known[key] = asdict(KeptRun(outcomes, messages, sorted(run.learned), run.load_errors, run.tampered))
                journal.append({"key": key, "what": what, "run": known[key]})
        return KeptRun(**known[key])
