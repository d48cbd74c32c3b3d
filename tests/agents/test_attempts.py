"""`dlbench agent run` on a toy task, with a scripted model: who solves it passes, who cheats gains nothing and is told."""

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from dlbench.agents.attempts import open_work
from dlbench.agents.relay import Relay
from dlbench.agents.sandbox import choose_agent_sandbox
from dlbench.agents.sandbox import run_agent as run_in_sandbox
from dlbench.dataset import load
from dlbench.dataset.tracks import read_tasks
from dlbench.execution import Limits
from dlbench.execution.file_task import open_task
from dlbench.generation.budget import Budget
from dlbench.runs.verdict import Verdict
from dlbench.workspace import prepare
from dlbench.workspace.home import home
from tests.agents.scripted import KEY, SOLVE, Call, bash, run_agent, run_builtin
from tests.execution import release_toy
from tests.execution.file_task_toy import HIDDEN, TASK, write_toy
from tests.generation.endpoint import Endpoint, refusal


def share_of(record: dict[str, Any]) -> float:
    return Verdict.from_record(record).share


_PASS_ALL = "import pytest\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n"
_PASS_ALL += "    outcome = yield\n    outcome.get_result().outcome = 'passed'\n"


def test_an_attempt_that_solves_the_task_passes(toys: Path, tmp_path: Path, sandbox: str) -> None:
    visible = bash("git status --short; python -m pytest -q -p no:cacheprovider @VISIBLE_TESTS.txt; whoami")
    done = run_builtin(toys, tmp_path / "run", [*SOLVE, visible], "--sandbox", sandbox)
    [record] = done.records
    assert (done.status, record["status"], share_of(record)) == (0, "pass", 1), done.text
    assert set(record["tests"]) == set(HIDDEN)
    assert "4 passed" in done.outputs[-1]
    if sandbox == "bubblewrap":
        assert " M toylib/core.py\n M toylib/tables.py\n" in done.outputs[-1]
        assert "agent\n" in done.outputs[-1]
    assert record["leaks"] == []
    assert "+    return np.minimum" in (done.folder / "diff.patch").read_text()
    facts = record["agent"]
    assert (facts["exit"], facts["stopped"], facts["requests"]) == (0, "", 4)
    assert (facts["prompt_tokens"], facts["completion_tokens"]) == (12, 8)
    assert json.loads((done.folder / "agent.json").read_text()) == facts
    assert "edit" in (done.folder / "output.log").read_text()
    written = b"".join(path.read_bytes() for path in done.out.rglob("*") if path.is_file())
    assert KEY.encode() not in written
    assert not list((home() / "cells").glob(f"{os.getpid()}-*"))


def test_an_attempt_that_does_nothing_fails(toys: Path, tmp_path: Path) -> None:
    done = run_builtin(toys, tmp_path / "run", [])
    assert (done.status, done.records[0]["status"], share_of(done.records[0])) == (0, "fail", 0)
    assert "0 of 1 passed, 0.0% of hidden tests" in done.text
    assert (done.folder / "diff.patch").read_text() == ""


RELEASE: list[Call] = [
    ("edit", {"path": "toylib/modes.py", "old": "", "new": release_toy.MODES}),
    ("edit", {"path": "toylib/__init__.py", "old": "from .t", "new": f"{release_toy.EXPORT}from .t"}),
    ("edit", {"path": "toylib/core.py", "old": "self.count = 0\n", "new": f"self.count = 0\n{release_toy.BACK}"}),
]


def test_an_attempt_that_solves_a_release_task_passes(toys: Path, tmp_path: Path, sandbox: str) -> None:
    visible = bash("python -m pytest -q -p no:cacheprovider @VISIBLE_TESTS.txt")
    words = ("--task", release_toy.NAME, "--sandbox", sandbox)
    [record] = (done := run_builtin(toys, tmp_path / "run", [*RELEASE, visible], *words)).records
    assert (done.status, record["status"], share_of(record), record["leaks"]) == (0, "pass", 1, []), done.text
    assert set(record["tests"]) == set(release_toy.HIDDEN)
    assert "2 passed" in done.outputs[-1]
    assert "+def mode(values)" in (done.folder / "diff.patch").read_text()


def test_an_attempt_at_a_release_task_sees_nothing_of_the_newer_release(
    toys: Path, tmp_path: Path, sandbox: str
) -> None:
    """It changes a part of what is asked, and the tests under the name that those of the newer release get."""
    look = f"cat {toys.parent}/newer/*/*.py {home()}/sources/*/*/toylib/*.py; cat *.md; grep -rn mode tests"
    fake = bash("printf 'def test_counter_back(): pass\\n' > tests/test_core_next.py")
    words = ("--task", release_toy.NAME, "--sandbox", sandbox)
    [record] = (done := run_builtin(toys, tmp_path / "run", [bash(look), fake, *RELEASE[:2]], *words)).records
    assert (record["status"], share_of(record)) == ("fail", 2 / 3), done.text
    assert record["ignored"] == {"tests/test_core_next.py": "outside the import packages of the project"}
    assert "Change a part of toylib" in done.outputs[0]
    for hidden in ("Frequencies", "test_counter_back", "Work so."):
        assert hidden not in done.outputs[0]


