"""The command that asks a model and judges what it says, and the one that shows what it would be asked."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dlbench.cli.agree import (
    DUAL,
    DualAgreement,
    ModelSetup,
    RewriteOption,
    RuleOption,
    RunSetup,
    TestsOption,
    VariantsOption,
)
from dlbench.cli.app import (
    CORES,
    BenchmarkOption,
    Chosen,
    ExecutorOption,
    MemoryOption,
    ModeOption,
    PoolMemoryOption,
    RayAddressOption,
    SandboxOption,
    SeatsOption,
    TimeoutOption,
    command,
)
from dlbench.cli.models import (
    ApiKeyOption,
    BaseUrlOption,
    CommandOption,
    MaxCostOption,
    MaxRequestsOption,
    MaxTokensTotalOption,
    ModelOption,
    Opening,
    PricesOption,
    ReasoningOption,
    RequestTimeoutOption,
    RetriesOption,
    StreamOption,
    make_budget,
    tell_sampling,
)
from dlbench.errors import DLBenchError

if TYPE_CHECKING:
    from dlbench.dataset import Instance
    from dlbench.generation.techniques import PromptBuilder

CanaryOption = Annotated[
    bool, typer.Option("--canary", help="Put the benchmark's canary into each prompt, so that copies can be found.")
]

_TECHNIQUES = (
    "How to ask: zero-shot, zero-shot-cot, few-shot-random, few-shot-same-stage, few-shot-predicted-stage, "
    "few-shot-same-project, few-shot-other-projects, few-shot-cot, self-planning, guided or module-context"
)
TechniqueOption = Annotated[
    str,
    typer.Option(
        help=f"{_TECHNIQUES}; or dual-agreement: in several wordings, and the model's own tests choose "
        "(docs/agreement.md)."
    ),
]
ShownTechniqueOption = Annotated[str, typer.Option(help=f"{_TECHNIQUES}.")]
ShotsOption = Annotated[int, typer.Option(min=1, help="Examples in a few-shot prompt.")]
PredictedStagesOption = Annotated[
    Path | None,
    typer.Option(
        help="For few-shot-predicted-stage: what a trained classifier said (`analyze stage evaluate` writes the file)."
    ),
]
PromptTokensOption = Annotated[
    int,
    typer.Option(min=0, help="Most tokens of a prompt, estimated by characters/4; more context is cut. 0: no limit."),
]


@command("run")
def run(
    chosen: Chosen,
    model: ModelOption = None,
    model_command: CommandOption = None,
    out: Annotated[Path, typer.Option(help="Run folder; with several models, one folder in it for each.")] = Path(
        "runs/latest"
    ),
    base_url: BaseUrlOption = None,
    api_key: ApiKeyOption = None,
    samples: Annotated[int, typer.Option("--samples", "-n", min=1, help="Answers asked for each instance.")] = 1,
    temperature: Annotated[float, typer.Option(min=0.0)] = 0.0,
    max_tokens: Annotated[
        int, typer.Option(min=1, help="Longest answer; with its prompt it must fit into the model's context.")
    ] = 1024,
    technique: TechniqueOption = "zero-shot",
    shots: ShotsOption = 3,
    variants: VariantsOption = 8,
    tests: TestsOption = 5,
    rule: RuleOption = "codet",
    rewrite: RewriteOption = False,
    predicted_stages: PredictedStagesOption = None,
    prompt_tokens: PromptTokensOption = 6000,
    seed: Annotated[
        int, typer.Option(help="Seed of the examples' choice, and of what each sample's own seed is drawn from.")
    ] = 0,
    concurrency: Annotated[int, typer.Option(min=1, help="Requests at once.")] = 4,
    reasoning: ReasoningOption = False,
    stream: StreamOption = False,
    request_timeout: RequestTimeoutOption = 300.0,
    retries: RetriesOption = 6,
    max_requests: MaxRequestsOption = None,
    max_tokens_total: MaxTokensTotalOption = None,
    max_cost: MaxCostOption = None,
    prices: PricesOption = None,
    canary: CanaryOption = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the embedded model; 0 takes any free one.")] = 0,
    workers: SeatsOption = None,
    executor: ExecutorOption = "local",
    ray_address: RayAddressOption = None,
    mode: ModeOption = "auto",
    pool_memory: PoolMemoryOption = 6144,
    sandbox: SandboxOption = "auto",
    timeout: TimeoutOption = 60.0,
    memory: MemoryOption = 4096,
) -> None:
    """Ask a model for the chosen instances, judge its answers, and print pass@1 overall and by label."""
    from dlbench import __version__
    from dlbench.agreement.requests import RequestOptions
    from dlbench.cli.engine import Where, check_mode, make_engine, prepare_projects
    from dlbench.cli.output import counted, log
    from dlbench.cli.report import judge_into, show_scores
    from dlbench.generation import Limits, generate
    from dlbench.generation.sources import Sources, make_asker
    from dlbench.runs import SAMPLES, open_run
    from dlbench.runs.samples import read_samples

    benchmark, instances = chosen.benchmark, chosen.instances
    check_mode(mode)
    opening = Opening(base_url, api_key, model_command, request_timeout, stream, reasoning, concurrency, port)
    names = opening.names(model)
    if technique != DUAL:
        for_dual = {
            "variants": (variants, 8),
            "tests": (tests, 5),
            "rule": (rule, "codet"),
            "rewrite": (rewrite, False),
        }
        _refuse_unused(technique, [name for name, (value, usual) in for_dual.items() if value != usual])
    engine = make_engine(sandbox, timeout, memory, Where(executor, ray_address, workers))
    sources = Sources(benchmark, log)
    dual = (
        DualAgreement(variants, tests, rule, rewrite, workers or CORES, mode, pool_memory)
        if technique == DUAL
        else None
    )
    if dual is not None:
        dual.check(samples)
    plain = technique if dual is None else "zero-shot"
    asker = make_asker(sources, plain, shots, seed, prompt_tokens, canary=canary, stages=predicted_stages)
    prepare_projects(benchmark, instances)
    _put_together(asker, instances, shots)
    limits = Limits(max_requests, max_tokens_total, max_cost)
    folders = [out if len(names) == 1 else out / name.replace("/", "_") for name in names]
    for name, folder in zip(names, folders, strict=True):
        asked = opening.open(name, sources)
        budget = make_budget(asked, name, limits, prices)
        config = {
            "dlbench": __version__,
            "benchmark": str(benchmark.version),
            "model": asked.name if name != "embedded" else name,
            "technique": technique,
            "shots": shots if asker.technique.wants_shots else 0,
            "predicted_stages": _hash(predicted_stages) if predicted_stages else None,
            "prompt_tokens": prompt_tokens,
            "samples": samples,
            **tell_sampling(asked, temperature, max_tokens),
            "seed": seed,
            "timeout": timeout,
            "memory": memory,
            "canary": canary,
            "instances": [instance.id for instance in instances],
        }
        if dual is not None:
            config |= dual.describe()
        open_run(folder, config)
        if dual is not None:
            dual.ask_and_choose(
                RunSetup(benchmark, instances, sources, engine, folder, seed),
                ModelSetup(opening, name, asked, budget, concurrency, retries),
                RequestOptions(tests, temperature, max_tokens, seed, prompt_tokens, benchmark.canary if canary else ""),
            )
        else:
            with counted(f"asking {asked.name}", len(instances) * samples) as advance:
                generate(
                    asked,
                    instances,
                    lambda instance, sample: asker.request(instance, sample, temperature, max_tokens, seed),
                    folder / SAMPLES,
                    samples,
                    concurrency,
                    lambda record: advance(f"{record['instance']} ({record['finish_reason']})"),
                    budget=budget,
                    retries=retries,
                    log=log,
                )
        given = read_samples(folder / SAMPLES, benchmark)
        judge_into(benchmark, given, folder, engine, workers or CORES, mode, pool_memory)
    show_scores(folders, out / "report.md", benchmark)
    if dual is not None:
        dual.show_gain(benchmark, folders)


def _refuse_unused(technique: str, given: list[str]) -> None:
    """Options that this technique does not look at."""
    if given:
        told, fix = ", ".join(f"--{name}" for name in given), f"leave it out, or say --technique {DUAL}"
        raise DLBenchError(f"{technique} makes no use of {told}", where=f"--{given[0]}", fix=fix)


def _hash(path: Path) -> str:
    import hashlib

    return hashlib.sha256(path.read_bytes()).hexdigest()


def _put_together(asker: "PromptBuilder", instances: "list[Instance]", shots: int) -> None:
    """All prompts before the first request: what is wrong with one is found before anything is paid for."""
    from dlbench.cli.output import log
    from dlbench.generation.techniques.build import describe_shortage

    shortage = describe_shortage([asker.ask(instance) for instance in instances], shots)
    if shortage:
        log(shortage)


@command("prompt")
def prompt(
    instance: Annotated[str, typer.Argument(help="Id of an instance.")],
    benchmark: BenchmarkOption = None,
    technique: ShownTechniqueOption = "zero-shot",
    shots: ShotsOption = 3,
    predicted_stages: PredictedStagesOption = None,
    prompt_tokens: PromptTokensOption = 6000,
    seed: Annotated[int, typer.Option(help="Seed of the examples' choice, as given to `run`.")] = 0,
    canary: CanaryOption = False,
) -> None:
    """Show exactly what a model would be asked, in all turns."""
    from dlbench.cli.output import log
    from dlbench.dataset import load
    from dlbench.generation.sources import Sources, make_asker
    from dlbench.registry import find_known

    if technique == DUAL:
        fix = f"`dlbench agree mutate {instance}` shows its wordings, each of which is asked as zero-shot"
        raise DLBenchError(f"{DUAL} asks in many wordings, and has no one prompt", where="--technique", fix=fix)
    loaded = load(benchmark)
    sources = Sources(loaded, log)
    asker = make_asker(sources, technique, shots, seed, prompt_tokens, canary=canary, stages=predicted_stages)
    asked = asker.ask(find_known(instance, loaded.instances, "instance"))
    for number, turn in enumerate(asked.turns):
        if number:
            typer.echo(f"--- assistant\n(the model's answer to turn {number})\n")
        for message in turn:
            typer.echo(f"--- {message['role']}\n{message['content']}\n")
    for name, value in asked.notes.items():
        log(f"{name}: {value}")
