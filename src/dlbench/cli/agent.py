"""The command `agent run`: agents attempt tasks, each attempt in a sandbox of its own (docs/agents.md)."""

import os
import shlex
import shutil
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dlbench import __version__, dataset
from dlbench.cli.app import BenchmarkOption, Chosen, SandboxOption, WorkerOptions, add_group, command
from dlbench.cli.engine import make_engine
from dlbench.cli.models import ApiKeyOption, BaseUrlOption, PricesOption
from dlbench.cli.output import counted, log
from dlbench.cli.task import open_tasks
from dlbench.dataset.labels import Track
from dlbench.errors import DLBenchError
from dlbench.jsonl import Journal
from dlbench.registry import find_known
from dlbench.runs import open_run, read_run
from dlbench.runs.verdict import VERDICTS, Status, Verdict

if TYPE_CHECKING:
    from dlbench.agents.attempts import AgentRun
    from dlbench.execution import Engine
    from dlbench.execution.file_task import OpenTask

agent = add_group("agent", "Evaluate coding agents on tasks of many files: docs/agents.md.")


@dataclass(frozen=True)
class LimitOptions:
    """Limits of one attempt."""

    minutes: Annotated[float, typer.Option(min=0.01, help="Wall time of an attempt.")] = 30.0
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Tokens of an attempt, prompts included.")] = None
    memory: Annotated[int, typer.Option(min=64, help="Memory of all processes of an attempt, in MiB.")] = 4096
    disk: Annotated[int, typer.Option(min=1, help="Disk space of an attempt, in MiB.")] = 1024
    processes: Annotated[int, typer.Option(min=8, help="Processes of an attempt.")] = 256
    cpus: Annotated[int, typer.Option(min=0, help="Processors of an attempt; 0: all.")] = 0


@command("run", agent)
def run(
    *,
    agent: Annotated[
        str | None, typer.Option(help="builtin: ours, with a bash and an edit tool; or mini-swe-agent, if installed.")
    ] = None,
    command: Annotated[
        str | None,
        typer.Option(help="Any other agent; {task}, {dir}, {tmp}, {model}, {base_url} are filled in (docs/agents.md)."),
    ] = None,
    model: Annotated[str, typer.Option(help="Model to use; replaces the one that the agent requests.")] = "",
    base_url: BaseUrlOption = None,
    api_key: ApiKeyOption = None,
    task: Annotated[
        list[str] | None, typer.Option(help="Only this task (repeatable; default: all of --track).")
    ] = None,
    track: Annotated[Track, typer.Option(help="Without --task: all tasks of this kind.")] = Track.REBUILD,
    samples: Annotated[int, typer.Option("--samples", "-n", min=1, help="Attempts at each task.")] = 1,
    out: Annotated[Path, typer.Option(help="Run folder.")] = Path("runs/agent"),
    workers: Annotated[int, typer.Option(min=1, help="Attempts at the same time.")] = 1,
    limits: LimitOptions,
    env: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Pass this variable (repeatable).")] = None,
    mount: Annotated[list[Path] | None, typer.Option(help="Show this folder, read-only (repeatable).")] = None,
    sandbox: SandboxOption = "auto",
    prices: PricesOption = None,
    benchmark: BenchmarkOption = None,
) -> None:
    """Let an agent attempt tasks, and judge what it leaves. Rerun to resume."""
    from dlbench.agents.attempts import PRESETS, AgentRun, check_shown, find_program
    from dlbench.agents.sandbox import choose_agent_sandbox
    from dlbench.dataset.validation import name_records
    from dlbench.execution import Limits
    from dlbench.generation import Budget, find_price
    from dlbench.generation.providers import Secrets, check_endpoint, find_endpoint, shown_url

    if bool(agent) == bool(command):
        raise DLBenchError("which agent is not clear", fix="pass exactly one of --agent and --command")
    if agent and not model:
        raise DLBenchError(f"{agent} needs a model", fix="pass --model, and --base-url for your own endpoint")
    if missing := [name for name in env or () if name not in os.environ]:
        raise DLBenchError(f"the variable {missing[0]} is not set", where="--env", fix="set it, or leave it out")
    chosen = find_known(agent, PRESETS, "agent", "--agent") if agent else command or ""
    try:
        words = shlex.split(chosen)
    except ValueError as error:
        raise DLBenchError(f"the command cannot be read: {error}", where="--command", fix="close its quotes") from None
    if not words:
        raise DLBenchError("the command is empty", where="--command", fix="name a program")
    if unknown := [place for place in mount or () if not place.is_dir()]:
        raise DLBenchError(f"there is no folder {unknown[0]}", where="--mount", fix="name a folder")
    find_program(words[0])
    if shutil.which("git") is None:
        raise DLBenchError("there is no program git", fix="install it: it makes the work folders and the patches")
    endpoint = find_endpoint(model, base_url, api_key) if model or base_url else None
    if endpoint is not None:
        check_endpoint(endpoint.base_url)
    settings = AgentRun(
        make_engine(WorkerOptions(1, sandbox=sandbox)),
        choose_agent_sandbox(sandbox),
        Limits(0, 60 * limits.minutes, limits.memory, limits.processes, disk_mb=limits.disk, cpus=limits.cpus),
        words,
        endpoint.model if endpoint is not None and model else "",
        endpoint,
        Budget(price=find_price(model, prices)),
        limits.max_tokens,
        tuple(place.resolve() for place in mount or ()),
        {name: os.environ[name] for name in env or ()},
    )
    tasks = open_tasks(Chosen(benchmark, instance=task), None if task else track)
    check_shown(words, tasks[0], settings.mounts)
    config = {
        "dlbench": __version__,
        "benchmark": name_records(dataset.load(benchmark)),
        "track": tasks[0].record.track,
        "agent": agent or Secrets(*(endpoint.secrets if endpoint is not None else ())).hide(chosen),
        "model": f"{agent or Path(words[0]).name} {model}".strip(),
        "samples": samples,
        "limits": asdict(limits),
        "env": sorted(env or ()),
        "mount": sorted(map(str, settings.mounts)),
        "instances": [one.record.id for one in tasks],
        "date": datetime.now(UTC).date().isoformat(),
        "endpoint": shown_url(endpoint.base_url) if endpoint is not None else None,
    }
    open_run(out, config)
    with Journal(out / VERDICTS) as journal:
        kept = [one for one in journal.records() if one["status"] != Status.HARNESS_ERROR]
        done = {(one["instance"], one["sample"]) for one in kept}
        waiting = [(one, sample) for sample in range(samples) for one in tasks if (one.record.id, sample) not in done]
        _profile(settings.engine, list({one.record.id: one for one, _ in waiting}.values()), workers)
        log(f"{len(waiting)} attempts in the sandbox {settings.sandbox.name}")
        with counted("attempts", len(tasks) * samples) as progress:
            progress.keep(len(tasks) * samples - len(waiting))
            for record in _attempt_all(settings, waiting, journal, out / "attempts", workers):
                progress(_describe(record))
    _summarize(read_run(out).verdicts)


