"""Register commands, expand option groups, and turn errors into messages with an exit status.

A command is a function with typed parameters. A parameter whose type is a dataclass becomes the options that are its
fields: after the command's own, or in place if its `PLACE` is 0. Errors that a user can fix end with a message and
status 1; Ctrl-C ends with 130 and keeps finished work. Nothing heavy is imported here: `dlbench --help` must answer at
once.
"""

import errno
import functools
import inspect
import os
import re
from collections.abc import Callable
from contextlib import ExitStack
from contextvars import ContextVar
from copy import copy
from dataclasses import dataclass, is_dataclass, replace
from datetime import datetime
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from dlbench import dataset
from dlbench.dataset.labels import Data, Stage, Task, Track
from dlbench.errors import DLBenchError
from dlbench.registry import find_known, list_near
from dlbench.runs.verdict import Confirm

if TYPE_CHECKING:
    from dlbench.dataset.tracks import TrackBenchmark

SECTIONS = {
    "Look at the tasks": ("list", "show", "prompt", "stats", "browse"),
    "Score models and answers": ("run", "agent", "evaluate", "task", "serve"),
    "Read and compare results": ("report", "compare", "leaderboard"),
    "Exchange data with other tools": ("import", "export"),
    "Study models and datasets": ("analyze", "agree"),
    "Make and check benchmarks": ("construct", "train-set", "lock", "check", "validate"),
    "Manage this machine": ("doctor", "prepare", "tests", "clean"),
}
"""The commands in the order of a user's work; the help lists others at the end."""


