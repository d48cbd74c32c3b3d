"""Forged or incomplete submissions are reported without running anything; ranks have intervals."""

import json
import re
from dataclasses import replace
from datetime import date
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlbench.dataset.loading import Version
from dlbench.errors import DLBenchError
from dlbench.reporting.leaderboard import build_markdown, build_page, rank_entries
from dlbench.reporting.leaderboard.entry import (
    Entry,
    Verification,
    hash_dataset,
    hash_entry,
    hash_verdicts,
    make_entry,
    name_entry,
    read_entry,
    render_entry,
    score_claims,
    write_entry,
)
from dlbench.reporting.leaderboard.verify import (
    OTHER_VERSION,
    check_entry,
    check_samples,
    check_verdicts,
    count_repeated,
    draw_share,
    is_about,
)
from dlbench.runs import read_run
from dlbench.runs.samples import Sample, read_samples
from dlbench.runs.verdict import Outcome, Status, Verdict
from tests.reporting.boards import SCALE, STEP, submit, write_run

MARKS = {SCALE: "10", STEP: "11"}


@pytest.fixture
def entry(toy, tmp_path) -> Entry:
    return submit(tmp_path / "run", toy, MARKS)


def forge(entry: Entry, *claims, toy=None) -> Entry:
    """Other verdicts, with a digest that fits, and with a benchmark a score that fits too: a careful forger."""
    changes = {"verdicts": tuple(claims), "verdicts_sha256": hash_verdicts(claims)}
    if toy:
        changes["score"] = score_claims(list(claims), toy)
    return entry.model_copy(update=changes)


def kinds(faults):
    return {fault.kind for fault in faults}


def test_honest_entry_is_valid_and_its_score_follows_from_its_verdicts(entry, toy):
    assert check_entry(entry, toy) == []
    assert entry.score.pass_at_1 == 0.75
    assert entry.score.low < 0.75 < entry.score.high
    assert (entry.split, entry.samples, entry.settings["model"]) == ("full", 2, "m")


def test_entry_contains_no_answer(entry):
    text = render_entry(entry)
    assert "def " not in text
    assert "return" not in text


def test_changed_verdict_is_reported(entry, toy):
    first, second, *rest = entry.verdicts
    changed = second.model_copy(update={"status": Status.FAIL, "tests": "pf"})
    careless = entry.model_copy(update={"verdicts": (first, changed, *rest)})
    assert kinds(check_entry(careless, toy)) == {"changed verdicts", "wrong score"}
    assert "wrong score" in kinds(check_entry(forge(entry, first, changed, *rest), toy))


def test_status_that_contradicts_its_tests_is_reported(entry, toy):
    claims = list(entry.verdicts)
    place = next(n for n, claim in enumerate(claims) if claim.status is Status.FAIL)
    claims[place] = claims[place].model_copy(update={"status": Status.PASS})
    (fault,) = check_entry(forge(entry, *claims, toy=toy), toy)
    assert fault.kind == "impossible verdict"
    assert f"{SCALE}, sample 1" in str(fault)


@pytest.mark.parametrize("status", list(Status))
@pytest.mark.parametrize("tests", ["pp", "pf", "nn"])
def test_each_status_accepts_only_possible_test_outcomes(entry, toy, status, tests):
    """Stopped after its last test has passed, an honest candidate must not keep a whole run off the board."""
    possible = {
        "pp": {"pass", "error", "timeout", "out_of_memory"},
        "pf": {"fail", "error", "timeout", "out_of_memory"},
        "nn": set(Status) - {"pass", "harness_error"},
    }
    claims = list(entry.verdicts)
    place = next(n for n, claim in enumerate(claims) if claim.instance == STEP)
    claims[place] = claims[place].model_copy(update={"status": status, "tests": tests})
    faults = check_entry(forge(entry, *claims, toy=toy), toy)
    assert (faults == []) == (status in possible[tests]), faults


