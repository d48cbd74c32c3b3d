"""The commands that study datasets: complexity and relevance. Those that study scores stand in `analyze_scores`.

The commands that study scores: how benchmarks stand to one another, and whether a ranking holds.

The command that studies how far datasets lie from one another, and whether a text holds pieces of their prompts.

The command that studies what right answers cost: time, memory and upkeep, beside the reference.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dlbench.cli.app import Chosen, JsonOption, MemoryOption, SandboxOption, TimeoutOption, app, command, need
from dlbench.cli.models import ApiKeyOption
from dlbench.cli.output import counted, log
from dlbench.cli.report import read_compared_runs
from dlbench.errors import DLBenchError

if TYPE_CHECKING:
    from dlbench.analysis.corpora import Corpus
    from dlbench.analysis.divergence import Texts
    from dlbench.analysis.efficiency.measure import Kept, PassingCandidate
    from dlbench.analysis.embeddings import Encoder
    from dlbench.execution import Engine
    from dlbench.reporting.tables import Tabled
    from dlbench.runs import Run


analyze = typer.Typer(
    help="What the data, the scores and the failures say: docs/studies.md.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(analyze, name="analyze")

CorporaArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[DATASET]...",
        help="`ours`, a benchmark's folder, a folder of official DL-Bench files, DS-1000's JSONL; or NAME=PATH.",
    ),
]
SourcesOption = Annotated[
    Path | None,
    typer.Option(help="Folder with a source tree a project, to find references of datasets that hold no code."),
]
PicturesOption = Annotated[Path | None, typer.Option(help="Also draw it into this folder (SVG).")]


@command("complexity", analyze)
def complexity(
    datasets: CorporaArgument = None,
    sources: SourcesOption = None,
    pictures: PicturesOption = None,
    json: JsonOption = False,
) -> None:
    """How long and how tangled are the references? Lines, cyclomatic, cognitive, nesting, calls."""
    from dlbench.analysis.complexity import measure_complexity
    from dlbench.cli.output import counted
    from dlbench.reporting.studies import describe_complexity, draw_complexity, tabulate_complexity

    corpora = read(datasets, sources)
    with counted("measuring", sum(len(corpus.with_code) for corpus in corpora), every=2.0) as advance:
        found = [measure_complexity(corpus, advance) for corpus in corpora]
    show({"complexity": tabulate_complexity(found)}, describe_complexity(found), found if json else None)
    write_pictures(pictures, draw_complexity(found))


@command("relevance", analyze)
def relevance(
    datasets: CorporaArgument = None,
    sources: SourcesOption = None,
    pictures: PicturesOption = None,
    json: JsonOption = False,
) -> None:
    """How much of prompts and of code speaks of deep learning? The share of words that contain a keyword."""
    from dlbench.analysis.relevance import measure_relevance
    from dlbench.reporting.studies import describe_missing, draw_relevance, tabulate_categories, tabulate_relevance

    corpora = read(datasets, sources)
    found = [one for corpus in corpora for one in measure_relevance(corpus)]
    tables = {
        "DL-relevance: share of distinct words": tabulate_relevance(found),
        "words by kind of keyword": tabulate_categories(found),
    }
    show(tables, describe_missing(corpora), found if json else None)
    write_pictures(pictures, draw_relevance(found))


def show(tables: "Mapping[str, Tabled]", notes: Sequence[str], record: object = None) -> None:
    """Tables and what has to be known about them; or, for programs, the record alone."""
    from dlbench.cli.output import open_console, print_json
    from dlbench.reporting.tables import draw

    if record is not None:
        print_json(record)
        return
    for title, table in tables.items():
        open_console().print(draw(title, table))
    for line in notes:
        typer.echo(line)


def write_pictures(folder: Path | None, pictures: Mapping[str, str]) -> None:
    from dlbench.cli.output import log
    from dlbench.jsonl import write_whole
    from dlbench.runs import make_folder

    if folder is None:
        return
    make_folder(folder)
    for name, picture in pictures.items():
        write_whole(folder / f"{name}.svg", picture)
    log(f"drawn: {', '.join(str(folder / f'{name}.svg') for name in pictures)}")


def read(datasets: list[str] | None, sources: Path | None, *, want_code: bool = True) -> "list[Corpus]":
    from dlbench.analysis.corpora import OURS, read_corpora
    from dlbench.cli.output import log

    return read_corpora(datasets or [OURS], sources=sources, want_code=want_code, log=log)


@command("statistics", analyze)
def statistics(
    scores: Annotated[Path, typer.Argument(help="CSV: a first line `model,benchmark,…`, then a model a line.")],
    pictures: PicturesOption = None,
    json: JsonOption = False,
) -> None:
    """How do benchmarks stand to one another over the same models? Cohen's d, Fisher's ratio, Spearman, Kendall."""
    from dlbench.analysis.benchmark_correlation import read_scores, set_side_by_side
    from dlbench.reporting.studies import draw_benchmarks, tabulate_benchmarks

    read = read_scores(scores)
    found = set_side_by_side(read)
    show({"benchmarks": tabulate_benchmarks(found)}, [], found if json else None)
    write_pictures(pictures, draw_benchmarks(read))


@command("robustness", analyze)
def robustness(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, two or more.")],
    chosen: Chosen,
    other_split: Annotated[
        list[str] | None, typer.Option(help="Also rank on this split (repeatable); on all of them by default.")
    ] = None,
    pictures: PicturesOption = None,
    json: JsonOption = False,
) -> None:
    """Does the order of models hold with other instances, without one project or label, and on another split?"""
    from dlbench.analysis.ranking_robustness import measure_robustness
    from dlbench.reporting import studies

    sides = read_compared_runs(runs, chosen)
    found = measure_robustness(sides.tallies, chosen.benchmark, other_split)
    tables = {
        "the order": studies.tabulate_order(found),
        "pairs, when instances are drawn anew": studies.tabulate_pairs(found),
        "the whole order, when drawn anew": studies.tabulate_resampled(found),
        "the order without one project or label": studies.tabulate_parts(found.left_out),
    }
    if found.splits:
        tables["the order on a split"] = studies.tabulate_parts(found.splits)
    left_out = {
        "that not every run has judged": len(found.not_common),
        "that met a harness error, our own fault": len(found.harness_errors),
        "outside the choice": sides.outside,
    }
    notes = [*sides.warnings, f"all of it on the {len(found.instances)} instances that every run has judged"]
    if len(found.pairs) > studies.MOST_PAIRS:
        notes.append(f"the {studies.MOST_PAIRS} least sure of {len(found.pairs)} pairs are shown; --json has them all")
    notes += [f"LEFT OUT: {count} instances {why}" for why, count in left_out.items() if count]
    show(tables, notes, found if json else None)
    write_pictures(pictures, studies.draw_robustness(found))


EncoderOption = Annotated[
    str,
    typer.Option(help="`minilm`, a sentence-transformers model by folder or name, or an endpoint's (`openai/…`)."),
]
BaseUrlOption = Annotated[
    str | None, typer.Option(help="Address of an OpenAI-compatible endpoint that has the encoder.")
]


@command("divergence", analyze)
def divergence(
    datasets: CorporaArgument = None,
    sources: SourcesOption = None,
    encoder: EncoderOption = "minilm",
    code_encoder: Annotated[
        str | None, typer.Option(help="For code: CodeBERT by default, or --encoder where it cannot be loaded.")
    ] = None,
    base_url: BaseUrlOption = None,
    api_key: ApiKeyOption = None,
    text: Annotated[
        Path | None, typer.Option(help="Also find the longest runs of tokens that prompts share with this text.")
    ] = None,
    pictures: PicturesOption = None,
    json: JsonOption = False,
) -> None:
    """How far are datasets from one another? Mean cosine of prompts and of code, nearest pairs, near-duplicates."""
    from dlbench.analysis.contamination import find_shared_runs
    from dlbench.analysis.divergence import measure_distances, place_in_plane
    from dlbench.analysis.embeddings import open_encoder
    from dlbench.cli.output import log
    from dlbench.reporting import studies
    from dlbench.reporting.studies import describe_missing

    corpora = read(datasets, sources)
    if pictures is not None:
        need("sklearn", "analysis")
    shared = {corpus.name: find_shared_runs(corpus.items, text) for corpus in corpora} if text else {}
    for_prompts = open_encoder(encoder, base_url, api_key)
    prompts = [_encode(corpus, "prompt", for_prompts) for corpus in corpora]
    found = measure_distances(prompts, "prompt", for_prompts.name)
    coded = [corpus for corpus in corpora if corpus.with_code]
    notes = describe_missing(corpora)
    drawn = {"prompt": prompts}
    if coded:
        for_code, note = _open_for_code(code_encoder, for_prompts, base_url, api_key)
        notes += [note] if note else []
        drawn["code"] = [_encode(corpus, "code", for_code) for corpus in coded]
        found += measure_distances(drawn["code"], "code", for_code.name)
    tables = {
        "divergence: mean cosine": studies.tabulate_distances(found),
        "nearest pairs": studies.tabulate_closest(found),
    }
    if shared:
        tables[f"longest runs shared with {text}"] = studies.tabulate_shared(shared)
    show(tables, notes, {"distances": found, "shared": shared} if json else None)
    if pictures is not None:
        log("placing texts in a plane (t-SNE)")
        planes = {kind: place_in_plane(texts) for kind, texts in drawn.items()}
        write_pictures(pictures, studies.draw_divergence(found, planes))


def _encode(corpus: "Corpus", kind: str, encoder: "Encoder") -> "Texts":
    from dlbench.analysis.divergence import Texts
    from dlbench.analysis.embeddings import encode_all
    from dlbench.cli.output import counted

    pairs = corpus.with_code if kind == "code" else [(item, item.prompt) for item in corpus.items]
    with counted(f"encoding {corpus.name}, {kind}", len(pairs), every=5.0) as advance:
        vectors = encode_all(encoder, [text for _, text in pairs], advance)
    return Texts(corpus.name, tuple(item.id for item, _ in pairs), vectors)


def _open_for_code(
    name: str | None, for_prompts: "Encoder", base_url: str | None, api_key: str | None
) -> "tuple[Encoder, str]":
    from dlbench.analysis.embeddings import CODEBERT, open_encoder
    from dlbench.cli.output import log

    if name is not None:
        return (for_prompts, "") if name == for_prompts.name else (open_encoder(name, base_url, api_key), "")
    log(f"looking for {CODEBERT}")
    try:
        return open_encoder(CODEBERT), ""
    except DLBenchError:
        return for_prompts, f"code: {CODEBERT} cannot be loaded here, so code is encoded by {for_prompts.name} too"


@command("efficiency", analyze)
def efficiency(
    runs: Annotated[list[Path], typer.Argument(help="Run folders; measures are kept there, in efficiency.jsonl.")],
    chosen: Chosen,
    repeats: Annotated[int, typer.Option(min=3, help="Rounds: runs of each candidate beside its reference.")] = 9,
    seed: Annotated[int, typer.Option(help="Seed of the order within a round.")] = 0,
    measure: Annotated[
        bool, typer.Option("--run/--no-run", help="Measure what is missing, or show only what was measured before.")
    ] = True,
    sandbox: SandboxOption = "auto",
    timeout: TimeoutOption = 60.0,
    memory: MemoryOption = 4096,
    pictures: PicturesOption = None,
    json: JsonOption = False,
) -> None:
    """What do right answers cost beside the reference: time and memory of the tests, length and complexity?"""
    from dlbench.analysis.complexity import check_tools
    from dlbench.analysis.efficiency.measure import EFFICIENCY, read_kept
    from dlbench.analysis.efficiency.summary import summarise
    from dlbench.cli.engine import make_engine
    from dlbench.reporting import name_runs
    from dlbench.reporting.studies import efficiency as showing
    from dlbench.runs import read_run

    check_tools()
    named = name_runs([read_run(folder) for folder in runs])
    passing = {name: _find(run, chosen) for name, run in named.items()}
    if not any(passing.values()):
        what = "no candidate among the chosen instances passes, so there is nothing to measure"
        raise DLBenchError(what, where=str(runs[0]), fix="give a run that solves something, or choose other instances")
    engine = make_engine(sandbox, timeout, memory) if measure else None
    found = []
    for name, run in named.items():
        path = run.folder / EFFICIENCY
        if engine is None or not passing[name]:
            kept, given_up = read_kept(path), dict[str, str]()
        else:
            kept, given_up = _measure(path, passing[name], chosen, engine, repeats, seed)
        found.append(summarise(name, passing[name], kept, given_up))
    tables = {
        "time and peak memory of the tests, beside the reference": showing.tabulate_costs(found),
        "upkeep of the code, beside the reference": showing.tabulate_upkeep(found),
    }
    outstanding = showing.tabulate_outstanding(found)
    if outstanding[1]:
        tables["candidates beyond the noise"] = outstanding
    show(tables, showing.tell_costs(found), found if json else None)
    write_pictures(pictures, showing.draw_efficiency(found))


def _find(run: "Run", chosen: Chosen) -> "list[PassingCandidate]":
    from dlbench.analysis.efficiency.measure import find_passing
    from dlbench.runs import SAMPLES
    from dlbench.runs.samples import read_samples

    path = run.folder / SAMPLES
    if not path.is_file():
        fix = "give a folder that `run` or `evaluate` wrote, with the answers in it"
        raise DLBenchError("there are no samples here", where=str(run.folder), fix=fix)
    return find_passing(run.verdicts, read_samples(path, chosen.benchmark), chosen.instances)


def _measure(
    path: Path, passing: "list[PassingCandidate]", chosen: Chosen, engine: "Engine", repeats: int, seed: int
) -> "tuple[Kept, dict[str, str]]":
    """What is kept in the end, and by instance why one was given up."""
    from dlbench.analysis.efficiency.measure import (
        ResultCache,
        Round,
        count_missing,
        find_unread,
        measure_all,
        plan_jobs,
        read_kept,
        read_upkeep,
    )
    from dlbench.cli.engine import prepare_projects
    from dlbench.dataset import Instance
    from dlbench.jsonl import Journal

    with Journal(path) as journal:
        kept = read_kept(path)
        keeper = ResultCache(journal, kept)
        jobs, unread = plan_jobs(passing, kept, repeats), find_unread(passing, kept)
        needed = [job.instance for job in jobs] + [one.instance for one in unread]
        prepared = prepare_projects(chosen.benchmark, needed)
        read_upkeep(unread, prepared, keeper)
        if not jobs:
            log(f"{path}: everything is measured already")
            return kept, {}
        with counted("rounds", sum(count_missing(job, repeats) for job in jobs), every=2.0) as advance:

            def keep(instance: Instance, found: Round) -> None:
                keeper.keep_round(instance, found)
                advance(instance.id)

            return kept, measure_all(engine, prepared, jobs, keep, repeats=repeats, seed=seed)
