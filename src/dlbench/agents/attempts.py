"""Make attempts: write the task's folder, run the agent on it in a sandbox, judge the folder, audit the trajectory."""

import contextlib
import json
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from dlbench.agents.relay import Relay
from dlbench.agents.sandbox import RELAY, AgentCell, describe_proxy, run_agent
from dlbench.errors import DLBenchError
from dlbench.execution.engine import Engine
from dlbench.execution.file_sets import FileSet
from dlbench.execution.file_task import OpenTask, judge_files, profile_release
from dlbench.execution.limits import Limits
from dlbench.execution.sandbox import Sandbox, open_cell
from dlbench.execution.task_folder import INSTRUCTIONS, read_answer, write_folder
from dlbench.generation.budget import Budget
from dlbench.generation.providers import Endpoint
from dlbench.runs.verdict import Outcome, Status, Verdict
from dlbench.workspace import home

PRESETS = {
    "builtin": "python {harness}/builtin.py {model} {dir} {task}",
    "mini-swe-agent": "mini -y --exit-immediately -l 0 -m openai/{model} -o {tmp}/mini.json -t {task}",
}
_GIT = ("git", "-c", "user.name=dlbench", "-c", "user.email=dlbench@localhost", "-c", "init.defaultBranch=main")
_NOT_STARTED, _MOST_AUDITED = 127, 100_000
_SUSPICIOUS = {
    "download": r"\b(pip3?|uv|conda|poetry)\b[^\n;&|]{0,200}\b(install(?! +(-e +)?\.)|download|add|sync)\b"
    r"|\bnpm +i|\b(curl|wget)\b|\bgit +(clone|fetch|pull)\b",
    "copies": r"(site|dist)-packages/\S{0,200}({names})|\bpip\S* +(show|cache)|(?<![\w)\]])\.cache\b|\.whl\b"
    r"|\b(find|locate|grep -\S+ \S+) +/(usr|root|home|opt|var|etc)?(?=[\s'\"]|$)",
    "hidden_tests": r"\b(find|locate)\b[^\n]{0,200}name\s+\S{0,200}hidden|\bhidden[-_]tests?\b"
    r"|\b(rebuilds|components|releases)/\S{0,200}\.json|\bverdicts\.jsonl",
    "workspace": r"DLBENCH_HOME|{home}",
    "judge": r"\bkill\b[^\n;&|]{0,200} -?1\b|\b(pkill|killall)\b[^\n;&|]{0,200}(dlbench|bwrap|judge)"
    r"|\bos\.kill\(|/proc/\d+/",
}
"""What a command holds that looks for more than the task shows, by kind of finding."""
_EDITS = frozenset({"old", "new", "old_str", "new_str", "old_string", "new_string", "file_text", "patch", "diff"})
_NOT_THE_AGENT = ("user", "system", "developer", "tool", "function_call_output", "tool_result")


def check_release(engine: Engine, task: OpenTask, workers: int) -> None:
    """Run the release's tests, which may take minutes; an attempt at what fails here would be in vain."""
    if failures := profile_release(engine, task, workers).failures:
        test, why = next(iter(failures.items()))
        what = f"{len(failures)} tests do not pass on the release; the first, {test}: {why}"
        raise DLBenchError(what, where=task.record.id, fix="leave this task out: name others")


@contextmanager
def open_work(
    task: OpenTask, sandbox: Sandbox, limits: Limits, mounts: Sequence[Path] = ()
) -> Iterator[tuple[AgentCell, Path]]:
    """The cell of an attempt, whose work folder is a git repository of one commit; and a copy of that folder."""
    with open_cell(task.prepared, None, None, limits) as private:
        cell = AgentCell.make(private, sandbox, mounts, list_names(task))
        write_folder(task, cell.work)
        commit_folder(cell.work)
        yield cell, shutil.copytree(cell.work, private.folder / "given")


def list_names(task: OpenTask) -> set[str]:
    """Of the project and of what it imports as."""
    return task.packages | {task.record.project}


def judge_work(engine: Engine, task: OpenTask, cell: AgentCell, sample: int) -> tuple[Verdict, FileSet]:
    """The verdict on the work folder, and the files that it changes: none if it is too large or cannot be read."""
    files, links, problem = dict[str, bytes | None](), list[str](), ""
    try:
        if cell.measure_mb("work") <= cell.cell.limits.disk_mb:
            files, links = read_answer(task, cell.work)
        else:
            problem = "the folder exceeds --disk: nothing of it is judged"
    except (DLBenchError, OSError, RecursionError) as error:
        problem = f"the folder cannot be read: {error}"
    verdict = judge_files(engine, task, files, links=links, sample=sample)
    is_told = problem and verdict.status is not Status.HARNESS_ERROR
    return replace(verdict, message=problem) if is_told else verdict, files