def test_verdict_with_too_few_tests_is_reported(entry, toy):
    claims = [claim.model_copy(update={"tests": claim.tests[:1]}) for claim in entry.verdicts[:1]]
    assert "impossible verdict" in kinds(check_entry(forge(entry, *claims, *entry.verdicts[1:]), toy))


def test_another_dataset_version_is_reported(entry, toy):
    (fault,) = check_entry(entry.model_copy(update={"benchmark": "2.0"}), toy)
    wider = entry.model_copy(update={"benchmark": "2.0", "settings": {**entry.settings, "timeout": 999}})
    assert kinds(check_entry(wider, toy)) == {OTHER_VERSION, "wider limits"}
    assert str(fault).startswith("another dataset version: made on 2.0, this is 1.0")


def test_entry_of_an_earlier_version_with_the_same_prompts_tests_and_sources_is_valid(entry, toy):
    later = replace(toy, version=Version(1, 3))
    assert check_entry(entry, later) == []
    assert is_about(entry, later)
    changed = entry.model_copy(update={"dataset_sha256": "0" * 64})
    assert kinds(check_entry(changed, later)) == {OTHER_VERSION}
    assert not is_about(changed, later)


def test_changed_dataset_under_the_same_version_is_reported(entry, toy):
    assert kinds(check_entry(entry.model_copy(update={"dataset_sha256": "0" * 64}), toy)) == {"changed dataset"}


def test_missing_instance_is_reported(entry, toy):
    kept = [claim for claim in entry.verdicts if claim.instance != SCALE]
    faults = check_entry(forge(entry, *kept, toy=toy), toy)
    assert [str(fault) for fault in faults] == [f"missing instance: {SCALE}"]


def test_missing_sample_is_reported(entry, toy):
    kept = [claim for claim in entry.verdicts if claim.key != (SCALE, 1)]
    assert [str(fault) for fault in check_entry(forge(entry, *kept, toy=toy), toy)] == [
        f"missing sample: {SCALE}, sample 1"
    ]


def test_duplicated_sample_is_reported(entry, toy):
    again = forge(entry, *entry.verdicts, entry.verdicts[0], toy=toy)
    assert [str(fault) for fault in check_entry(again, toy)] == [f"duplicated sample: {STEP}, sample 0 counts 2 times"]


def test_unknown_instance_is_reported(entry, toy):
    stranger = entry.verdicts[0].model_copy(update={"instance": "toy/toy.core.nothing"})
    (fault,) = check_entry(forge(entry, *entry.verdicts, stranger), toy)
    assert str(fault) == "unknown instance: toy/toy.core.nothing is not in full"


def test_surplus_sample_is_reported(entry, toy):
    more = entry.verdicts[0].model_copy(update={"sample": 2})
    assert kinds(check_entry(forge(entry, *entry.verdicts, more, toy=toy), toy)) == {"unclaimed sample"}


@pytest.mark.parametrize("figure", ["pass_at_1", "low", "high", "passing_rate"])
def test_score_that_contradicts_the_verdicts_is_reported(entry, toy, figure):
    better = entry.score.model_copy(update={figure: 0.99})
    (fault,) = check_entry(entry.model_copy(update={"score": better}), toy)
    assert str(fault).startswith(f"wrong score: {figure}: claimed 0.99")


def test_harness_errors_cannot_be_submitted(entry, toy):
    claims = [
        claim.model_copy(update={"status": Status.HARNESS_ERROR, "tests": "n" * len(claim.tests)})
        for claim in entry.verdicts
    ]
    assert kinds(check_entry(forge(entry, *claims, toy=toy), toy)) == {"harness error"}


def test_model_without_temperature_can_be_submitted(toy, tmp_path):
    entry = submit(tmp_path / "run", toy, MARKS, temperature=None)
    assert entry.settings["temperature"] is None
    assert check_entry(entry, toy) == []
    path = tmp_path / name_entry(entry)
    write_entry(entry, path)
    assert read_entry(path) == entry
    assert "| none |" in build_markdown(rank_entries({path: entry}))


