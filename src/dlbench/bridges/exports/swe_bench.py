"""Export tasks of many files as rows in the format of SWE-bench, with a git repository for each.

`base_commit` is the commit of the task's folder, the same on every machine. SWE-bench's own harness cannot judge a row:
it needs an image, and believes what the tests print.
"""

import json
import tempfile
from pathlib import Path

from dlbench.agents.attempts import commit_folder, run_git
from dlbench.bridges.exports.rows import ExportOptions, Row
from dlbench.dataset import Benchmark
from dlbench.execution.file_sets import FileSet
from dlbench.execution.file_task import OpenTask
from dlbench.execution.task_folder import INSTRUCTIONS, write_folder

REPOSITORIES = "repositories"


def make_swe_bench_row(benchmark: Benchmark, task: OpenTask, options: ExportOptions, out: Path) -> Row:
    """Its repository is written below `out`. `patch` is empty without references."""
    record, project = task.record, task.prepared.project
    name = f"dl-bench__{record.id.replace('/', '.')}"
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_folder(task, folder)
        commit_folder(folder)
        bundle = out.resolve() / REPOSITORIES / f"{name}.bundle"
        bundle.parent.mkdir(exist_ok=True)
        run_git(folder, "bundle", "create", "-q", str(bundle), "HEAD", "main")
        statement = (folder / INSTRUCTIONS).read_text(encoding="utf-8")
        commit = run_git(folder, "rev-parse", "HEAD").decode().strip()
        hidden = {test.partition("::")[0] for test in record.hidden}
        own = hidden - task.tests.keys()
        tests = {path: (task.prepared.tree / path).read_bytes() for path in own} | task.tests
        has_reference = bool(options.licences and options.licences[project.name])
        patch = _diff(folder, task.reference) if has_reference else ""
        test_patch = _diff(folder, tests)
    return {
        "instance_id": name,
        "repo": f"dl-bench/{project.name}",
        "base_commit": commit,
        "problem_statement": statement,
        "hints_text": "",
        "patch": patch,
        "test_patch": test_patch,
        "FAIL_TO_PASS": json.dumps(record.hidden),
        "PASS_TO_PASS": json.dumps(record.unchanged),
        "version": project.version,
        "created_at": f"{record.find_date(project)}T00:00:00Z",
        "environment_setup_commit": commit,
        "task": record.id,
        "track": str(record.track),
        "license": project.license,
        "benchmark_version": str(benchmark.version),
        **({"canary": benchmark.canary} if options.canary else {}),
    }


def _diff(folder: Path, files: FileSet) -> str:
    """From the commit to the commit with these files; the folder is left as the commit has it."""
    for path, content in files.items():
        if content is None:
            (folder / path).unlink(missing_ok=True)
        else:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
    run_git(folder, "add", "-A", "-f")
    patch = run_git(folder, "diff", "--cached", "--binary").decode("utf-8", "surrogateescape")
    run_git(folder, "reset", "-q", "--hard")
    return patch
