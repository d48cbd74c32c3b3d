"""What do all commands have in common? How they are registered, how they fail, and how they choose instances.

A command is a function in a file of its own. Whatever a person can fix ends with a message and status 1; Ctrl-C ends
with 130 and keeps what was done. Nothing heavy is imported here: `dlbench --help` must answer at once.

What does a command say whose library is not installed? Which extra has it, and nothing of a traceback.
"""

import errno
import functools
import inspect
import os
from collections.abc import Callable
from contextlib import ExitStack
from contextvars import ContextVar
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dlbench.dataset.labels import Data, Stage, Task
from dlbench.errors import DLBenchError

if TYPE_CHECKING:
    from dlbench.dataset import Benchmark, Instance


app = typer.Typer(
    name="dlbench",
    help="How well does a model write deep-learning code? Real functions of real projects, judged by their own tests.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # rich costs a third of the time that help takes
    context_settings={"help_option_names": ["-h", "--help"]},
)

CORES = os.cpu_count() or 1

BenchmarkOption = Annotated[Path | None, typer.Option("--benchmark", help="Folder of a benchmark; ours by default.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
SandboxOption = Annotated[
    str,
    typer.Option(envvar="DLBENCH_SANDBOX", help="auto, bubblewrap, sandlock, basic, or, in your own word, unconfined."),
]
WorkersOption = Annotated[int, typer.Option(min=1, help="Candidates judged at once; the number of cores by default.")]
TimeoutOption = Annotated[float, typer.Option(min=0.1, help="Seconds that an instance's tests may take.")]
MemoryOption = Annotated[int, typer.Option(min=64, help="MiB that a candidate and its children may use.")]
ModeOption = Annotated[
    str, typer.Option(help="auto: warm workers, fresh interpreters where need be; fresh: a new interpreter each time.")
]
PoolMemoryOption = Annotated[
    int, typer.Option(min=256, help="MiB that all idle and busy workers of a machine may hold together.")
]
ExecutorOption = Annotated[
    str, typer.Option(help="Where candidates are judged: local, or ray, on the nodes of a cluster (docs/cluster.md).")
]
RayAddressOption = Annotated[
    str | None,
    typer.Option(help="For ray: HOST:PORT of a cluster, or auto; else RAY_ADDRESS, else a Ray for this command alone."),
]
SeatsOption = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=1,
        help="Candidates judged at once; all cores, here or in the cluster, by default.",
    ),
]

_ending: ContextVar[ExitStack] = ContextVar("_ending")


def end_with_command(close: Callable[[], None]) -> None:
    """Called when the command that runs is over, however it ends."""
    _ending.get().callback(close)


def command(name: str, group: typer.Typer = app) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Registers a command; a parameter `chosen` becomes the options that choose instances."""

    def register(function: Callable[..., None]) -> Callable[..., None]:
        group.command(name)(_guard(function))
        return function

    return register


def whole_group(group: typer.Typer) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """As `command`, for what a group does itself when none of its commands is named; `context` says whether one is."""

    def register(function: Callable[..., None]) -> Callable[..., None]:
        group.callback(invoke_without_command=True)(_guard(function))
        return function

    return register


def _guard(function: Callable[..., None]) -> Callable[..., None]:
    inner = _with_choice(function) if "chosen" in inspect.signature(function).parameters else function

    @functools.wraps(inner)
    def guarded(*args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - a command's own options
        try:
            with ExitStack() as stack:
                _ending.set(stack)
                inner(*args, **kwargs)
        except DLBenchError as error:
            _fail(error)
        except OSError as error:
            fix = "fix that and start the same command again; what was done is kept"
            if error.errno != errno.ENOSPC and not error.filename:
                raise
            _fail(DLBenchError(str(error.strerror), where=str(error.filename or ""), fix=fix))
        except KeyboardInterrupt:
            typer.echo("stopped; what was done is kept, the same command goes on from here", err=True)
            raise typer.Exit(130) from None

    return guarded


def _fail(error: DLBenchError) -> None:
    typer.echo(f"dlbench: {error}", err=True)
    raise typer.Exit(1)


class Chosen:
    """The benchmark and the instances that a command works on, read when they are asked for."""

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
            what = f"its {len(benchmark.unrunnable)} prompts were imported without a source that could be run"
            raise DLBenchError(what, where=str(benchmark.root), fix="`dlbench analyze` studies them")
        if not found:
            raise DLBenchError("no instance fits the choice", fix="`dlbench stats` shows what there is")
        return found

    @functools.cached_property
    def instances(self) -> list["Instance"]:
        return self.instances_of(self.benchmark)


def _choice(
    benchmark: BenchmarkOption = None,
    split: Annotated[
        str,
        typer.Option(
            help="Name of a split: full, one of the benchmark's own (lite, demo), or live-YYYY-MM, all that first"
            " appeared in that month or later."
        ),
    ] = "full",
    instance: Annotated[list[str] | None, typer.Option(help="Only this instance (repeatable).")] = None,
    project: Annotated[list[str] | None, typer.Option(help="Only this project (repeatable).")] = None,
    stage: Annotated[list[Stage] | None, typer.Option(help="Only this pipeline stage (repeatable).")] = None,
    task: Annotated[list[Task] | None, typer.Option(help="Only this ML task (repeatable).")] = None,
    data: Annotated[list[Data] | None, typer.Option(help="Only this kind of data (repeatable).")] = None,
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


def _with_choice(function: Callable[..., None]) -> Callable[..., None]:
    own = inspect.signature(function).parameters
    added = inspect.signature(_choice).parameters
    kept = [parameter for name, parameter in own.items() if name != "chosen"]

    def expanded(**options: Any) -> None:  # noqa: ANN401 - a command's own options
        choice = {name: options.pop(name) for name in added}
        function(**options, chosen=_choice(**choice))

    expanded.__doc__ = function.__doc__
    expanded.__name__ = function.__name__
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [parameter.replace(kind=keyword) for parameter in [*kept, *added.values()]]
    expanded.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    expanded.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return expanded


def need(module: str, extra: str) -> None:
    if find_spec(module) is None:
        raise DLBenchError(f"{module} is not installed", fix=f"pip install 'dlbench[{extra}]'")
