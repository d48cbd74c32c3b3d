"""Register commands, expand option groups, and turn errors into messages with an exit status.

A command is a function with typed parameters. A parameter whose type is an option group becomes the options of that
group. Errors that a user can fix end with a message and status 1; Ctrl-C ends with 130 and keeps finished work.
Nothing heavy is imported here: `dlbench --help` must answer at once.
"""

import errno
import functools
import inspect
import os
from collections.abc import Callable
from contextlib import ExitStack
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from dlbench.dataset.labels import Data, Stage, Task
from dlbench.errors import DLBenchError

if TYPE_CHECKING:
    from dlbench.dataset import Benchmark, Instance

app = typer.Typer(
    name="dlbench",
    help="Measure how well models write deep-learning code: functions of real projects, judged by the projects' tests.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # rich takes a third of the time of --help
    context_settings={"help_option_names": ["-h", "--help"]},
)

CORES = os.cpu_count() or 1

BenchmarkOption = Annotated[Path | None, typer.Option("--benchmark", help="Benchmark folder (default: the built-in).")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
SandboxOption = Annotated[
    str,
    typer.Option(envvar="DLBENCH_SANDBOX", help="auto, or {sandboxes} (without isolation)."),
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        "--workers", min=1, help="Candidates judged in parallel (default: all cores, local or in the cluster)."
    ),
]
TimeoutOption = Annotated[float, typer.Option(min=0.1, help="Time limit for the tests of an instance, in seconds.")]
MemoryOption = Annotated[int, typer.Option(min=64, help="Memory limit for a candidate and its children, in MiB.")]
ModeOption = Annotated[
    str,
    typer.Option(help="auto: warm workers, with a fresh interpreter where needed; fresh: always a new interpreter."),
]
PoolMemoryOption = Annotated[int, typer.Option(min=256, help="Memory limit for all workers of a machine, in MiB.")]
ExecutorOption = Annotated[str, typer.Option(help="Where candidates run: local, or ray (docs/cluster.md).")]
RayAddressOption = Annotated[
    str | None,
    typer.Option(help="Ray cluster: HOST:PORT or auto (default: RAY_ADDRESS, else a local Ray for this command)."),
]


@dataclass(frozen=True)
class WorkerOptions:
    """Where candidates run, and how many at once."""

    workers: WorkersOption = None
    executor: ExecutorOption = "local"
    ray_address: RayAddressOption = None
    sandbox: SandboxOption = "auto"

    @property
    def count(self) -> int:
        return self.workers or CORES


@dataclass(frozen=True)
class ExecutionOptions(WorkerOptions):
    """How candidates are judged."""

    timeout: TimeoutOption = 60.0
    memory: MemoryOption = 4096
    mode: ModeOption = "auto"
    pool_memory: PoolMemoryOption = 6144


_on_exit: ContextVar[ExitStack] = ContextVar("_on_exit")


def close_on_exit(close: Callable[[], None]) -> None:
    """Call `close` when the running command ends, however it ends."""
    _on_exit.get().callback(close)


class RegistryHelp(TyperCommand):
    """A command whose help lists registries: `{models}`, `{techniques}`, `{sandboxes}`.

    A registry is loaded only when help that names it is shown: loading it would slow down every command.
    """

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - typer has its own copy of click
        for option in self.params:
            for placeholder, describe in _LISTS.items():
                if placeholder in (getattr(option, "help", None) or ""):
                    option.help = option.help.replace(placeholder, describe())  # type: ignore[attr-defined]
        super().format_options(ctx, formatter)


def _describe_models() -> str:
    from dlbench.generation.clients import describe_clients

    return describe_clients()


def _describe_techniques() -> str:
    from dlbench.generation.techniques import TECHNIQUES

    return ", ".join(TECHNIQUES)


def _describe_sandboxes() -> str:
    from dlbench.execution.sandbox.base import SANDBOXES

    return ", ".join(SANDBOXES)


_LISTS = {"{models}": _describe_models, "{techniques}": _describe_techniques, "{sandboxes}": _describe_sandboxes}


def command(name: str, group: typer.Typer = app) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a command; parameters typed as option groups become the options of the group."""

    def register(function: Callable[..., None]) -> Callable[..., None]:
        group.command(name, cls=RegistryHelp)(_guard(function))
        return function

    return register


def group_command(group: typer.Typer) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register what a group does when none of its commands is named; `context` says whether one is."""

    def register(function: Callable[..., None]) -> Callable[..., None]:
        group.callback(invoke_without_command=True)(_guard(function))
        return function

    return register