@dataclass(frozen=True)
class AgentRun:
    """The settings of all attempts of a run."""

    engine: Engine
    sandbox: Sandbox
    limits: Limits
    """`test_seconds` is the wall time of an attempt."""
    command: Sequence[str]
    """Words with places to fill in."""
    model: str = ""
    endpoint: Endpoint | None = None
    budget: Budget = field(default_factory=Budget)
    most_tokens: int | None = None
    mounts: tuple[Path, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)

    def attempt(self, task: OpenTask, sample: int, out: Path) -> dict[str, Any]:
        """The record of one attempt's verdict; `out` gets its files."""
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        relay = Relay(self.endpoint, out / "requests.jsonl", self.budget, self.most_tokens, self.model)
        program, shown = find_program(self.command[0])
        with open_work(task, self.sandbox, self.limits, [*shown, *self.mounts]) as (cell, given):
            command = [str(program or task.prepared.python), *self._fill(cell)]
            plan = cell.describe(command, {**cell.environment, **self._describe_network(), **self.environment})
            ended = run_agent(cell, plan, out / "output.log", relay)
            output = (out / "output.log").read_text(encoding="utf-8", errors="replace")
            if relay.failure is not None:
                raise relay.failure
            problem = relay.problem
            if not relay.requests and (self.endpoint is not None or ended.exit == _NOT_STARTED):
                said = f"its last words: {output.strip()[-500:]}" if output.strip() else "it printed nothing"
                problem = f"the agent asked no model (exit status {ended.exit}, {ended.seconds:.0f} s); {said}"
            if problem:
                not_run = dict.fromkeys(task.record.hidden, Outcome.NOT_RUN)
                verdict = Verdict(task.record.id, sample, Status.HARNESS_ERROR, not_run, message=problem)
            else:
                verdict, files = judge_work(self.engine, task, cell, sample)
                _write_patch(given, files, out / "diff.patch")
            known = (task.prepared.environment, cell.cell.interpreter_root, cell.cell.folder)
        cost = None if relay.cost is None else round(relay.cost, 6)
        facts = {"exit": ended.exit, "stopped": ended.stopped, "seconds": round(ended.seconds, 1), "cost": cost}
        facts |= {"memory_mb": round(ended.memory_mb), "requests": relay.requests, **relay.tokens}
        (out / "agent.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
        return verdict.as_record() | {"agent": facts, "leaks": list(audit(relay, output, list_names(task), known))}

    def _fill(self, cell: AgentCell) -> list[str]:
        """The arguments of the command."""
        task = (cell.work / INSTRUCTIONS).read_text(encoding="utf-8")
        values = {"task": task, "model": self.model, "base_url": self._describe_network()["OPENAI_BASE_URL"]}
        values |= {"dir": str(cell.show("work")), "tmp": str(cell.show("tmp")), "harness": str(cell.show("harness"))}
        return [re.sub(r"\{(\w+)\}", lambda match: values.get(match[1], match[0]), word) for word in self.command[1:]]

    def _describe_network(self) -> dict[str, str]:
        """Variables that lead common clients to the relay."""
        path = urlsplit(self.endpoint.base_url).path.rstrip("/") if self.endpoint is not None else "/v1"
        base, found = f"{RELAY}{path}", describe_proxy()
        found |= {"OPENAI_BASE_URL": base, "OPENAI_API_BASE": base, "ANTHROPIC_BASE_URL": base.removesuffix("/v1")}
        found |= {"OPENAI_API_KEY": "relay", "ANTHROPIC_API_KEY": "relay"}
        # litellm: no table of prices from the network, and no error because a model is not in it
        found |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "MSWEA_COST_TRACKING": "ignore_errors"}
        return found | {"MSWEA_CONFIGURED": "1"}