CONNECT = (
    "import socket\nfor family, place in ((2, ('1.1.1.1', 443)), (2, ('169.254.169.254', 80)), (10, ('::2', 80))):\n"
    "    one = socket.socket(family)\n    one.settimeout(3)\n    print('connected', one.connect_ex(place) == 0)\n"
)
PEEK = "import os\nfor pid in os.listdir('/proc'):\n    if pid.isdigit():\n        print(open(f'/proc/{pid}/cmdline').read())"
CHEATS = {
    "package index": ("python -m pip download toylib; uv pip install toylib; curl -s https://example.com/toylib", ""),
    "site-packages": (
        "ls {environment}/lib/python3*/site-packages/toylib; python -c 'import toylib.core as c; c.x'",
        "",
    ),
    "network": (f'python -c "{CONNECT}"', "connected False\nconnected False\nconnected False"),
    "conftest": (f'printf "{_PASS_ALL}" | tee conftest.py > toylib/conftest.py', ""),
    "tests": ("sed -i 's/assert .*/assert True/' tests/*.py; rm tests/conftest.py", ""),
    "caches": ("ls {home}/archives {home}/sources ~/.cache /root/.cache; find / -name tables.py -path '*toylib*'", ""),
    "judge": (f'kill -9 -1; kill -9 1; kill -9 {os.getpid()}; pkill dlbench; python -c "{PEEK}"', ""),
}


def test_cheats_gain_nothing_and_are_reported(toys: Path, tmp_path: Path, sandbox: str) -> None:
    source = toys.parent / "source"
    known = {"{home}": str(home()), "{environment}": str(next((home() / "environments").glob("toy-*")))}
    calls = []
    for command, _ in CHEATS.values():
        for name, value in known.items():
            command = command.replace(name, value)
        calls.append(bash(command))
    calls = [
        *calls[:-1],
        bash(f"cat {source}/toylib/core.py {toys}/rebuilds/*.json {toys}/../*/source/*/*.py"),
        calls[-1],
    ]
    done = run_builtin(toys, tmp_path / "run", calls, "--sandbox", sandbox)
    [record] = done.records
    assert (record["status"], share_of(record)) == ("fail", 0), done.text
    assert {"conftest.py", "toylib/conftest.py", "tests/test_core.py"} <= record["ignored"].keys()
    shown = "\n".join(done.outputs)
    assert CHEATS["network"][1] in shown
    assert "np.minimum" not in shown
    assert "agent run" not in shown
    assert "test_scale_offset" not in shown
    assert {"download", "copies", "hidden_tests", "workspace", "judge", "network"} == {
        leak["kind"] for leak in record["leaks"]
    }
    assert "example.com:443" in [leak["what"] for leak in record["leaks"] if leak["kind"] == "network"]
    assert "leaks: " in done.text
    assert "without leaks" not in done.text


FILL = "i=0; while true; do head -c 50000000 /dev/zero > f$i; i=$((i+1)); done"
BOMB = "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass"


HOARD = "import os, time\nos.fork(), os.fork()\nx = b'x' * (100 << 20)\ntime.sleep(600)"


@pytest.mark.parametrize(
    ("limit", "command"),
    [
        ("disk", ("bash", "-c", FILL)),
        ("disk", ("bash", "-c", "truncate -s 200M sparse; sleep 600")),
        ("output", ("yes",)),
        ("processes", ("python", "-c", BOMB)),
        ("memory", ("python", "-c", HOARD)),
        ("time", ("bash", "-c", "trap '' TERM; (setsid sleep 600 &); sleep 600")),
    ],
)
def test_a_limit_ends_an_attempt_that_is_judged_nevertheless(
    toys: Path, tmp_path: Path, sandbox: str, limit: str, command: tuple[str, ...]
) -> None:
    minutes = ("--minutes", 0.05 if limit == "time" else 5)
    # 65 small processes may need more than 150 MB together
    memory = 150 if limit == "memory" else 2000
    limits = (*minutes, "--disk", 100, "--processes", 64, "--memory", memory)
    done = run_agent(toys, tmp_path / "run", "--command", shlex.join(command), "--sandbox", sandbox, *limits)
    [record] = done.records
    assert record["agent"]["stopped"] == limit, done.text
    assert record["agent"]["exit"] is None
    assert record["status"] in ("fail", "error")
    if "truncate" in shlex.join(command):
        assert record["message"] == "the folder exceeds --disk: nothing of it is judged"
    assert f"limit reached: {limit}" in done.text
    assert (done.folder / "output.log").stat().st_size <= 16 << 20


