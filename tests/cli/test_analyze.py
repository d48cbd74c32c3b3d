"""Each study prints tables or JSON, writes plots, and reports wrong input clearly."""

import json
from xml.etree import ElementTree

import pytest

from tests.analysis.official import write_official
from tests.cli.test_compare import SCALE, STEP, run_cli, two, write_run  # noqa: F401 - fixtures


@pytest.fixture
def tasks(tmp_path):
    path = tmp_path / "tasks.jsonl"
    path.write_text(json.dumps({"prompt": "Train a model.", "reference_code": "model.fit(x)\n"}) + "\n")
    return path


@pytest.fixture
def scores(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text("model,easy,hard\na,90,30\nb,80,20\nc,70,25\n")
    return path


def read_plots(folder):
    """By name, the texts in a plot; each must be a well-formed SVG file."""
    found = {}
    for path in folder.glob("*.svg"):
        tree = ElementTree.parse(path).getroot()
        assert tree.tag == "{http://www.w3.org/2000/svg}svg"
        found[path.stem] = {node.text for node in tree.iter("{http://www.w3.org/2000/svg}text")}
    return found


def test_complexity_compares_datasets_and_plots_them(toy_root, tasks, tmp_path):
    ended = run_cli("analyze", "complexity", toy_root, f"DS={tasks}", "--plots", tmp_path / "plots")
    assert ended.exit_code == 0, ended.output
    assert "cognitive" in ended.output
    drawn = read_plots(tmp_path / "plots")
    assert set(drawn) == {f"complexity-{name}" for name in ("lines", "cyclomatic", "cognitive", "nesting", "calls")}
    assert {"toys", "DS"} <= drawn["complexity-lines"]


def test_complexity_notes_missing_references(tmp_path):
    write_official(tmp_path / "official")
    ended = run_cli("analyze", "complexity", tmp_path / "official")
    assert ended.exit_code == 0
    assert "1 of 1 references are not available" in ended.output
    assert "n/a" in ended.output


def test_complexity_prints_strict_json(tmp_path, tasks):
    write_official(tmp_path / "official")
    ended = run_cli("analyze", "complexity", tmp_path / "official", tasks, "--json")
    official, lines = json.loads(ended.stdout, parse_constant=pytest.fail)
    assert official["figures"]["lines"]["mean"] is None
    assert lines["figures"]["lines"]["mean"] == 1


def test_relevance_reports_prompts_and_code_apart(tasks, tmp_path):
    ended = run_cli("analyze", "relevance", tasks, "--json", "--plots", tmp_path / "plots")
    prompt, code = json.loads(ended.stdout)
    assert (prompt["text"], code["text"]) == ("prompt", "code")
    assert prompt["figures"]["mean"] == 1  # train, model
    assert code["figures"]["mean"] == pytest.approx(2 / 3)  # model, fit; not x
    assert {"tasks, prompt", "tasks, code"} <= read_plots(tmp_path / "plots")["relevance"]


def test_statistics_shows_all_four_figures(scores, tmp_path):
    ended = run_cli("analyze", "statistics", scores, "--plots", tmp_path / "plots")
    assert ended.exit_code == 0, ended.output
    for name in ("Cohen's d", "Fisher", "Spearman", "Kendall"):
        assert name in ended.output
    assert {"a", "easy", "90"} <= read_plots(tmp_path / "plots")["statistics"]
    (found,) = json.loads(run_cli("analyze", "statistics", scores, "--json").stdout)
    assert found["against"]["kendall"] == pytest.approx(1 / 3)


def test_robustness_shows_all_tables(two, toy_root, tmp_path):  # noqa: F811
    ended = run_cli("analyze", "robustness", *two, "--benchmark", toy_root, "--plots", tmp_path / "plots")
    assert ended.exit_code == 0, ended.output
    for title in ("on the 2 instances", "pairs, when instances", "without one project or label", "on a split"):
        assert title in ended.output
    assert {"good", "bad", "Row above column: % of resamples"} <= read_plots(tmp_path / "plots")["robustness"]
    found = json.loads(
        run_cli("analyze", "robustness", *two, "--benchmark", toy_root, "--json").stdout, parse_constant=pytest.fail
    )
    assert found["order"] == [["good", 1], ["bad", 0.5]]
    assert [split["label"] for split in found["splits"]] == ["demo"]


def test_only_least_certain_pairs_are_shown_and_json_has_all(write_run, toy_root):  # noqa: F811
    runs = [write_run(f"r{n}", {SCALE: "pass", STEP: "pass" if n % 3 else "fail"}) for n in range(11)]
    ended = run_cli("analyze", "robustness", *runs, "--benchmark", toy_root)
    assert "the 50 least certain of 55 pairs" in ended.output
    found = json.loads(run_cli("analyze", "robustness", *runs, "--benchmark", toy_root, "--json").stdout)
    assert len(found["pairs"]) == 55


def test_robustness_rejects_one_run_an_empty_run_and_an_unknown_split(two, write_run, toy_root):  # noqa: F811
    for arguments, message in (
        ((two[0],), "one run cannot be compared"),
        ((two[0], write_run("empty", {})), "no instance to compare on"),
        ((*two, "--other-split", "dem"), "did you mean demo"),
    ):
        ended = run_cli("analyze", "robustness", *arguments, "--benchmark", toy_root)
        assert ended.exit_code == 1
        assert message in ended.output


def test_import_lists_repairs_and_writes_a_folder_that_cannot_be_run(tmp_path):
    write_official(tmp_path / "in", stage="Image", data="Training", path="toy/core.py#L3")
    ended = run_cli("import", "official", tmp_path / "in", "--out", tmp_path / "out")
    assert ended.exit_code == 0, ended.output
    assert "toyhalve1.txt: stage, data: 'Image, Training' -> 'Training, Image' (the two were swapped)" in ended.output
    assert "'toy/core.py#L3' -> 'toy/core.py'" in ended.output
    assert "projects of 0 have a source archive on the index: --make-runnable WORK tries them" in ended.output
    rejected = run_cli("list", "--benchmark", tmp_path / "out")
    assert rejected.exit_code == 1
    assert "have no runnable source" in rejected.output
    assert run_cli("check", "--benchmark", tmp_path / "out", "--records-only").exit_code == 0


def test_import_names_skipped_text_files(tmp_path):
    write_official(tmp_path / "in")
    broken = write_official(tmp_path / "in", "toyhalve2.txt")
    broken.write_text(broken.read_text().partition("\n")[2])
    ended = run_cli("import", "official", tmp_path / "in", "--json")
    assert json.loads(ended.stdout)["counts"]["files"] == {"read": 1}
    assert f"LEFT OUT: 1 text files that do not begin with `stage:`: {broken}" in ended.stderr


def test_import_prints_counts_as_json(tmp_path):
    write_official(tmp_path / "in", data="Timeseries")
    found = json.loads(run_cli("import", "official", tmp_path / "in", "--json").stdout)
    assert found["counts"]["data"] == {"none of the labels": 1}
    assert found["counts"]["stage"] == {"training": 1}


def test_import_converts_answers_and_names_unmatched_ones(tmp_path):
    write_official(tmp_path / "in")
    answers = [
        {"result": "def halve…", "function_name": "halve", "ground_truth": "toy/core.py", "test": "", "repo": "toy"}
    ]
    (tmp_path / "answers.json").write_text(json.dumps([*answers, answers[0] | {"function_name": "gone"}]))
    ended = run_cli(
        "import", "official", tmp_path / "in", "--answers", tmp_path / "answers.json", "--samples", tmp_path / "s.jsonl"
    )
    assert ended.exit_code == 0, ended.output
    assert "number 2: fits no instance" in ended.output
    (sample,) = map(json.loads, (tmp_path / "s.jsonl").read_text().splitlines())
    assert sample == {"instance": "toy/toyhalve1", "sample": 0, "answer": "def halve…"}


@pytest.mark.parametrize(
    "arguments",
    [
        ("analyze", "complexity", "gone"),
        ("analyze", "relevance", "gone.jsonl"),
        ("analyze", "statistics", "gone.csv"),
        ("import", "official", "gone"),
        ("import", "official", ".", "--answers", "gone.json"),
    ],
)
def test_missing_input_is_reported_without_a_traceback(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ended = run_cli(*arguments)
    assert ended.exit_code == 1
    assert "fix:" in ended.output
