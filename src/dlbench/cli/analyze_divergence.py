"""The command that studies how far datasets lie from one another, and whether a text holds pieces of their prompts."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dlbench.cli.analyze import CorporaArgument, PicturesOption, SourcesOption, analyze, read, show, write_pictures
from dlbench.cli.app import JsonOption, command
from dlbench.cli.extras import need
from dlbench.cli.models import ApiKeyOption
from dlbench.errors import DLBenchError

if TYPE_CHECKING:
    from dlbench.analysis.corpora import Corpus
    from dlbench.analysis.divergence import Texts
    from dlbench.analysis.embeddings import Encoder

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
    from dlbench.cli.progress import say
    from dlbench.reporting import studies
    from dlbench.reporting.studies import tell_missing

    corpora = read(datasets, sources)
    if pictures is not None:
        need("sklearn", "analysis")
    shared = {corpus.name: find_shared_runs(corpus.items, text) for corpus in corpora} if text else {}
    for_prompts = open_encoder(encoder, base_url, api_key)
    prompts = [_encode(corpus, "prompt", for_prompts) for corpus in corpora]
    found = measure_distances(prompts, "prompt", for_prompts.name)
    coded = [corpus for corpus in corpora if corpus.with_code]
    notes = tell_missing(corpora)
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
        say("placing texts in a plane (t-SNE)")
        planes = {kind: place_in_plane(texts) for kind, texts in drawn.items()}
        write_pictures(pictures, studies.draw_divergence(found, planes))


def _encode(corpus: "Corpus", kind: str, encoder: "Encoder") -> "Texts":
    from dlbench.analysis.divergence import Texts
    from dlbench.analysis.embeddings import encode_all
    from dlbench.cli.progress import counted

    pairs = corpus.with_code if kind == "code" else [(item, item.prompt) for item in corpus.items]
    with counted(f"encoding {corpus.name}, {kind}", len(pairs), every=5.0) as advance:
        vectors = encode_all(encoder, [text for _, text in pairs], advance)
    return Texts(corpus.name, tuple(item.id for item, _ in pairs), vectors)


def _open_for_code(
    name: str | None, for_prompts: "Encoder", base_url: str | None, api_key: str | None
) -> "tuple[Encoder, str]":
    from dlbench.analysis.embeddings import CODEBERT, open_encoder
    from dlbench.cli.progress import say

    if name is not None:
        return (for_prompts, "") if name == for_prompts.name else (open_encoder(name, base_url, api_key), "")
    say(f"looking for {CODEBERT}")
    try:
        return open_encoder(CODEBERT), ""
    except DLBenchError:
        return for_prompts, f"code: {CODEBERT} cannot be loaded here, so code is encoded by {for_prompts.name} too"
