"""The `analyze` commands on datasets, scores and passing candidates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dlbench.cli.app import (
    Chosen,
    JsonOption,
    MemoryOption,
    SandboxOption,
    TimeoutOption,
    WorkerOptions,
    add_group,
    command,
    need,
)
from dlbench.cli.engine import make_engine, prepare_projects
from dlbench.cli.models import ApiKeyOption
from dlbench.cli.output import counted, log, open_console, print_json
from dlbench.cli.report import read_compared_runs
from dlbench.errors import DLBenchError
from dlbench.jsonl import Journal, write_whole
from dlbench.runs import SAMPLES, Run, make_folder, read_run

if TYPE_CHECKING:
    from dlbench.analysis.corpora import Corpus
    from dlbench.analysis.divergence import Texts
    from dlbench.analysis.embeddings import Encoder
    from dlbench.analysis.measurements import MeasureStore, PassingCandidates
    from dlbench.execution import Engine
    from dlbench.reporting.tables import Tabled

analyze = add_group("analyze", "Study datasets, scores and failures: docs/studies.md.")

CorporaArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[DATASET]...",
        help="`ours`, a benchmark folder, a folder of official DL-Bench files, DS-1000's JSONL; or NAME=PATH.",
    ),
]
SourcesOption = Annotated[
    Path | None,
    typer.Option(help="Folder with one source tree per project, to find references of datasets without code."),
]
PlotsOption = Annotated[Path | None, typer.Option(help="Also write plots to this folder (SVG).")]


@dataclass(frozen=True)
class StudyOutput:
    """How a study shows its result."""

    plots: PlotsOption = None
    json: JsonOption = False

    def show(
        self,
        tables: "Mapping[str, Tabled]",
        notes: Sequence[str] = (),
        record: object = None,
        drawn: Mapping[str, str] | None = None,
    ) -> None:
        """Print tables and notes, or the record alone as JSON; write the plots if they are wanted."""
        from dlbench.reporting.tables import draw

        if self.json:
            print_json(record)
        else:
            for title, table in tables.items():
                open_console().print(draw(title, table))
            for line in notes:
                typer.echo(line)
        if drawn is not None:
            self.write(drawn)

    def write(self, drawn: Mapping[str, str]) -> None:
        if self.plots is None:
            return
        make_folder(self.plots)
        for name, plot in drawn.items():
            write_whole(self.plots / f"{name}.svg", plot)
        log(f"written: {', '.join(str(self.plots / f'{name}.svg') for name in drawn)}")


def read(datasets: list[str] | None, sources: Path | None, *, with_code: bool = True) -> "list[Corpus]":
    from dlbench.analysis.corpora import OURS, read_corpora

    return read_corpora(datasets or [OURS], sources=sources, with_code=with_code, log=log)


@command("complexity", analyze)
def complexity(output: StudyOutput, datasets: CorporaArgument = None, sources: SourcesOption = None) -> None:
    """Measure the references of datasets: lines, cyclomatic and cognitive complexity, nesting, calls."""
    from dlbench.analysis.complexity import measure_complexity
    from dlbench.reporting.studies import describe_complexity, draw_complexity, tabulate_complexity

    corpora = read(datasets, sources)
    with counted("measuring", sum(len(corpus.with_code) for corpus in corpora), every=2.0) as advance:
        found = [measure_complexity(corpus, advance) for corpus in corpora]
    output.show({"complexity": tabulate_complexity(found)}, describe_complexity(found), found, draw_complexity(found))


@command("relevance", analyze)
def relevance(output: StudyOutput, datasets: CorporaArgument = None, sources: SourcesOption = None) -> None:
    """Measure DL relevance: the share of words in prompts and code that contain a deep-learning keyword."""
    from dlbench.analysis.relevance import measure_relevance
    from dlbench.reporting.studies import describe_missing, draw_relevance, tabulate_categories, tabulate_relevance

    corpora = read(datasets, sources)
    found = [one for corpus in corpora for one in measure_relevance(corpus)]
    tables = {
        "DL-relevance: share of distinct words": tabulate_relevance(found),
        "words by kind of keyword": tabulate_categories(found),
    }
    output.show(tables, describe_missing(corpora), found, draw_relevance(found))


@command("statistics", analyze)
def statistics(
    output: StudyOutput,
    scores: Annotated[Path, typer.Argument(help="CSV: header `model,benchmark,…`, then one model per line.")],
) -> None:
    """Compare benchmarks over the same models: Cohen's d, Fisher's ratio, Spearman's rho, Kendall's tau."""
    from dlbench.analysis.rankings import compare_all, read_scores
    from dlbench.reporting.studies import draw_benchmarks, tabulate_benchmarks

    table = read_scores(scores)
    found = compare_all(table)
    output.show({"benchmarks": tabulate_benchmarks(found)}, [], found, draw_benchmarks(table))


@command("robustness", analyze)
def robustness(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, two or more.")],
    output: StudyOutput,
    chosen: Chosen,
    other_split: Annotated[
        list[str] | None, typer.Option(help="Also rank on this split (repeatable); on all splits by default.")
    ] = None,
) -> None:
    """Check whether the ranking of runs holds on resampled instances, without one project or label, on other splits."""
    from dlbench.analysis.rankings import measure_robustness
    from dlbench.dataset.tracks import has_functions
    from dlbench.reporting import studies

    sides = read_compared_runs(runs, chosen)
    if not has_functions(sides.benchmark):
        raise DLBenchError(
            f"it is measured on functions only, these are runs on {sides.benchmark.track}", fix="use `dlbench compare`"
        )
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
        "with a harness error": len(found.harness_errors),
        "outside the selection": sides.outside,
    }
    notes = [*sides.warnings, f"on the {len(found.instances)} instances that every run has judged"]
    if len(found.pairs) > studies.MOST_PAIRS:
        notes.append(f"the {studies.MOST_PAIRS} least certain of {len(found.pairs)} pairs; --json has them all")
    notes += [f"LEFT OUT: {count} instances {why}" for why, count in left_out.items() if count]
    output.show(tables, notes, found, studies.draw_robustness(found))


@command("divergence", analyze)
def divergence(
    output: StudyOutput,
    datasets: CorporaArgument = None,
    sources: SourcesOption = None,
    encoder: Annotated[
        str,
        typer.Option(help="`minilm`, a sentence-transformers model by folder or name, or an endpoint's (`openai/…`)."),
    ] = "minilm",
    code_encoder: Annotated[
        str | None, typer.Option(help="For code: CodeBERT by default, --encoder if that cannot be loaded.")
    ] = None,
    base_url: Annotated[str | None, typer.Option(help="Address of an OpenAI-compatible endpoint.")] = None,
    api_key: ApiKeyOption = None,
    text: Annotated[
        Path | None, typer.Option(help="Also find the longest runs of tokens that prompts share with this text.")
    ] = None,
) -> None:
    """Measure how similar datasets are: mean cosine of prompts and of code, nearest pairs, near-duplicates."""
    from dlbench.analysis.divergence import find_shared_runs, measure_distances, project_to_plane
    from dlbench.analysis.embeddings import open_encoder
    from dlbench.reporting import studies

    corpora = read(datasets, sources)
    if output.plots is not None:
        need("sklearn", "analysis")
    shared = {corpus.name: find_shared_runs(corpus.items, text) for corpus in corpora} if text else {}
    for_prompts = open_encoder(encoder, base_url, api_key)
    encoded = {"prompt": [_encode(corpus, "prompt", for_prompts) for corpus in corpora]}
    found = measure_distances(encoded["prompt"], "prompt", for_prompts.name)
    notes = studies.describe_missing(corpora)
    if with_code := [corpus for corpus in corpora if corpus.with_code]:
        for_code, note = _open_code_encoder(code_encoder, for_prompts, base_url, api_key)
        notes += [note] if note else []
        encoded["code"] = [_encode(corpus, "code", for_code) for corpus in with_code]
        found += measure_distances(encoded["code"], "code", for_code.name)
    tables = {
        "divergence: mean cosine": studies.tabulate_distances(found),
        "nearest pairs": studies.tabulate_closest(found),
    }
    if shared:
        tables[f"longest runs shared with {text}"] = studies.tabulate_shared(shared)
    output.show(tables, notes, {"distances": found, "shared": shared})
    if output.plots is not None:
        log("projecting texts to a plane (t-SNE)")
        planes = {kind: project_to_plane(texts) for kind, texts in encoded.items()}
        output.write(studies.draw_divergence(found, planes))


def _encode(corpus: "Corpus", kind: str, encoder: "Encoder") -> "Texts":
    from dlbench.analysis.divergence import Texts
    from dlbench.analysis.embeddings import encode_all

    pairs = corpus.with_code if kind == "code" else [(item, item.prompt) for item in corpus.items]
    with counted(f"encoding {corpus.name}, {kind}", len(pairs), every=5.0) as advance:
        vectors = encode_all(encoder, [text for _, text in pairs], advance)
    return Texts(corpus.name, tuple(item.id for item, _ in pairs), vectors)


def _open_code_encoder(
    name: str | None, for_prompts: "Encoder", base_url: str | None, api_key: str | None
) -> "tuple[Encoder, str]":
    from dlbench.analysis.embeddings import CODEBERT, open_encoder

    if name is not None:
        return (for_prompts, "") if name == for_prompts.name else (open_encoder(name, base_url, api_key), "")
    log(f"loading {CODEBERT}")
    try:
        return open_encoder(CODEBERT), ""
    except DLBenchError:
        return for_prompts, f"code: {CODEBERT} cannot be loaded here; {for_prompts.name} encodes code, too"


@command("efficiency", analyze)
def efficiency(
    runs: Annotated[list[Path], typer.Argument(help="Run folders; measurements go to efficiency.jsonl there.")],
    output: StudyOutput,
    chosen: Chosen,
    repeats: Annotated[int, typer.Option(min=3, help="Rounds: runs of each candidate next to its reference.")] = 9,
    seed: Annotated[int, typer.Option(help="Seed of the order within a round.")] = 0,
    measure: Annotated[
        bool, typer.Option("--run/--no-run", help="Measure what is missing, or show only what is stored.")
    ] = True,
    sandbox: SandboxOption = "auto",
    timeout: TimeoutOption = 60.0,
    memory: MemoryOption = 4096,
) -> None:
    """Compare passing candidates with the reference: time and memory of the tests, length and complexity."""
    from dlbench.analysis.complexity import check_tools
    from dlbench.analysis.efficiency import summarise
    from dlbench.analysis.measurements import EFFICIENCY, MeasureStore
    from dlbench.reporting import name_runs
    from dlbench.reporting.studies import candidates as study

    check_tools()
    named = name_runs([read_run(folder) for folder in runs])
    passing = {name: _find_passing(run, chosen) for name, run in named.items()}
    if not any(passing.values()):
        what = "no candidate among the chosen instances passes, so there is nothing to measure"
        raise DLBenchError(what, where=str(runs[0]), fix="give a run that solves something, or choose other instances")
    engine = make_engine(WorkerOptions(sandbox=sandbox), timeout, memory) if measure else None
    found = []
    for name, run in named.items():
        path, given_up = run.folder / EFFICIENCY, dict[str, str]()
        if engine is None or not passing[name]:
            store = MeasureStore(path)
        else:
            store, given_up = _measure(path, passing[name], chosen, engine, repeats, seed)
        found.append(summarise(name, passing[name], store, given_up))
    tables = {
        "time and peak memory of the tests, beside the reference": study.tabulate_costs(found),
        "maintainability of the code, beside the reference": study.tabulate_code(found),
    }
    outstanding = study.tabulate_outstanding(found)
    if outstanding[1]:
        tables["candidates beyond the noise"] = outstanding
    output.show(tables, study.describe_costs(found), found, study.draw_efficiency(found))


def _find_passing(run: "Run", chosen: Chosen) -> "list[PassingCandidates]":
    from dlbench.analysis.measurements import find_passing
    from dlbench.runs.samples import read_samples

    path = run.folder / SAMPLES
    if not path.is_file():
        fix = "give a folder that `run` or `evaluate` wrote, with the samples in it"
        raise DLBenchError("there are no samples here", where=str(run.folder), fix=fix)
    return find_passing(run.verdicts, read_samples(path, chosen.benchmark), chosen.instances)


def _measure(
    path: Path, passing: "list[PassingCandidates]", chosen: Chosen, engine: "Engine", repeats: int, seed: int
) -> "tuple[MeasureStore, dict[str, str]]":
    """All measurements, and by instance why it was given up."""
    from dlbench.analysis import measurements as measure

    with Journal(path) as journal:
        store = measure.MeasureStore(path, journal)
        missing = {one.instance.id: max(store.count_missing(one, repeats).values(), default=0) for one in passing}
        jobs, unmeasured = [one for one in passing if missing[one.instance.id]], measure.list_unmeasured(passing, store)
        prepared = prepare_projects(chosen.benchmark, [one.instance for one in (*jobs, *unmeasured)])
        measure.measure_code_of(unmeasured, prepared, store)
        if not jobs:
            log(f"{path}: everything is measured already")
            return store, {}
        with counted("rounds", sum(missing.values()), every=2.0) as advance:
            return store, measure.measure_all(engine, prepared, jobs, store, advance, repeats=repeats, seed=seed)
