"""The inspect task for agents: each sample is a task of many files, and our judge scores the folder that is left."""

from inspect_ai import Task, task
from inspect_ai.agent import AgentPrompt, react
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import Score, Scorer, Target, accuracy, scorer, stderr
from inspect_ai.solver import TaskState
from inspect_ai.tool import bash, text_editor
from inspect_ai.util import SandboxEnvironmentSpec
from inspect_ai.util import sandbox as find_sandbox

from dlbench import __version__
from dlbench.agents.sandbox import choose_agent_sandbox
from dlbench.bridges.inspect.scores import as_score, make_epochs, warn_of_fault
from dlbench.bridges.inspect.task_sandbox import Settings, TaskSandbox, open_tasks
from dlbench.bridges.shared import read_benchmark
from dlbench.dataset.file_task import KINDS
from dlbench.dataset.labels import Track
from dlbench.dataset.tracks import find_labels
from dlbench.execution.task_folder import render_instructions
from dlbench.registry import find_known

_PROMPT = """You are a software engineer. Solve the task in the working directory of every command. No person answers
questions. Read before you write, run the visible tests, and fix what fails. There is no network. Files stay, and
processes end with the command that started them."""
_COMMAND_SECONDS = 600


@scorer(metrics=[accuracy(), stderr()])
def folder_verdict() -> Scorer:
    """Runs the hidden tests on the folder that is left: 1 if all pass, else 0. The metadata has the share that do."""

    async def score(state: TaskState, target: Target) -> Score:
        folder = find_sandbox().as_type(TaskSandbox)
        found = await folder.call(lambda: folder.judge(state.epoch - 1))
        warn_of_fault(found)
        known = as_score(found, state.output.completion)
        return known.model_copy(update={"metadata": found.as_record() | {"share": found.share}})

    return score


@task
def dl_bench_components(
    track: str = Track.COMPONENT.value,
    instance: str | list[str] | None = None,
    samples: int = 1,
    benchmark: str | None = None,
    sandbox: str = "auto",
    minutes: float = 30.0,
    timeout: float = 60.0,
    memory: int = 4096,
    disk: int = 1024,
    processes: int = 256,
) -> Task:
    """One task of many files at a time, solved by an agent in a sandbox and judged by hidden tests.

    Options as those of `dlbench agent run`; `timeout` is the time limit of a test, and `samples` becomes epochs.
    """
    find_known(track, {str(one): one for one in KINDS}, "track of tasks of many files", "-T track")
    settings = Settings(
        track=Track(track),
        instances=(instance,) if isinstance(instance, str) else tuple(instance or ()),
        benchmark=benchmark,
        sandbox=sandbox,
        minutes=minutes,
        timeout=timeout,
        memory=memory,
        disk=disk,
        processes=processes,
    )
    whole, epochs, tools = read_benchmark(benchmark), make_epochs(samples), [bash(timeout=_COMMAND_SECONDS)]
    if choose_agent_sandbox(sandbox).name == "bubblewrap":  # inspect installs the tool in /var/tmp
        tools.append(text_editor(timeout=_COMMAND_SECONDS))
    chosen = []
    for name, one in open_tasks(settings).items():
        facts = {"project": one.record.project} | find_labels(one.record, whole.instances.values())
        chosen.append(Sample(id=name, input=render_instructions(one), metadata=facts))
    return Task(
        dataset=MemoryDataset(chosen, name=f"dlbench {track}"),
        solver=react(prompt=AgentPrompt(_PROMPT), tools=tools),
        scorer=folder_verdict(),
        sandbox=SandboxEnvironmentSpec("dlbench", settings),
        epochs=epochs,
        time_limit=max(1, round(60 * minutes)),
        version=str(whole.version),
        metadata={"dlbench": __version__, "benchmark": str(whole.version)},
    )