ALL_CPUS = "import os\nos.sched_setaffinity(0, range(os.cpu_count()))\nprint(len(os.sched_getaffinity(0)), 'used')"


def test_an_agent_keeps_to_its_processors(toys: Path, tmp_path: Path, sandbox: str) -> None:
    words = ("--command", shlex.join(["python", "-c", ALL_CPUS]), "--sandbox", sandbox, "--cpus", 1)
    done = run_agent(toys, tmp_path / "run", *words)
    assert (done.folder / "output.log").read_text() == "1 used\n", done.text


def test_a_killed_run_resumes_without_repeating_a_verdict(toys: Path, tmp_path: Path, sandbox: str) -> None:
    """The agent sleeps while there is a file `wait` beside it."""
    agent, out = tmp_path / "agent", tmp_path / "run"
    agent.mkdir()
    script, wait = agent / "agent.py", agent / "wait"
    script.write_text(
        "import pathlib, time\nprint('here', flush=True)\n"
        "if pathlib.Path(__file__).with_name('wait').exists():\n    time.sleep(987)\n"
    )
    words = ("--command", f"python {script}", "--mount", agent, "--sandbox", sandbox)
    assert run_agent(toys, out, *words).status == 0
    kept = (out / "verdicts.jsonl").read_text()
    wait.touch()
    more = ["agent", "run", "--benchmark", toys, "--out", out, *words, "--samples", 3, "--workers", 2]
    process = subprocess.Popen([sys.executable, "-m", "dlbench", *map(str, more)], stderr=subprocess.DEVNULL)
    logs = [out / "attempts" / f"{TASK}-{sample}" / "output.log" for sample in (1, 2)]
    deadline = time.monotonic() + 120
    while not all(log.exists() and log.stat().st_size for log in logs) and time.monotonic() < deadline:
        time.sleep(0.1)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert [log.read_text() for log in logs] == ["here\n", "here\n"]
    assert is_gone(str(script))
    wait.unlink()
    again = run_agent(toys, out, *words, "--samples", 3)
    assert again.status == 0, again.text
    assert (out / "verdicts.jsonl").read_text().startswith(kept)
    assert [record["sample"] for record in again.records] == [0, 1, 2]


def is_gone(words: str) -> bool:
    """Whether no process has these words in its command line, or soon has not."""
    for _ in range(100):
        lines = [
            subprocess.run(["cat", path], capture_output=True, text=True).stdout
            for path in Path("/proc").glob("[0-9]*/cmdline")
        ]
        if not any(words in line and "pytest" not in line.split("\0")[0] for line in lines):
            return True
        time.sleep(0.1)
    return False


