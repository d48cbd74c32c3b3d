"""Export tasks of many files as task folders for Harbor.

The agent works in one container and the verifier judges in another, which gets the agent's folder and nothing else of
it: no process or file of the agent can reach the judge, the hidden tests or the reward.
"""

import json
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from dlbench import __version__
from dlbench.bridges.exports.rows import ExportOptions
from dlbench.dataset import Benchmark
from dlbench.dataset.tracks import name_file, write_task
from dlbench.execution.file_task import OpenRelease, OpenTask
from dlbench.execution.task_folder import INSTRUCTIONS, REQUIREMENTS, write_folder
from dlbench.jsonl import write_whole
from dlbench.workspace.environment import lock_of
from dlbench.workspace.uv import pinned

IMAGE = f"dlbench:{__version__}"
"""The image that the verifier starts from: docs/containers.md."""
_WORK, _COMPILED = "/task", shutil.ignore_patterns("__pycache__")
_SECONDS = {"agent": 1800.0, "build": 3600.0, "verifier": 3600.0}
_ENVIRONMENT = """FROM python:{python}-slim-bookworm
# hadolint ignore=DL3008
RUN apt-get update \\
    && apt-get install --yes --no-install-recommends git libgomp1 \\
    && rm -rf /var/lib/apt/lists/* \\
    && pip install --no-cache-dir uv=={uv}
COPY task/{requirements} /tmp/{requirements}
RUN {install}uv pip install --system --no-cache --no-deps --requirement /tmp/{requirements} \\
    && pip uninstall --yes {names}
COPY task {work}
WORKDIR {work}
RUN git init --quiet \\
    && git add --all --force \\
    && git -c user.name=dlbench -c user.email=dlbench@localhost commit --quiet --message "The task"
"""
_VERIFIER = """FROM {image}
# each process of the tests gives up its privileges
# hadolint ignore=DL3002
USER 0
COPY . /tests
RUN dlbench task checkout {id} /tmp/task --benchmark /tests/benchmark \\
    && rm -r /tmp/task
ENTRYPOINT []
"""
_TEST = """#!/bin/sh
# Judge the agent's folder. After a harness error there is no reward, which Harbor reports as an error of the trial.
set -eu
dlbench task submit {id} {work} --benchmark /tests/benchmark --json > /logs/verifier/verdict.json
python - <<'END'
import json
from pathlib import Path

verdict = json.loads(Path("/logs/verifier/verdict.json").read_text())
reward = {{"reward": float(verdict["status"] == "pass"), "hidden_tests": verdict["share"]}}
Path("/logs/verifier/reward.json").write_text(json.dumps(reward))
END
"""
_SOLVE = "#!/bin/sh\nset -eu\ncp -r /solution/files/. {work}/\n"


def write_harbor_task(benchmark: Benchmark, task: OpenTask, options: ExportOptions, out: Path) -> None:
    """A folder below `out`."""
    record, project = task.record, task.prepared.project
    folder = out / name_folder(record.id)
    for name in ("environment", "tests"):
        (folder / name).mkdir(parents=True)
    given = folder / "environment/task"
    write_folder(task, given)
    write_whole(given / REQUIREMENTS, task.requirements)
    canary = f"<!-- Not to be trained on. Canary: {benchmark.canary} -->\n\n" if options.canary else ""
    where = f"The folder of the task is `{_WORK}`.\n\n"
    text = (given / INSTRUCTIONS).read_text(encoding="utf-8")
    write_whole(folder / "instruction.md", f"{canary}{where}{text}")
    write_whole(folder / "task.toml", _render_toml(_describe(benchmark, task)))
    torch = " ".join(f"{name}=={number}" for name, number in pinned(task.requirements).items())
    install = f"uv pip install --system --no-cache --no-deps --torch-backend cpu {torch} \\\n    && " if torch else ""
    values = {"python": project.python, "uv": version("uv"), "requirements": REQUIREMENTS, "install": install}
    values |= {
        "names": " ".join(sorted(task.packages | {project.name})),
        "work": _WORK,
        "image": IMAGE,
        "id": record.id,
    }
    write_whole(folder / "environment/Dockerfile", _ENVIRONMENT.format(**values))
    write_whole(folder / "tests/Dockerfile", _VERIFIER.format(**values))
    write_whole(folder / "tests/test.sh", _TEST.format(**values))
    _write_records(benchmark, task, folder / "tests/benchmark")
    if options.licences and options.licences[project.name]:
        files = folder / "solution/files"
        for path, content in task.reference.items():
            (files / path).parent.mkdir(parents=True, exist_ok=True)
            (files / path).write_bytes(content or b"")
        gone = [f"rm {shlex.quote(f'{_WORK}/{path}')}\n" for path, content in task.reference.items() if content is None]
        write_whole(folder / "solution/solve.sh", _SOLVE.format(work=_WORK) + "".join(gone))