def test_runs_with_different_predicted_stages_are_separate_entries(toy, tmp_path):
    by = [submit(tmp_path / str(one), toy, MARKS, predicted_stages=one) for one in (None, "a" * 64, "b" * 64)]
    assert "predicted_stages" not in by[0].settings
    assert len({name_entry(entry) for entry in by}) == 3


@pytest.mark.parametrize(("limits"), [{"timeout": 1e9}, {"memory": 10**9}])
def test_higher_limits_are_reported(toy, tmp_path, limits):
    (fault,) = check_entry(submit(tmp_path / "run", toy, MARKS, **limits), toy)
    assert fault.kind == "wider limits"


@pytest.mark.parametrize(
    ("part", "value"), [("tests", {"args": ["-x"]}), ("environment", "other"), ("python", "3.12"), ("sha256", "0" * 64)]
)
def test_dataset_hash_covers_everything_that_verdicts_depend_on(toy, part, value):
    record = toy.projects["toy"]
    facts = record.model_dump() | {part: record.model_dump()[part] | value if isinstance(value, dict) else value}
    changed = replace(toy, projects={"toy": type(record).model_validate(facts)})
    instances = list(toy.instances.values())
    assert hash_dataset(instances, changed) != hash_dataset(instances, toy)


def test_verification_is_bound_to_the_entry(entry, toy):
    facts = {"date": entry.date, "seed": 1, "dlbench": "0.1.0", "entry_sha256": hash_entry(entry)}
    marked = entry.model_copy(update={"verified": Verification(checked=4, **facts)})
    assert check_entry(marked, toy) == []
    assert kinds(check_entry(entry.model_copy(update={"verified": Verification(checked=5, **facts)}), toy)) == {
        "false mark"
    }
    better = [
        claim.model_copy(update={"status": Status.PASS, "tests": "p" * len(claim.tests)}) for claim in entry.verdicts
    ]
    assert kinds(check_entry(forge(marked, *better, toy=toy), toy)) == {"false mark"}
    renamed = marked.model_copy(update={"settings": {**entry.settings, "model": "another"}})
    assert kinds(check_entry(renamed, toy)) == {"false mark"}


def test_repeated_answers_to_an_instance_are_counted(entry):
    assert count_repeated(entry) == 0
    first, second, *rest = entry.verdicts
    assert count_repeated(forge(entry, first, second.model_copy(update={"sha256": first.sha256}), *rest)) == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"samples": 2', '"samples": "many"'),
        ('"samples": 2', '"samples": 0'),
        ('"samples": 2', '"samples": true'),
        ('"technique": "zero-shot"', '"technique": ""'),
        ('"temperature": 0.3', '"temperature": "warm"'),
        ('"temperature": 0.3', '"temperature": false'),
        ('"temperature": 0.3', '"timeout": "long"'),
        ('"benchmark": "1.0"', '"benchmark": "abc"'),
    ],
)
def test_invalid_settings_are_rejected(entry, tmp_path, old, new):
    path = tmp_path / name_entry(entry)
    write_entry(entry, path)
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(DLBenchError, match="not an entry"):
        read_entry(path)


def test_changed_missing_and_unclaimed_samples_are_reported(entry, toy, tmp_path):
    honest = read_samples(tmp_path / "run/samples.jsonl", toy)
    assert check_samples(entry, honest) == []
    changed = [Sample(one.instance, one.sample, one.text + "#") if one.key == (STEP, 1) else one for one in honest]
    assert [str(fault) for fault in check_samples(entry, changed)] == [
        f"changed sample: {STEP}, sample 1 is not the answer that was judged"
    ]
    assert kinds(check_samples(entry, honest[1:])) == {"missing sample"}
    assert kinds(check_samples(entry, [*honest, Sample(STEP, 7, "x")])) == {"unclaimed sample"}


def test_share_is_drawn_by_seed_and_never_empty(entry):
    assert len(draw_share(entry, 0.0, 1)) == 1
    assert len(draw_share(entry, 0.5, 1)) == 2
    assert len(draw_share(entry, 1.0, 1)) == 4
    assert draw_share(entry, 0.5, 3) == draw_share(entry, 0.5, 3)
    assert len({tuple(draw_share(entry, 0.25, seed)) for seed in range(40)}) == 4