def test_an_endpoint_that_fails_is_no_verdict_on_the_agent(toys: Path, tmp_path: Path) -> None:
    with Endpoint(lambda number, body: refusal(401, f"the key {KEY} is wrong")) as endpoint:
        done = run_agent(toys, tmp_path / "run", "--agent", "builtin", "--model", "m", "--base-url", endpoint.url)
    assert (done.status, done.records[0]["status"]) == (1, "harness_error")
    assert "HTTP 401" in done.text
    assert KEY not in done.text
    again = run_builtin(toys, tmp_path / "run", SOLVE)
    assert again.status == 0, again.text
    assert [record["status"] for record in again.records] == ["harness_error", "pass"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "pass exactly one of --agent and --command"),
        (("--agent", "builtin"), "builtin needs a model"),
        (("--agent", "none", "--model", "m", "--base-url", "http://x/v1"), "there is no agent 'none'"),
        (("--command", "no-such-agent"), "there is no program no-such-agent"),
        (("--command", "my-agent 'x"), "the command cannot be read: No closing quotation"),
        (("--command", " "), "the command is empty"),
        (("--command", "python x", "--env", "NO_SUCH_VARIABLE"), "NO_SUCH_VARIABLE is not set"),
        (("--command", "python x", "--sandbox", "unconfined"), "unconfined gives them no network of their own"),
        (("--command", "python x", "--task", "toylib/rebuild-none"), "did you mean toylib/rebuild-toylib"),
    ],
)
def test_wrong_input_is_named(toys: Path, tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    done = run_agent(toys, tmp_path / "run", *options)
    assert (done.status, message in done.text) == (1, True), done.text


def test_git_and_the_agent_are_needed(toys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    done = run_agent(toys, tmp_path / "run", "--command", "python x")
    assert (done.status, "there is no program git" in done.text) == (1, True), done.text
    words = ("--agent", "mini-swe-agent", "--model", "m", "--base-url", "http://x/v1")
    done = run_agent(toys, tmp_path / "run", *words)
    assert (done.status, "pip install mini-swe-agent mcp" in done.text) == (1, True), done.text


def test_a_release_is_run_only_for_attempts_that_are_left(tmp_path: Path) -> None:
    """Its tests fail on this machine; settings are refused and finished runs are resumed without them."""
    broken, out = write_toy(tmp_path / "toys"), tmp_path / "run"
    for record in broken.glob("rebuilds/*.json"):
        record.write_text(record.read_text().replace(HIDDEN[0], "tests/test_core.py::test_none"))
    done = run_agent(broken, out, "--command", "ls")
    assert (done.status, "do not pass on the release; the first, tests/" in done.text) == (1, True), done.text
    tests = dict.fromkeys(HIDDEN, "failed")
    facts = {"status": "fail", "tests": tests, "message": "", "seconds": 1.0, "memory_mb": 1.0}
    (out / "verdicts.jsonl").write_text(json.dumps({"instance": TASK, "sample": 0, **facts}) + "\n")
    assert run_agent(broken, out, "--command", "ls").status == 0
    done = run_agent(broken, out, "--command", "pwd")
    assert (done.status, "was started with agent ls" in done.text) == (1, True), done.text
    done = run_agent(broken, out, "--command", "ls", "--mount", tmp_path)
    assert (done.status, "started with other mount" in done.text) == (1, True), done.text


def test_a_file_that_the_sandbox_does_not_show_is_named(
    toys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "agents" / "my-agent"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho solved\n")
    program.chmod(0o755)
    for command in (str(program), f"sh {program}"):
        done = run_agent(toys, tmp_path / "run", "--command", command)
        assert (done.status, f"--mount {program.parent}, and write {program}" in done.text) == (1, True), done.text
    assert run_agent(toys, tmp_path / "other", "--command", str(program), "--mount", program.parent).status == 0
    monkeypatch.chdir(program.parent)
    done = run_agent(toys, tmp_path / "run", "--command", "sh my-agent", "--mount", program.parent)
    assert (done.status, f"write {program}" in done.text) == (1, True), done.text
    done = run_agent(toys, tmp_path / "run", "--command", "ls", "--mount", "none")
    assert (done.status, "there is no folder none" in done.text) == (1, True), done.text


def test_an_endpoint_that_does_not_answer_is_named_before_the_first_attempt(toys: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
    done = run_agent(toys, tmp_path / "run", "--agent", "builtin", "--model", "m", "--base-url", url)
    assert (done.status, f"no server answers at {url}" in done.text) == (1, True), done.text
    assert not (tmp_path / "run").exists()


def test_an_installed_copy_of_the_project_is_not_shown(toys: Path, tmp_path: Path, sandbox: str) -> None:
    site = tmp_path / "agents" / "lib/python3.11/site-packages"
    for name in ("toylib", "other"):
        (site / name).mkdir(parents=True)
        (site / name / "core.py").write_text(f"here is {name}")
    words = ("--command", f"cat {site}/other/core.py {site}/toylib/core.py", "--mount", tmp_path / "agents")
    done = run_agent(toys, tmp_path / "run", *words, "--sandbox", sandbox)
    if sandbox == "bubblewrap":
        assert (done.folder / "output.log").read_text().startswith("here is other")
        assert "here is toylib" not in (done.folder / "output.log").read_text()
    else:
        assert (done.status, "an installed copy of the project" in done.text) == (1, True), done.text


def test_a_mount_that_shows_the_workspace_is_refused(toys: Path, tmp_path: Path) -> None:
    for number, place in enumerate((home().parent, home() / "sources")):
        done = run_agent(toys, tmp_path / str(number), "--command", "ls", "--mount", place)
        assert (done.status, "the agent would see the workspace" in done.text) == (1, True), done.text


def test_output_that_cannot_be_written_is_an_error_and_not_the_agents_fault(toys: Path, tmp_path: Path) -> None:
    benchmark = load(toys)
    task = open_task(read_tasks(toys)[TASK], prepare(benchmark.projects["toylib"], toys), toys)
    limits = Limits(0, 60, 1024, 64, disk_mb=100)
    with open_work(task, choose_agent_sandbox(), limits) as (cell, _):
        plan = cell.describe(["/bin/sh", "-c", "echo here; exec sleep 50"], cell.environment)
        with pytest.raises(OSError, match="No space left"):
            run_in_sandbox(cell, plan, Path("/dev/full"), Relay(None, tmp_path / "log", Budget()))