def _profile(engine: "Engine", tasks: "list[OpenTask]", workers: int) -> None:
    """Run the releases' tests before the first attempt."""
    from dlbench.agents.attempts import check_release

    with counted("releases", len(tasks)) as progress:
        for one in tasks:
            check_release(engine, one, workers)
            progress(one.record.id)


def _attempt_all(
    settings: "AgentRun", waiting: "list[tuple[OpenTask, int]]", journal: Journal, folder: Path, workers: int
) -> Iterator[dict[str, Any]]:
    from dlbench.execution.supervise import stop_event

    stop = threading.Event()

    def attempt(one: "OpenTask", sample: int) -> dict[str, Any]:
        stop_event.set(stop)
        record = settings.attempt(one, sample, folder / f"{one.record.id}-{sample}")
        journal.append(record)
        return record

    with ThreadPoolExecutor(workers) as threads:
        futures = [threads.submit(attempt, *one) for one in waiting]
        try:
            yield from (future.result() for future in as_completed(futures))
        except BaseException as error:
            if not isinstance(error, DLBenchError):  # then those under way are finished and kept
                stop.set()
            threads.shutdown(wait=False, cancel_futures=True)
            raise


def _describe(record: dict[str, Any]) -> str:
    facts, leaks = record.get("agent", {}), Counter(leak["kind"] for leak in record.get("leaks", ()))
    tokens = sum(facts.get(f"{kind}_tokens", 0) for kind in ("prompt", "completion", "estimated"))
    parts = [f"{record['status']}, {Verdict.from_record(record).share:.1%} of hidden tests"]
    parts += [f"{facts.get('seconds', 0):.0f} s", f"{facts.get('requests', 0)} requests", f"{tokens} tokens"]
    parts += [f"limit reached: {facts['stopped']}"] if facts.get("stopped") else []
    parts += [f"leaks: {' '.join(f'{kind}={count}' for kind, count in sorted(leaks.items()))}"] if leaks else []
    parts += [record["message"].strip()] if record["status"] == Status.HARNESS_ERROR else []
    return f"{record['instance']} {record['sample']}: {', '.join(parts)}"


def _summarize(records: list[dict[str, Any]]) -> None:
    typer.echo("\n".join(map(_describe, records)))
    judged = [one for one in records if one["status"] != Status.HARNESS_ERROR]
    for name, group in (("all attempts", judged), ("without leaks", [one for one in judged if not one.get("leaks")])):
        if group:
            passed = sum(one["status"] == Status.PASS for one in group)
            share = sum(Verdict.from_record(one).share for one in group) / len(group)
            typer.echo(f"{name}: {passed} of {len(group)} passed, {share:.1%} of hidden tests on average")
    if len(judged) < len(records):
        raise typer.Exit(1)