def find_program(name: str) -> tuple[Path | None, list[Path]]:
    """The program, and its virtual environment with the interpreter, which the sandbox must show. None for `python`,
    which is the interpreter of the task."""
    if name == "python":
        return None, []
    found = shutil.which(name)
    if found is None:
        fix = "pip install mini-swe-agent mcp" if name == "mini" else "install it, or pass its path"
        raise DLBenchError(f"there is no program {name}", where="PATH", fix=fix)
    for program in (Path(found).absolute(), Path(found).resolve()):
        root = program.parent.parent
        if (root / "pyvenv.cfg").is_file():
            return program, [root, (root / "bin/python").resolve().parent.parent]
    return Path(found).absolute(), []


def check_shown(words: Sequence[str], task: OpenTask, mounts: Iterable[Path]) -> None:
    """Raise an error if the program, or the file after it, is on this machine but not in the sandbox."""
    program, shown = find_program(words[0])
    python = task.prepared.python
    shown = [*shown, *mounts, task.prepared.environment, python.resolve().parent.parent, Path("/usr"), Path("/bin")]
    for place in (program, *map(Path, words[1:2])):
        with contextlib.suppress(OSError):  # a long text is no path
            if place is None or not place.is_file():
                continue
            whole = place.resolve()
            if not place.is_absolute() or not any(whole.is_relative_to(one.resolve()) for one in shown):
                fix = f"--mount {whole.parent}, and write {whole} in the command"
                raise DLBenchError(f"the sandbox does not show {place}", where="--command", fix=fix)


def run_git(folder: Path, *words: str) -> bytes:
    """Only on a repository of ours: the configuration of another could run programs here. Commits of the same files
    are the same at any time."""
    clean = {"PATH": os.environ.get("PATH", os.defpath), "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    clean |= {f"GIT_{role}_DATE": "2026-01-01T00:00:00Z" for role in ("AUTHOR", "COMMITTER")}
    return subprocess.run([*_GIT, *words], cwd=folder, env=clean, check=True, capture_output=True).stdout


def commit_folder(folder: Path) -> None:
    """Make it a repository of one commit."""
    for words in (("init", "-q"), ("add", "-A", "-f"), ("commit", "-q", "-m", "The task")):
        run_git(folder, *words)


def _write_patch(given: Path, files: FileSet, patch: Path) -> None:
    for path, content in sorted(files.items(), key=lambda item: item[1] is not None):
        with contextlib.suppress(OSError):  # a file in place of a folder
            if content is None:
                (given / path).unlink()
            elif ".git" not in Path(path).parts:
                (given / path).parent.mkdir(parents=True, exist_ok=True)
                (given / path).write_bytes(content)
    run_git(given, "add", "-A", "-f")
    patch.write_bytes(run_git(given, "diff", "--cached"))


def audit(relay: Relay, output: str, names: Iterable[str], known: Iterable[Path]) -> Iterator[dict[str, Any]]:
    """What the agent tried to reach that it must not: by the relay's log, and by its commands. `known`: folders that it
    was shown."""
    yield from ({"kind": "network", "what": what, "count": count} for what, count in sorted(relay.refused.items()))
    words = {"{names}": "|".join(map(re.escape, names)), "{home}": re.escape(str(home()))}
    patterns = dict(_SUSPICIOUS)
    for word, instead in words.items():
        patterns = {kind: pattern.replace(word, instead) for kind, pattern in patterns.items()}
    found: Counter[tuple[str, str]] = Counter()
    commands = [one for turn in relay.turns for one in list_commands(turn)] or output[:_MOST_AUDITED].splitlines()
    for command in dict.fromkeys(commands):
        command = command[:_MOST_AUDITED]
        for folder in known:
            command = command.replace(str(folder), "")
        for kind, pattern in patterns.items():
            if match := re.search(pattern, command):
                found[kind, command[max(0, match.start() - 80) : match.end() + 80]] += 1
    yield from ({"kind": kind, "what": what, "count": count} for (kind, what), count in found.items())


def list_commands(value: object, key: str = "") -> Iterator[str]:
    """What a message of the agent runs or names, in any of the usual formats; not the text of its edits."""
    if isinstance(value, dict):
        if value.get("role") not in _NOT_THE_AGENT and value.get("type") not in _NOT_THE_AGENT:
            for name, inner in value.items():
                yield from list_commands(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from list_commands(inner, key)
    elif isinstance(value, str) and key == "arguments":
        with contextlib.suppress(ValueError, RecursionError):
            yield from list_commands(json.loads(value))
    elif isinstance(value, str) and key in ("content", "text"):
        yield from re.findall(r"```[^\n]*\n(.*?)```", value, re.DOTALL)
    elif isinstance(value, str) and key not in _EDITS:
        yield value
