"""What is in the dataset? The same page without runs: every instance with its prompt, tests, labels and measures."""

from collections import Counter
from collections.abc import Mapping, Sequence

from dlbench import __version__
from dlbench.dataset import AXES, Benchmark, Instance
from dlbench.dataset.statistics import describe
from dlbench.reporting.card import find_distributions
from dlbench.reporting.difficulty import LEVELS
from dlbench.reporting.page import markup
from dlbench.reporting.page.assemble import assemble, pack
from dlbench.reporting.page.facets import find_facets
from dlbench.reporting.page.records import ReadModule, describe_instance, read_reference
from dlbench.reporting.page.views import SHORT, word
from dlbench.reporting.pictures import draw_counts
from dlbench.scoring import Tally


def write_browser(
    benchmark: Benchmark,
    instances: Sequence[Instance],
    read_module: ReadModule,
    runs: Sequence[Mapping[str, Tally]] = (),
    *,
    public: bool = False,
) -> str:
    """`runs`: tallies of runs that tell how hard an instance is; guessed from its size without any."""
    records = [describe_instance(one, benchmark, runs) for one in instances]
    bundles = []
    for one in instances:
        module = None if public else read_module(one)
        bundles.append(pack({"tests": list(one.tests), **read_reference(one, module, public=public)}))
    index = {
        "kind": "browse",
        "runs": [],
        "statuses": [],
        "facets": find_facets(records),
        "guessed": not runs,
        "names": SHORT,
        "instances": records,
    }
    projects = len({one.project for one in instances})
    about = f"{len(instances)} instances of {projects} projects, benchmark {benchmark.version}, dlbench {__version__}"
    found = Counter(record["difficulty"] for record in records)
    overview = _draw_dataset(benchmark, instances, {level: found[level] for level in LEVELS if found[level]})
    return assemble("DL-Bench dataset", about, overview, {"index": pack(index), "bundles": bundles})


def _draw_dataset(benchmark: Benchmark, instances: Sequence[Instance], difficulty: Mapping[str, int]) -> str:
    counts = find_distributions(instances, describe(benchmark, instances)) | {"difficulty": dict(difficulty)}
    figures = [
        markup.figure(
            draw_counts(f"Instances by {name}", {_name(name, key): n for key, n in found.items()}), f"By {name}"
        )
        for name, found in counts.items()
    ]
    return markup.section("counts", "What there is", markup.gallery(*figures))


def _name(axis: str, key: str) -> str:
    return word(key) if axis in AXES else key