def judged(entry, toy, *changes):
    """A judge that gives the claimed verdicts, but for some in each of its calls."""
    rounds = list(changes)

    def judge(samples):
        changed = rounds.pop(0) if rounds else {}
        found = {}
        for claim in entry.verdicts:
            tests = dict(zip(toy.instances[claim.instance].tests, claim.tests, strict=True))
            facts = {"p": Outcome.PASSED, "f": Outcome.FAILED}
            verdict = Verdict(
                claim.instance, claim.sample, claim.status, {test: facts[letter] for test, letter in tests.items()}
            )
            found[claim.key] = changed.get(claim.key, verdict)
        return {sample.key: found[sample.key] for sample in samples}

    return judge


def test_different_verdict_is_judged_again_before_it_is_reported(entry, toy, tmp_path):
    samples = read_samples(tmp_path / "run/samples.jsonl", toy)
    late = {(STEP, 0): Verdict(STEP, 0, Status.TIMEOUT, dict.fromkeys(toy.instances[STEP].tests, Outcome.NOT_RUN))}
    assert check_verdicts(entry, samples, toy, judged(entry, toy, late)) == []
    (fault,) = check_verdicts(entry, samples, toy, judged(entry, toy, late, late))
    assert str(fault) == f"wrong verdict: {STEP}, sample 0: claimed pass (pp), found timeout (nn)"


@pytest.mark.parametrize(("outcome", "faults"), [(Outcome.ERROR, 0), (Outcome.PASSED, 1), (Outcome.SKIPPED, 1)])
def test_failed_and_error_outcomes_are_interchangeable(entry, toy, tmp_path, outcome, faults):
    samples = read_samples(tmp_path / "run/samples.jsonl", toy)
    (claim,) = [one for one in entry.verdicts if one.status is Status.FAIL and set(one.tests) >= {"f"}][:1]
    tests = toy.instances[claim.instance].tests
    facts = {"p": Outcome.PASSED, "f": outcome}
    found = Verdict(claim.instance, claim.sample, Status.FAIL, {
        test: facts[letter] for test, letter in zip(tests, claim.tests, strict=True)
    })  # fmt: skip
    changed = {claim.key: found}
    assert len(check_verdicts(entry, samples, toy, judged(entry, toy, changed, changed))) == faults


def test_harness_error_neither_confirms_nor_refutes_a_verdict(entry, toy, tmp_path):
    samples = read_samples(tmp_path / "run/samples.jsonl", toy)
    broken = {(STEP, 0): Verdict(STEP, 0, Status.HARNESS_ERROR, {}, message="disk full")}
    (fault,) = check_verdicts(entry, samples, toy, judged(entry, toy, broken, broken))
    assert fault.kind == "not judged"
    assert "disk full" in fault.what


def test_entry_has_a_canonical_form_and_a_stable_name(entry, toy, tmp_path):
    path = tmp_path / name_entry(entry)
    write_entry(entry, path)
    assert read_entry(path) == entry
    assert re.fullmatch(r"m\.zero-shot\.full\.[0-9a-f]{8}\.json", path.name)
    assert name_entry(submit(tmp_path / "better", toy, {SCALE: "11", STEP: "11"})) == path.name
    assert name_entry(submit(tmp_path / "warmer", toy, MARKS, temperature=0.5)) != path.name
    path.write_text(json.dumps(json.loads(path.read_text())))
    with pytest.raises(DLBenchError, match="canonical form"):
        read_entry(path)