def _guard(function: Callable[..., None]) -> Callable[..., None]:
    inner = _expand_groups(function)

    @functools.wraps(inner)
    def guarded(*args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - a command's own options
        try:
            with ExitStack() as stack:
                _on_exit.set(stack)
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


class Chosen:
    """The benchmark and the instances that a command works on, loaded on first use."""

    def __init__(self, root: Path | None, **filters: Any) -> None:  # noqa: ANN401 - as `Selection` types them
        self._root = root
        self._filters = filters

    @functools.cached_property
    def benchmark(self) -> "Benchmark":
        from dlbench.dataset import load

        return load(self._root)

    @property
    def split(self) -> str:
        return str(self._filters["split"])

    @property
    def root(self) -> Path:
        from dlbench.dataset import default_root

        return self._root or default_root()

    def instances_of(self, benchmark: "Benchmark") -> list["Instance"]:
        from dlbench.dataset import Selection, select

        found = select(benchmark, Selection(**self._filters))
        if not found and benchmark.unrunnable and not benchmark.instances:
            what = f"its {len(benchmark.unrunnable)} prompts have no runnable source"
            raise DLBenchError(what, where=str(benchmark.root), fix="use `dlbench analyze` to study them")
        if not found:
            raise DLBenchError("no instance matches the filters", fix="`dlbench stats` lists what there is")
        return found

    @functools.cached_property
    def instances(self) -> list["Instance"]:
        return self.instances_of(self.benchmark)


def _select(
    benchmark: BenchmarkOption = None,
    split: Annotated[
        str,
        typer.Option(
            help="full, a split of the benchmark (lite, demo), or live-YYYY-MM: functions new since that month."
        ),
    ] = "full",
    instance: Annotated[list[str] | None, typer.Option(help="Only this instance (repeatable).")] = None,
    project: Annotated[list[str] | None, typer.Option(help="Only this project (repeatable).")] = None,
    stage: Annotated[list[Stage] | None, typer.Option(help="Only this pipeline stage (repeatable).")] = None,
    task: Annotated[list[Task] | None, typer.Option(help="Only this ML task (repeatable).")] = None,
    data: Annotated[list[Data] | None, typer.Option(help="Only this input data type (repeatable).")] = None,
    since: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d"], help="Introduced on or after this day.")
    ] = None,
    until: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d"], help="Introduced on or before this day.")
    ] = None,
) -> Chosen:
    return Chosen(
        benchmark,
        split=split,
        instances=tuple(instance or ()),
        projects=tuple(project or ()),
        stages=tuple(stage or ()),
        tasks=tuple(task or ()),
        data=tuple(data or ()),
        since=since.date() if since else None,
        until=until.date() if until else None,
    )


_GROUPS: dict[object, Callable[..., object]] = {
    Chosen: _select,
    WorkerOptions: WorkerOptions,
    ExecutionOptions: ExecutionOptions,
}
"""By the type of a parameter: the callable whose parameters are the options of the group."""


def option_group(group: type) -> type:
    """Register a dataclass whose fields are options (a decorator)."""
    _GROUPS[group] = group
    return group


def _expand_groups(function: Callable[..., None]) -> Callable[..., None]:
    own = inspect.signature(function).parameters
    groups = {name: _GROUPS[one.annotation] for name, one in own.items() if one.annotation in _GROUPS}
    if not groups:
        return function
    options = {name: inspect.signature(make).parameters for name, make in groups.items()}

    def expanded(**values: Any) -> None:  # noqa: ANN401 - a command's own options
        made = {name: make(**{key: values.pop(key) for key in options[name]}) for name, make in groups.items()}
        function(**values, **made)

    expanded.__doc__ = function.__doc__
    expanded.__name__ = function.__name__
    listed = [one for name, one in own.items() if name not in groups]
    listed += [one for name in groups for one in options[name].values()]
    parameters = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in listed]
    expanded.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    expanded.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return expanded


def need(module: str, extra: str) -> None:
    """Raise an error that names the extra to install when an optional dependency is missing."""
    if find_spec(module) is None:
        raise DLBenchError(f"{module} is not installed", fix=f"pip install 'dlbench[{extra}]'")