def name_folder(task_id: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "-", name_file(task_id).removesuffix(".json"))


def _write_records(benchmark: Benchmark, task: OpenTask, root: Path) -> None:
    """A benchmark of this task alone; a release that is a folder of this machine comes along."""
    project = task.prepared.project
    for name in ("projects", "locks"):
        (root / name).mkdir(parents=True)
    write_whole(root / "VERSION", f"{benchmark.version}\n")
    for one in (project, benchmark.projects[project.name]):
        shutil.copy(lock_of(one, benchmark.root), root / "locks")
    record = task.record
    if isinstance(task, OpenRelease) and project.path is not None:
        shutil.copytree(task.newer, root / "newer", ignore=_COMPILED)
        older = project.model_copy(update={"path": "source", "sha256": None})
        newer = task.record.newer.model_copy(update={"path": "newer", "sha256": None})
        record = task.record.model_copy(update={"older": older, "newer": newer})
    write_task(root, record)
    text = benchmark.files[project.name].read_text(encoding="utf-8")
    if project.path is not None:
        shutil.copytree(task.prepared.tree, root / "source", ignore=_COMPILED)
        text = re.sub(r"(?m)^path = .*$", 'path = "source"', re.sub(r"(?m)^sha256 = .*\n", "", text))
    write_whole(root / f"projects/{project.name}.toml", text)


def _describe(benchmark: Benchmark, task: OpenTask) -> dict[str, Any]:
    """The content of task.toml. While the agent works, its network is what the user allows: `--allow-agent-host`."""
    record, project = task.record, task.prepared.project
    facts = {"id": record.id, "track": str(record.track), "lines": record.lines, "hidden_tests": len(record.hidden)}
    facts |= {"project": project.name, "version": project.version, "released": str(record.find_date(project))}
    facts |= {"license": project.license, "benchmark_version": str(benchmark.version)}
    machine = {"cpus": 2, "memory_mb": 4096, "storage_mb": 10240, "build_timeout_sec": _SECONDS["build"]}
    separate = {"environment_mode": "separate", "timeout_sec": _SECONDS["verifier"]}
    return {
        "schema_version": "1.4",
        "artifacts": [_WORK],
        "task": {"name": f"dl-bench/{name_folder(record.id)}", "version": str(benchmark.version)},
        "metadata": facts,
        "agent": {"timeout_sec": _SECONDS["agent"], "network_mode": "no-network"},
        "environment": {"workdir": _WORK, "network_mode": "public", **machine},
        "verifier": separate,
        "verifier.environment": {"network_mode": "no-network", **machine},
    }


def _render_toml(content: Mapping[str, Any]) -> str:
    """Strings, numbers and lists of them are the same in TOML as in JSON."""
    lines: Sequence[str] = [
        f"{name} = {json.dumps(value)}" for name, value in content.items() if type(value) is not dict
    ]
    for name, table in content.items():
        if isinstance(table, dict):
            lines = [*lines, "", f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"
