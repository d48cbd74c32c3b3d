"""The target libraries open each export offline, and their results are judged by dlbench."""

import json
import os
import subprocess
import sys

import pytest

from dlbench.dataset import load
from dlbench.generation.sources import Sources
from tests.bridges.test_exports import SCALE, STEP, command, export, read_lines, root  # noqa: F401 - fixtures

pytestmark = pytest.mark.slow
OFFLINE = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}


def python(program, *arguments, **environment):
    """In a process of its own: these libraries read their settings when they are imported."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    ended = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | OFFLINE | environment, timeout=900, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return json.loads(ended.stdout.splitlines()[-1])


DATASETS = """
import json, sys
from datasets import load_dataset
folder, cache = sys.argv[1:]
whole = load_dataset(folder, split="test", cache_dir=cache)
files = load_dataset("parquet", data_files={"test": folder + "/data/*.parquet"}, split="test", cache_dir=cache)
assert whole.to_list() == files.to_list()
print(json.dumps(whole.to_list()))
"""


def test_datasets_loads_the_folder_and_its_parquet(export, tmp_path):  # noqa: F811
    lines, _ = export("jsonl", "--with-reference")
    folder, _ = export("hf", "--with-reference")
    assert python(DATASETS, folder, tmp_path / "cache") == read_lines(lines / "full.jsonl")


LINES = """
import json, sys
from datasets import load_dataset
rows = load_dataset("json", data_files=sys.argv[1], split="train", cache_dir=sys.argv[2])
print(json.dumps(rows.select_columns(["id", "prompt", "tests"]).to_list()))
"""


def test_datasets_loads_the_jsonl(export, tmp_path):  # noqa: F811
    folder, _ = export("jsonl")
    rows = [{name: row[name] for name in ("id", "prompt", "tests")} for row in read_lines(folder / "full.jsonl")]
    assert python(LINES, folder / "full.jsonl", tmp_path / "cache") == rows


HARNESS = """
import json, sys
import lm_eval
from lm_eval.api.model import LM
from lm_eval.tasks import TaskManager

folder, task, answers = sys.argv[1:]
known = json.loads(answers)

class Known(LM):
    def generate_until(self, requests, disable_tqdm=False):
        assert all(request.args[1]["until"] == [] for request in requests)
        return [known[request.doc["id"]] for request in requests]
    def loglikelihood(self, requests): raise NotImplementedError
    def loglikelihood_rolling(self, requests): raise NotImplementedError

manager = TaskManager(include_path=folder, include_defaults=False)
assert task in manager.all_tasks
found = lm_eval.simple_evaluate(model=Known() if known else "dummy", tasks=[task], task_manager=manager, log_samples=True)
asked = {sample["doc"]["id"]: sample["arguments"][0][0] for sample in found["samples"][task]}
print(json.dumps({"score": found["results"][task]["pass_at_1,none"], "asked": asked}))
"""


@pytest.mark.parametrize(
    ("kind", "expected"), [("reference", 1.0), ("one", 0.5), ("dummy", 0.0)], ids=["reference", "one", "dummy"]
)
def test_lm_eval_sends_zero_shot_prompts_and_scores_with_our_judge(
    kind,
    expected,
    export,  # noqa: F811
    root,  # noqa: F811
    tmp_path,
):
    folder, _ = export("lm-eval")
    moved = folder.rename(tmp_path / "moved")
    sources = Sources(load(root))
    answers = {} if kind == "dummy" else {name: sources.reference(name) for name in (SCALE, STEP)}
    if kind == "one":
        answers[STEP] = "def step(self, by=1):\n    return by\n"
    out = tmp_path / "verdicts"
    settings = {"DLBENCH_BENCHMARK": str(root), "DLBENCH_OUT": str(out)}
    found = python(HARNESS, moved, "dlbench_full", json.dumps(answers), **settings)
    assert found["score"] == expected
    for row in read_lines(moved / "prompts.jsonl"):
        assert found["asked"][row["id"]] == f"{row['system']}\n\n{row['prompt']}"
    assert {verdict["instance"] for verdict in read_lines(out / "verdicts.jsonl")} == {SCALE, STEP}


def test_lm_eval_command_line_loads_the_task(export):  # noqa: F811
    folder, _ = export("lm-eval")
    command = [sys.executable, "-m", "lm_eval", "validate", "--tasks", "dlbench_full", "--include_path", str(folder)]
    ended = subprocess.run(command, capture_output=True, text=True, env=os.environ | OFFLINE, timeout=600, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


EVALPLUS = """
import json, sys
from evalplus.data import get_human_eval_plus
from evalplus.sanitize import sanitize
tasks = get_human_eval_plus()
answers = json.loads(sys.argv[1])
cleaned = {name: sanitize(tasks[name]["prompt"] + answer, entrypoint=tasks[name]["entry_point"]) for name, answer in answers.items()}
print(json.dumps({"tasks": sorted(tasks), "cleaned": cleaned}))
"""


def test_evalplus_loads_tasks_and_its_sanitized_code_is_judged(export, root, tmp_path):  # noqa: F811
    folder, _ = export("evalplus", "--with-reference")
    tasks = {task["task_id"]: task for task in read_lines(folder / "full.jsonl")}
    answers = {name: f"{task['canonical_solution']}\nprint('done')\n" for name, task in tasks.items()}
    path = str(folder / "full.jsonl")
    found = python(EVALPLUS, json.dumps(answers), HUMANEVAL_OVERRIDE_PATH=path)
    assert found["tasks"] == [STEP, SCALE]
    solutions = tmp_path / "solutions.jsonl"
    lines = [json.dumps({"task_id": name, "solution": code}) for name, code in found["cleaned"].items()]
    solutions.write_text("\n".join(lines) + "\n")
    ended = command("import", "evalplus", solutions, "--out", tmp_path / "samples.jsonl", "--benchmark", root)
    assert ended.exit_code == 0, ended.output
    ended = command("evaluate", tmp_path / "samples.jsonl", "--out", tmp_path / "run", "--benchmark", root)
    assert ended.exit_code == 0, ended.output
    assert [verdict["status"] for verdict in read_lines(tmp_path / "run/verdicts.jsonl")] == ["pass", "pass"]


JUDGE = """
import json
from evalplus.data import get_human_eval_plus
from evalplus.gen.util import trusted_exec
task = next(iter(get_human_eval_plus().values()))
try:
    trusted_exec(task["prompt"] + task["canonical_solution"], task["base_input"], task["entry_point"])
except TypeError as error:
    print(json.dumps(str(error)))
"""


def test_evalplus_judge_fails_instead_of_passing_everything(export):  # noqa: F811
    folder, _ = export("evalplus", split="demo")
    path = folder / "demo.jsonl"
    path.write_text(path.read_text().replace("from toy.base import OFFSET", "OFFSET = 0"))
    assert "NoneType" in python(JUDGE, HUMANEVAL_OVERRIDE_PATH=str(path))