class SectionedGroup(TyperGroup):
    """A group whose help lists its commands by section."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401 - typer has its own copy of click
        listed = [name for names in SECTIONS.values() for name in names]
        return [*listed, *(name for name in self.commands if name not in listed)]

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        names = self.list_commands(ctx)
        places = {name: title for title, names in SECTIONS.items() for name in names}
        limit = formatter.width - 6 - max(map(len, names))
        for title, group in groupby(names, lambda name: places.get(name, "Other commands")):
            with formatter.section(title):
                formatter.write_dl([(name, self.commands[name].get_short_help_str(limit)) for name in group])


app = typer.Typer(
    name="dlbench",
    cls=SectionedGroup,
    help="Measure how well models write deep-learning code: functions of real projects, judged by the projects' tests.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # rich takes a third of the time of --help
    context_settings={"help_option_names": ["-h", "--help"]},
)

CORES = os.cpu_count() or 1
DAYS = ["%Y-%m-%d"]


def _find_benchmark(text: str) -> Path:
    from dlbench.workspace.home import place_training_set

    return place_training_set() if text == "train-set" else Path(text)


TrackOption = Annotated[Track, typer.Option(help="Which kind of instances; docs/tracks.md.")]
BenchmarkOption = Annotated[
    Path | None,
    typer.Option(
        "--benchmark",
        parser=_find_benchmark,
        metavar="<path>",
        help="Benchmark folder, or train-set: the built training set (default: the built-in).",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
SandboxOption = Annotated[str, typer.Option(envvar="DLBENCH_SANDBOX", help="auto, or {sandboxes} (without isolation).")]
WorkersOption = Annotated[
    int | None, typer.Option(min=1, help="Candidates judged in parallel (default: all cores, local or in the cluster).")
]
TimeoutOption = Annotated[float, typer.Option(min=0.1, help="Time limit for the tests of an instance, in seconds.")]
MemoryOption = Annotated[int, typer.Option(min=64, help="Memory limit for a candidate and its children, in MiB.")]
ModeOption = Annotated[
    str,
    typer.Option(help="auto: warm workers, with a fresh interpreter where needed; fresh: always a new interpreter."),
]


def add_group(name: str, help: str, parent: typer.Typer = app) -> typer.Typer:
    group = typer.Typer(help=help, no_args_is_help=True, rich_markup_mode=None)
    parent.add_typer(group, name=name)
    return group


@dataclass(frozen=True)
class WorkerOptions:
    """Where candidates run, and how many at once."""

    workers: WorkersOption = None
    executor: Annotated[str, typer.Option(help="Where candidates run: local, or ray (docs/cluster.md).")] = "local"
    ray_address: Annotated[
        str | None,
        typer.Option(help="Ray cluster: HOST:PORT or auto (default: RAY_ADDRESS, else a local Ray for this command)."),
    ] = None
    sandbox: SandboxOption = "auto"

    @property
    def count(self) -> int:
        return self.workers or CORES


ConfirmOption = Annotated[
    Confirm, typer.Option(help="Which passes are replayed in a process that the candidate's code never enters.")
]


@dataclass(frozen=True)
class ExecutionOptions(WorkerOptions):
    """How candidates are judged."""

    timeout: TimeoutOption = 60.0
    memory: MemoryOption = 4096
    mode: ModeOption = "auto"
    pool_memory: Annotated[int, typer.Option(min=256, help="Memory limit for all workers of a machine, in MiB.")] = 6144
    confirm: ConfirmOption = Confirm.UNUSUAL


@dataclass(frozen=True)
class JudgingOptions(ExecutionOptions):
    """How answers of models are judged."""

    confirm: ConfirmOption = Confirm.ALL
    plus: Annotated[
        bool, typer.Option("--plus/--no-plus", help="Also try passing answers on further inputs (docs/plus.md).")
    ] = True

    def describe(self) -> dict[str, bool]:
        """For the configuration of a run; runs of earlier versions resume with --no-plus."""
        return {"plus": True} if self.plus else {}


@dataclass(frozen=True)
class Chosen:
    """The benchmark and the instances that a command works on, loaded on first use."""

    folder: BenchmarkOption = None
    split: Annotated[
        str,
        typer.Option(
            help="full, a split of the benchmark (lite, demo), or live-YYYY-MM: functions new since that month."
        ),
    ] = "full"
    instance: Annotated[list[str] | None, typer.Option(help="Only this instance (repeatable).")] = None
    project: Annotated[list[str] | None, typer.Option(help="Only this project (repeatable).")] = None
    stage: Annotated[list[Stage] | None, typer.Option(help="Only this pipeline stage (repeatable).")] = None
    task: Annotated[list[Task] | None, typer.Option(help="Only this ML task (repeatable).")] = None
    data: Annotated[list[Data] | None, typer.Option(help="Only this input data type (repeatable).")] = None
    since: Annotated[datetime | None, typer.Option(formats=DAYS, help="Introduced on or after this day.")] = None
    until: Annotated[datetime | None, typer.Option(formats=DAYS, help="Introduced on or before this day.")] = None
    list_file: Annotated[
        Path | None, typer.Option("--instances", help="Only the instances whose ids this file lists, one per line.")
    ] = None
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N of the chosen instances.")] = None
    part: Annotated[
        str | None,
        typer.Option("--set", help="train or validation: that part of the training set (`dlbench train-set build`)."),
    ] = None

    def __post_init__(self) -> None:
        if not self.part:
            return
        from dlbench.workspace.home import place_training_set

        find_known(self.part, dict.fromkeys(("train", "validation")), "set")
        if self.split != "full":
            raise DLBenchError("--set is itself a split", where="--split", fix="pass --set or --split, not both")
        object.__setattr__(self, "folder", self.folder or place_training_set())
        object.__setattr__(self, "split", self.part)

    @functools.cached_property
    def benchmark(self) -> "dataset.Benchmark":
        return dataset.load(self.folder)

    @functools.cached_property
    def instances(self) -> "list[dataset.Instance]":
        return self.instances_of(self.benchmark)

    def instances_of(self, benchmark: "dataset.Benchmark") -> "list[dataset.Instance]":
        selection = dataset.Selection(
            split=self.split,
            instances=(*(self.instance or ()), *(_read_ids(self.list_file, benchmark) if self.list_file else ())),
            projects=tuple(self.project or ()),
            stages=tuple(self.stage or ()),
            tasks=tuple(self.task or ()),
            data=tuple(self.data or ()),
            since=self.since.date() if self.since else None,
            until=self.until.date() if self.until else None,
        )
        found = dataset.select(benchmark, selection)
        if not found and benchmark.unrunnable and not benchmark.instances:
            what = f"its {len(benchmark.unrunnable)} prompts have no runnable source"
            fix = "study them with `dlbench analyze`, or try `dlbench import official … --make-runnable WORK`"
            raise DLBenchError(what, where=str(benchmark.root), fix=fix)
        if not found:
            raise DLBenchError("no instance matches the filters", fix="`dlbench stats` lists what there is")
        return found[: self.limit]

    def on_functions(self, track: Track) -> "Chosen":
        """The same choice on a track of functions."""
        from dlbench.dataset.tracks import open_track

        found = copy(self)
        _refuse_empty(benchmark := open_track(self.benchmark, track))
        object.__setattr__(found, "benchmark", benchmark)
        return found

    def open_track(self, track: Track) -> "TrackBenchmark":
        """The benchmark with the chosen instances of a track."""
        from dlbench.dataset.tracks import has_functions, open_track

        whole = open_track(self.benchmark, track)
        if track is not Track.FUNCTION:
            _refuse_empty(whole)
        if has_functions(whole):
            return replace(whole, instances={one.id: one for one in self.instances_of(whole)})
        used = [axis for axis in (*dataset.AXES, "since", "until", "part") if getattr(self, axis)]
        if used or self.split != "full":
            fix = "choose them by --instance, --instances, --project or --limit"
            raise DLBenchError(f"--{'set' if used == ['part'] else (used or ['split'])[0]} is for functions", fix=fix)
        ids = (*(self.instance or ()), *(_read_ids(self.list_file, whole) if self.list_file else ()))
        chosen = [find_known(one, whole.instances, f"{track} task") for one in ids] or list(whole.instances.values())
        projects = [find_known(one, whole.projects, "project").name for one in self.project or whole.projects]
        found = {one.id: one for one in chosen if one.project in projects}
        if not found:
            fix = f"`dlbench list --track {track}` shows what there is"
            raise DLBenchError(f"no {track} task matches the filters", fix=fix)
        return replace(whole, instances=dict(list(found.items())[: self.limit]))


def _refuse_empty(benchmark: "TrackBenchmark") -> None:
    if not benchmark.instances:
        fix = "`dlbench construct` makes some; name another benchmark by --benchmark"
        raise DLBenchError(f"there are no {benchmark.track} tasks", where=str(benchmark.root), fix=fix)


def _read_ids(path: Path, benchmark: "TrackBenchmark") -> list[str]:
    lines = enumerate(map(str.strip, path.read_text(encoding="utf-8", errors="replace").splitlines()), 1)
    ids = {line: number for number, line in lines if line and not line.startswith("#")}
    for one, number in ids.items():
        find_known(one, benchmark.instances, "instance", f"{path}:{number}")
    if not ids:  # no id would choose every instance
        raise DLBenchError("the file lists no instance", where=str(path), fix="write one id per line")
    return list(ids)


on_exit: ContextVar[ExitStack] = ContextVar("on_exit")
"""What is called when the running command ends, however it ends."""

_LISTS = {
    "{models}": "dlbench.generation.model:describe_clients",
    "{rules}": "dlbench.agreement.selection:RULES",
    "{techniques}": "dlbench.generation.techniques:TECHNIQUES",
    "{sandboxes}": "dlbench.execution.sandbox.base:SANDBOXES",
}


class RegistryHelp(TyperCommand):
    """A command whose help lists registries, such as `{models}` and `{techniques}`, and that suggests close values.

    A registry is loaded only when help that names it is shown: loading it would slow down every command.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - typer has its own copy of click
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            named = re.findall(r"'([^']*)'", error.message)
            if " is not one of " in error.message and (near := list_near(named[0], named[1:])):
                error.message += f" Did you mean {' or '.join(near)}?"
            raise

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - typer has its own copy of click
        for option in self.params:
            for placeholder, place in _LISTS.items():
                if placeholder in (getattr(option, "help", None) or ""):
                    found = resolve_name(place)
                    text = found() if callable(found) else ", ".join(found)
                    option.help = option.help.replace(placeholder, text)  # type: ignore[attr-defined]
        super().format_options(ctx, formatter)


