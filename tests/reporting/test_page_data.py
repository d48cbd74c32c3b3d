"""Page data: no project code on a public page, each text once, and nothing that can end its element."""

import base64
import gzip
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlbench.reporting.candidates import LONGEST, find_difficulty, informs_difficulty, is_reference, read_candidates
from dlbench.reporting.pages.render import assemble, pack
from dlbench.runs import Run, read_run
from dlbench.scoring import Tally
from tests.reporting.pages import SECRET, benchmark_of, make_world, reference

ANY_JSON = st.recursive(
    st.text() | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)


def unpack(text):
    return json.loads(gzip.decompress(base64.b64decode(text)))


class Blocks(HTMLParser):
    """What a browser takes for data and for script."""

    def __init__(self, text):
        super().__init__()
        self.found, self.name = {}, None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        if tag == "script":
            self.name = dict(attributes).get("id", "ours")

    def handle_data(self, data):
        if self.name:
            self.found[self.name] = self.found.get(self.name, "") + data

    def handle_endtag(self, tag):
        self.name = None


@pytest.fixture
def world(tmp_path):
    return make_world(tmp_path)


def bundles(page):
    return [unpack(text) for text in json.loads(Blocks(page).found["bundles"])]


@settings(max_examples=30)
@given(ANY_JSON)
def test_embedded_data_round_trips_and_cannot_end_its_element(value):
    blocks = Blocks(assemble("t", "a", "", {"one": value, "two": pack(value)})).found
    assert set(blocks) == {"one", "two", "ours"}
    assert json.loads(blocks["one"]) == value
    assert unpack(json.loads(blocks["two"])) == value


def test_page_is_deterministic(world):
    run = world.write_run("m", "110000")
    assert world.page(run) == world.page(run)


def test_page_names_no_other_host(world):
    page = world.page(world.write_run("m", "110000"))
    assert re.findall(r"https?://[^\s\"'<]+", page) == []


def test_public_page_contains_no_project_code(world):
    runs = [world.write_run("m", "01ent0"), world.write_run("reference", "111111", code=reference(0))]
    private, public = (json.dumps(bundles(world.page(*runs, public=kind))) for kind in (False, True))
    assert SECRET in private
    assert SECRET not in public
    assert "only_in_the_reference" not in world.page(*runs, public=True)


def test_reference_is_recognised_by_hash_at_any_indentation():
    instance = benchmark_of().instances["p0/m.f0"]
    assert is_reference(reference(0) + "\n", instance)
    assert not is_reference(reference(1), instance)
    inside = reference(0).replace("\n", "\n    ")
    method = instance.model_copy(update={"sha256": __import__("hashlib").sha256(f"    {inside}".encode()).hexdigest()})
    assert is_reference(reference(0), method)


def test_missing_source_is_noted(world):
    (first, *_) = bundles(world.page(world.write_run("m", "110000"), prepared=False))
    assert "dlbench prepare" in first["note"]
    assert "reference" not in first


def test_source_of_another_version_is_not_shown(world):
    changed = {name: one.model_copy(update={"sha256": "0" * 64}) for name, one in world.benchmark.instances.items()}
    world.benchmark.instances.update(changed)
    (first, *_) = bundles(world.page(world.write_run("m", "110000")))
    assert "another version" in first["note"]


def test_equal_candidates_are_stored_once(world):
    run = world.write_run("m", "111111", samples=5, code="def f0(x):\n    return x")
    first = bundles(world.page(run))[0]
    assert len([text for text in first["texts"] if text.startswith("def")]) == 1
    assert [row["text"] for row in first["runs"][0]] == [first["runs"][0][0]["text"]] * 5


def test_long_candidate_is_cut_and_the_rest_counted(world):
    run = read_run(world.write_run("m", "111111", code="def f0(x):\n    return '" + "x" * 50_000 + "'"))
    candidate = read_candidates(run, world.benchmark, public=False)["p0/m.f0", 0]
    assert len(candidate.text) == LONGEST
    assert candidate.left_out > 29_000


def test_cut_off_answers_are_counted_below_the_statuses(world):
    page = world.page(world.write_run("m", "1c0c00"), world.write_run("other", "110000"))
    (section,) = re.findall(r'<section id="statuses">.*?</section>', page)
    rows = re.findall(r'<th scope="row">([^<]*)</th><td[^>]*>(\d+)</td><td[^>]*>(\d+)</td>', section)
    assert rows[0] == ("pass", "4", "2")  # the better run comes first
    assert rows[-1] == ("cut off (any status)", "0", "4")


def test_run_without_samples_file_is_shown(world):
    folder = world.write_run("m", "110000")
    (folder / "samples.jsonl").unlink()
    first = bundles(world.page(folder))[0]
    assert "text" not in first["runs"][0][0]


@pytest.mark.parametrize(
    ("passed", "expected"), [((0, 0), "unsolved"), ((1, 0), "hard"), ((4, 1), "medium"), ((4, 4), "easy")]
)
def test_difficulty_follows_from_runs(passed, expected):
    instance = benchmark_of().instances["p0/m.f0"]
    assert find_difficulty(instance, [{instance.id: Tally(instance.id, 5, one, 0.0)} for one in passed]) == expected


def test_difficulty_without_runs_is_estimated_from_size():
    instance = benchmark_of().instances["p0/m.f0"]

    def guess(**measures):
        changed = instance.measures.model_copy(update=measures)
        return find_difficulty(instance.model_copy(update={"measures": changed}), [])

    assert guess(loc=8, cognitive=2) == "easy"
    assert guess(loc=8, cognitive=16) == "hard"
    assert guess(loc=31, cognitive=0) == "hard"
    assert guess(loc=20, cognitive=9) == "medium"
    assert guess(loc=None, cognitive=1) == "unknown"
    assert find_difficulty(instance, [{}]) == "unknown"
    assert find_difficulty(instance, [{instance.id: Tally(instance.id, 1, 0, 0.0, harness_errors=1)}]) == "unknown"


def test_baselines_do_not_inform_difficulty():
    informs = {model: informs_difficulty(Run(Path("x"), {"model": model}, [])) for model in ("reference", "stub", "m")}
    assert informs == {"reference": False, "stub": False, "m": True}
