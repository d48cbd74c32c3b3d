"""The command that shows the variants of a prompt: each with what was changed, and what was dropped and why."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dlbench.cli.agree import agree
from dlbench.cli.app import BenchmarkOption, JsonOption, command
from dlbench.cli.models import (
    ApiKeyOption,
    BaseUrlOption,
    CommandOption,
    MaxCostOption,
    MaxRequestsOption,
    MaxTokensTotalOption,
    Opening,
    PricesOption,
    make_budget,
)

if TYPE_CHECKING:
    from dlbench.agreement.mutation import Variants
    from dlbench.dataset import Instance
    from dlbench.generation import Limits
    from dlbench.generation.sources import Sources

OperatorOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Only this operator (repeatable): verbs, synonyms, upper-case, typos, passive, questions, declarative, "
        "reorder, rephrase, name-descriptive, name-neutral, name-misleading or parameter-names."
    ),
]


@command("mutate", agree)
def mutate(
    instance: Annotated[str, typer.Argument(help="Id of an instance.")],
    operator: OperatorOption = None,
    count: Annotated[int, typer.Option(min=1, help="Variants at most, the original among them.")] = 8,
    seed: Annotated[int, typer.Option(help="Of the operators' order and of all they draw.")] = 0,
    model: Annotated[
        str | None, typer.Option(help="As for `run`; asked where no rule helps. None is asked by default.")
    ] = None,
    model_command: CommandOption = None,
    base_url: BaseUrlOption = None,
    api_key: ApiKeyOption = None,
    max_requests: MaxRequestsOption = None,
    max_tokens_total: MaxTokensTotalOption = None,
    max_cost: MaxCostOption = None,
    prices: PricesOption = None,
    benchmark: BenchmarkOption = None,
    json: JsonOption = False,
) -> None:
    """Show the variants of an instance's prompt, what each changes, and what was dropped and why."""
    from dlbench.dataset import find_known, load
    from dlbench.generation import Limits
    from dlbench.generation.sources import Sources

    loaded = load(benchmark)
    found = find_known(instance, loaded.instances, "instance")
    asked = model or (Opening(command=model_command).names(None)[0] if model_command else None)
    opening = Opening(base_url, api_key, model_command, concurrency=1)
    limits = Limits(max_requests, max_tokens_total, max_cost)
    making = _make(found, Sources(loaded), operator or [], count, seed, asked, opening, limits, prices)
    variants = asyncio.run(making)
    if json:
        from dlbench.cli.printing import print_json

        print_json(variants)
        return
    _show(variants)


async def _make(
    instance: "Instance",
    sources: "Sources",
    operators: list[str],
    count: int,
    seed: int,
    name: str | None,
    opening: Opening,
    limits: "Limits",
    prices: Path | None,
) -> "Variants":
    from dlbench.agreement.mutation import find_operators, gather_variants
    from dlbench.cli.progress import say
    from dlbench.generation import RateLimiter

    find_operators(operators)  # before a model is started
    source = sources.module(instance)
    if name is None:
        return await gather_variants(instance, operators=operators, count=count, seed=seed, source=source)
    model = opening.open(name, sources)
    try:
        gate = RateLimiter(model, budget=make_budget(model, name, limits, prices), say=say)
        say(f"{model.name} is asked where no rule helps")
        return await gather_variants(instance, operators=operators, count=count, seed=seed, gate=gate, source=source)
    finally:
        await model.close()


def _show(variants: "Variants") -> None:
    from dlbench.agreement.mutation import show_difference

    original, *others = variants.kept
    typer.echo(f"--- 0 {original.operator}: {original.function}\n{original.task}\n")
    for variant in others:
        names = "".join(f", {own} as {shown}" for own, shown in variant.parameters.items())
        typer.echo(f"--- {variant.index} {variant.operator}: {variant.function}{names}")
        typer.echo(f"{show_difference(original.task, variant.task)}\n")
    for dropped in variants.dropped:
        typer.echo(f"dropped: {dropped.operator}: {dropped.reason}")
    typer.echo(f"{len(variants.kept)} variants, {len(variants.dropped)} dropped; closeness by {variants.measure}")