def command(name: str, group: typer.Typer = app) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a command."""
    return lambda function: group.command(name, cls=RegistryHelp)(guard(function))


def guard(function: Callable[..., None]) -> Callable[..., None]:
    """Expand the option groups of a command, and turn its errors into messages with an exit status."""
    inner = _expand_groups(function)

    @functools.wraps(inner)
    def guarded(*args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - a command's own options
        try:
            with ExitStack() as stack:
                on_exit.set(stack)
                inner(*args, **kwargs)
        except DLBenchError as error:
            _fail(error)
        except OSError as error:
            if error.errno != errno.ENOSPC and not error.filename:
                raise
            fix = "fix that and run the same command again; finished work is kept"
            _fail(DLBenchError(str(error.strerror), where=str(error.filename or ""), fix=fix))
        except KeyboardInterrupt:
            typer.echo("stopped; finished work is kept, run the same command to resume", err=True)
            raise typer.Exit(130) from None

    return guarded


def _fail(error: DLBenchError) -> None:
    typer.echo(f"dlbench: {error}", err=True)
    raise typer.Exit(1)


def _expand_groups(function: Callable[..., None]) -> Callable[..., None]:
    own = inspect.signature(function).parameters
    types: dict[str, Any] = {name: one.annotation for name, one in own.items()}
    groups = {name: kind for name, kind in types.items() if is_dataclass(kind) and isinstance(kind, type)}
    if not groups:
        return function
    options = {name: inspect.signature(make).parameters for name, make in groups.items()}

    def expanded(**values: Any) -> None:  # noqa: ANN401 - a command's own options
        made = {name: make(**{key: values.pop(key) for key in options[name]}) for name, make in groups.items()}
        function(**values, **made)

    expanded.__doc__ = function.__doc__
    expanded.__name__ = function.__name__
    order = sorted(own, key=lambda name: getattr(groups[name], "PLACE", 1) if name in groups else 0)
    listed = [one for name in order for one in (options[name].values() if name in groups else [own[name]])]
    parameters = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in listed]
    expanded.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    expanded.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return expanded


def need(module: str, extra: str) -> None:
    """Raise an error that names the extra to install when an optional dependency is missing."""
    if find_spec(module) is None:
        raise DLBenchError(f"{module} is not installed", fix=f"pip install 'dlbench[{extra}]'")