@settings(max_examples=60)
@given(st.dictionaries(st.text(), st.none() | st.integers() | st.text() | st.lists(st.integers())) | st.text())
def test_arbitrary_json_is_an_error_without_traceback(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("odd") / "x.json"
    path.write_text(json.dumps(content))
    with pytest.raises(DLBenchError, match="not an entry"):
        read_entry(path)


@pytest.mark.parametrize(
    ("marks", "config", "message"),
    [
        ({SCALE: "1"}, {}, None),  # the split demo
        ({STEP: "1"}, {}, "not a whole split"),
        (MARKS, {"benchmark": "0.9"}, "on version 0.9, this is 1.0"),
    ],
)
def test_only_whole_splits_are_submitted(toy, tmp_path, marks, config, message):
    if message is None:
        assert submit(tmp_path / "run", toy, marks, **config).split == "demo"
        return
    with pytest.raises(DLBenchError, match=message):
        submit(tmp_path / "run", toy, marks, **config)


def test_run_on_a_live_split_has_its_own_split_name(toy, tmp_path):
    older = toy.instances[STEP].model_copy(update={"introduced": date(2025, 12, 31)})
    grown = replace(toy, instances=toy.instances | {STEP: older}, splits={})
    entry = submit(tmp_path / "run", grown, {SCALE: "1"})
    assert entry.split == "live-2026-01"
    assert check_entry(entry, grown) == []
    for split in ("live-2026-13", "live-2099-01"):
        other = entry.model_copy(update={"split": split})
        assert kinds(check_entry(other, grown)) == {"unknown split"}
        assert not is_about(other, grown)


def test_settings_unknown_to_an_evaluated_file_must_be_stated(toy, tmp_path):
    run = read_run(write_run(tmp_path / "run", toy, MARKS, technique=None, temperature=None))
    with pytest.raises(DLBenchError, match="does not record its model, technique, temperature"):
        make_entry(run, toy, "x")
    facts = {"model": "gpt", "technique": "guided", "temperature": 0.0}
    assert make_entry(run, toy, "x", stated=facts).settings == facts | {"samples": 2}


def test_stated_settings_must_not_contradict_the_run_or_leak_paths(toy, tmp_path):
    run = read_run(write_run(tmp_path / "run", toy, MARKS, base_url="http://10.0.0.1", instances=["x"]))
    with pytest.raises(DLBenchError, match="the run has model 'm', you passed 'other'"):
        make_entry(run, toy, "x", stated={"model": "other"})
    with pytest.raises(DLBenchError, match="path of this machine"):
        make_entry(run, toy, str(tmp_path / "samples.jsonl"))
    assert not {"base_url", "instances"} & set(make_entry(run, toy, "x").settings)


def test_ranks_are_per_split_with_ties_and_without_baselines(toy, tmp_path):
    entries = {
        name: submit(tmp_path / name, toy, marks, model=name)
        for name, marks in {
            "best": {SCALE: "1", STEP: "1"},
            "half": {SCALE: "1", STEP: "0"},
            "other": {SCALE: "0", STEP: "1"},
            "reference": {SCALE: "1", STEP: "1"},
            "small": {SCALE: "1"},
        }.items()
    }
    full, demo = rank_entries({tmp_path / f"{name}.json": entry for name, entry in entries.items()})
    assert {place.entry.model: place.rank for place in full.places} == {
        "best": 1,
        "reference": None,
        "half": 2,
        "other": 2,
    }
    assert [(place.entry.model, place.rank) for place in demo.places] == [("small", 1)]
    # a quarter of the resamples draw SCALE twice, and `half` is level with `best`; a quarter draw STEP twice
    assert full.places[0].ranks.low == full.places[0].ranks.high == 1
    (half,) = [place for place in full.places if place.entry.model == "half"]
    assert (half.ranks.low, half.ranks.high) == (1, 3)


def test_seeds_of_one_model_share_a_line_with_mean_and_deviation(toy, tmp_path):
    """Else the luckiest seed has a rank of its own, and five lucky ones push everybody else down by five places."""
    repeats = {
        seed: submit(tmp_path / str(seed), toy, marks, model="often", seed=seed)
        for seed, marks in {10: {SCALE: "1", STEP: "0"}, 9: {SCALE: "1", STEP: "1"}}.items()
    }
    other = submit(tmp_path / "other", toy, {SCALE: "0", STEP: "1"}, model="other", seed=9)
    hotter = submit(tmp_path / "hot", toy, {SCALE: "0", STEP: "0"}, model="often", seed=9, temperature=0.9)
    found = [*repeats.values(), other, hotter]
    (table,) = rank_entries({tmp_path / f"{number}.json": entry for number, entry in enumerate(found)})
    places = [(place.entry.model, place.rank, place.pass_at_1) for place in table.places]
    assert places == [("often", 1, 0.75), ("other", 2, 0.5), ("often", 3, 0.0)]
    assert [entry.settings["seed"] for entry in table.places[0].entries] == [9, 10]
    text = build_markdown([table])
    assert "| 75.0 % | 19.8 to 97.3 |" in text  # Wilson's interval of 3/4 among two instances
    assert "| 2 (sd 35.4) |" in text  # of 100 and 50 points
    assert "https://example.org/s.jsonl; https://example.org/s.jsonl" in text
    assert build_page([table]).count('href="https://example.org/s.jsonl"') == 4
    assert build_page([table]).count("<summary>2 entries</summary>") == 1


def test_equal_scores_share_a_rank_despite_rounding(entry, tmp_path):
    """To the last digit the mean of 2/17 and 4/17 is not 3/17."""

    def score(model, seed, share):
        claimed_score = entry.score.model_copy(update={"pass_at_1": share})
        digest = {"verdicts_sha256": f"{model}{seed}".ljust(64, "0")}
        return entry.model_copy(
            update={"score": claimed_score, "settings": {**entry.settings, "model": model, "seed": seed}, **digest}
        )

    found = [score("a", 0, 2 / 17), score("a", 1, 4 / 17), score("b", 0, 3 / 17)]
    assert fmean([2 / 17, 4 / 17]) != 3 / 17
    (table,) = rank_entries({tmp_path / f"{number}.json": one for number, one in enumerate(found)})
    assert [place.rank for place in table.places] == [1, 1]


def test_same_answers_under_another_seed_are_one_run(toy, tmp_path):
    marks = {SCALE: "1", STEP: "0"}
    found = [submit(tmp_path / str(seed), toy, marks, seed=seed) for seed in (1, 2)]
    (table,) = rank_entries({tmp_path / f"{number}.json": entry for number, entry in enumerate(found)})
    (place,) = table.places
    assert place.spread.runs == 1


def test_only_comparable_dataset_versions_are_ranked_together(entry, tmp_path):
    comparable = entry.model_copy(update={"benchmark": "1.10", "settings": {**entry.settings, "model": "other"}})
    newer = entry.model_copy(update={"benchmark": "10.0"})
    tables = rank_entries({tmp_path / "a.json": entry, tmp_path / "b.json": comparable, tmp_path / "c.json": newer})
    assert [(table.version, [place.rank for place in table.places]) for table in tables] == [
        ("10", [1]),
        ("1", [1, 1]),
    ]


def test_page_shows_every_entry_escaped_and_requests_no_other_host(toy, tmp_path):
    run = read_run(write_run(tmp_path / "a", toy, MARKS, model="<script>alert(1)</script>|x"))
    entries = {
        tmp_path / "a.json": make_entry(run, toy, "https://example.org/a"),
        tmp_path / "b.json": make_entry(run, toy, "javascript:alert(1)"),
    }
    page = build_page(rank_entries(entries))
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "default-src 'none'" in page
    assert re.findall(r'(?:src|href)="([^"]*)"', page) == ["data:,", "https://example.org/a"]
    assert "url(" not in page
    assert "75.0 %" in page
    text = build_markdown(rank_entries(entries))
    assert "\\|x" in text
    assert "75.0 %" in text


def test_reported_results_have_their_own_marked_table():
    for text in (build_page([]), build_markdown([])):
        assert "Reported, not run here, and on another dataset" in text
        assert "28.5 %" in text  # the mean that the papers give for zero-shot
        assert "32.2 %" in text
        assert "No submission yet" in text
