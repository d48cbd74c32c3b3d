"""Projects of the user's own: a folder, a file, a repository or a private index, never a stranger's package."""

import json
import shutil
from datetime import date
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dlbench.cli import app
from dlbench.construction import WorkFolder
from dlbench.construction.history import date_functions, find_recent_projects
from dlbench.construction.pipeline import Pipeline
from dlbench.construction.private import locate
from dlbench.construction.project_spec import (
    ProjectSpec,
    parse_spec,
    propose_project,
    read_project_requirements,
    read_specs,
    write_record,
)
from dlbench.construction.write_instances import copy_project
from dlbench.dataset import Project
from dlbench.errors import DLBenchError
from dlbench.execution import Engine
from dlbench.workspace import fetch
from dlbench.workspace.home import quiet
from dlbench.workspace.source import pin

from ..workspace.parts import Index, make_sdist
from ..workspace.test_source import git
from .fake_index import GOOD, isolate, publish

NAME = "tiny-net"
PYPROJECT = '[project]\nname = "tiny-net"\nversion = "3.2"\ndependencies = ["numpy>=1.2"]\n'
OURS = {name: text for name, text in GOOD.items() if name != "PKG-INFO"} | {"pyproject.toml": PYPROJECT}


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(tmp_path, monkeypatch)


@pytest.fixture
def ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the user's in the current one, named as a package of a stranger is."""
    folder = tmp_path / "here" / NAME
    for name, text in OURS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    monkeypatch.chdir(folder.parent)
    return folder


@pytest.fixture
def stranger(index: Index) -> Index:
    """An index on which somebody else has uploaded a package of the same name."""
    publish(index)
    return index


def propose(argument: str, root: Path) -> Project:
    return propose_project(parse_spec(argument), root, quiet)


def test_name_that_is_also_a_folder_is_refused(ours: Path, stranger: Index, tmp_path: Path) -> None:
    for command in ("run", "collect"):
        ended = CliRunner().invoke(app, ["construct", command, NAME, "--work", str(tmp_path / "work")])
        assert ended.exit_code == 1
        assert "write ./tiny-net for the folder, or index:tiny-net for the package on the index" in ended.output
    assert stranger.requests == []
    assert propose(f"index:{NAME}", tmp_path).archive == "tiny_net-1.0.tar.gz"


def test_folder_is_taken_and_the_index_is_not_asked(ours: Path, stranger: Index, tmp_path: Path) -> None:
    (ours / "tiny_net/core.py").write_text(GOOD["tiny_net/core.py"] + "\nOURS = True\n")
    root = tmp_path / "work" / "benchmark"
    project = propose(f"./{NAME}", root)
    assert (project.name, project.version, project.archive) == (NAME, "3.2", None)
    assert (root / (project.path or "")).resolve() == ours
    assert "OURS" in (fetch(project, root, quiet) / "tiny_net/core.py").read_text()
    rows = [{"id": "tiny-net/tiny_net.core.double", "qualname": "double"}]
    assert date_functions(project, rows) == {"tiny-net/tiny_net.core.double": date.today()}
    _, left_out = find_recent_projects([parse_spec(f"./{NAME}")], date(2020, 1, 1), quiet)
    assert [row["why"] for row in left_out] == ["it is not on the package index, which dates functions"]
    assert stranger.requests == []


def test_name_alone_never_replaces_a_folder_that_was_set_up(
    ours: Path, stranger: Index, work: WorkFolder, engine: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from dlbench.construction.project_spec import write_record

    write_record(propose(f"./{NAME}", work.root / "benchmark"), work.root / "benchmark")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DLBenchError, match="was set up here from"):
        Pipeline(engine, work, parse_spec(NAME), quiet).collect()
    assert stranger.requests == []


def test_archive_files_are_taken(ours: Path, stranger: Index, tmp_path: Path) -> None:
    make_sdist(tmp_path / "here/tiny_net-4.0.tar.gz", OURS, "tiny_net-4.0/")
    project = propose("tiny_net-4.0.tar.gz", tmp_path)
    assert (project.name, project.version, project.tests.root) == (NAME, "4.0", "tests")
    inner = {name: text for name, text in OURS.items() if name.startswith("tiny_net/")}
    inner["tiny_net/tests/test_core.py"] = OURS["tests/test_core.py"]
    inner["tiny_net-5.0.dist-info/METADATA"] = "Name: tiny-net\nRequires-Dist: scipy\n"
    wheel = shutil.make_archive(str(tmp_path / "wheel"), "zip", _write(tmp_path / "unpacked", inner))
    Path(wheel).rename(tmp_path / "here/tiny_net-5.0-py3-none-any.whl")
    project = propose("./tiny_net-5.0-py3-none-any.whl", tmp_path)
    tree = fetch(project, tmp_path, quiet)
    assert (project.version, project.tests.root) == ("5.0", "tiny_net/tests")
    assert read_project_requirements(tree, (), only_these=False) == ["scipy", "pytest"]
    assert stranger.requests == []


def _write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_repository_is_pinned_to_a_revision(ours: Path, stranger: Index, tmp_path: Path) -> None:
    git(ours, "init", "--quiet", "--initial-branch", "main")
    git(ours, "add", "--all")
    git(ours, "commit", "--quiet", "-m", "one")
    first = git(ours, "rev-parse", "HEAD")
    git(ours, "tag", "-a", "v1", "-m", "one")
    git(ours, "branch", "old/main")
    (ours / "new.txt").touch()
    git(ours, "add", "--all")
    git(ours, "commit", "--quiet", "-m", "two")
    newest = git(ours, "rev-parse", "HEAD")
    address = f"git+file://{ours}"
    found = {
        text: propose(text, tmp_path) for text in (address, f"{address}@v1", f"{address}@main", f"{address}@{first}")
    }
    assert [one.git.rev for one in found.values() if one.git] == [newest, first, newest, first]
    assert found[address].name == NAME
    assert propose(f"git+./{NAME}", tmp_path).git == found[address].git.model_copy(update={"url": str(ours)})
    with pytest.raises(DLBenchError, match="no branch or tag 'nowhere'"):
        propose(f"{address}@nowhere", tmp_path)
    assert stranger.requests == []


@pytest.mark.parametrize(
    ("text", "name"),
    {
        "git+https://user@host/team/net.git@feature/x": "net",
        "git@host:team/net.git": "net",
        "git+ssh://git@host/net": "net",
        "https://host/my%20net.git": "my-20net",
    }.items(),
)
def test_repository_gives_the_project_its_name(text: str, name: str) -> None:
    assert locate(text) == (name, "", text.removeprefix("git+"))


def test_missing_folder_is_reported_and_not_looked_up(ours: Path, stranger: Index) -> None:
    with pytest.raises(DLBenchError, match="there is no such folder or file"):
        parse_spec("./nowhere")
    Path("bare").mkdir()
    with pytest.raises(DLBenchError, match="the folder has no Python file"):
        parse_spec("./bare")
    assert stranger.requests == []


def test_work_folder_inside_the_project_is_refused(ours: Path) -> None:
    ended = CliRunner().invoke(app, ["construct", "run", f"./{NAME}", "--work", f"{NAME}/construction"])
    assert ended.exit_code == 1
    assert "the work folder is inside the project" in ended.output


def test_two_projects_of_one_name_are_refused(ours: Path, tmp_path: Path) -> None:
    shutil.copytree(ours, tmp_path / "other" / NAME)
    arguments = ["construct", "run", f"./{NAME}", f"../other/{NAME}", "--work", str(tmp_path / "work")]
    ended = CliRunner().invoke(app, arguments)
    assert ended.exit_code == 1
    assert f"two projects have the name {NAME}" in ended.output


def test_functions_of_another_folder_are_not_written_beside_those_of_the_first(ours: Path, tmp_path: Path) -> None:
    sources = [ours, Path(shutil.copytree(ours, tmp_path / "other" / NAME))]
    made = [tmp_path / f"made{number}" for number in range(2)]
    for root, source in zip([*made, tmp_path / "written"], [*sources, ours], strict=True):
        for folder in ("projects", "locks"):
            (root / folder).mkdir(parents=True)
        (root / "VERSION").write_text("1.0\n")
        write_record(pin(propose(str(source), root), root), root)
    assert copy_project(made[0], tmp_path / "written", NAME).name == NAME
    with pytest.raises(DLBenchError, match="from another source than these functions"):
        copy_project(made[1], tmp_path / "written", NAME)


def test_paths_of_a_project_list_are_relative_to_it(ours: Path, tmp_path: Path) -> None:
    listed = tmp_path / "projects.toml"
    listed.write_text('[[project]]\nname = "own"\npath = "here/tiny-net"\n')
    (spec,) = read_specs(listed)
    assert spec == ProjectSpec("own", path=str(ours))


@pytest.mark.parametrize(
    "files",
    [
        {"pyproject.toml": PYPROJECT + '[dependency-groups]\ntest = ["parameterized", {include-group = "x"}]\n'},
        {"setup.cfg": "[options]\ninstall_requires =\n  numpy>=1.2\n[options.extras_require]\ntest = parameterized\n"},
        {"setup.py": "setup(install_requires=['numpy>=1.2'], extras_require={'test': ['parameterized']})\n"},
        {
            "pyproject.toml": '[project]\ndynamic = ["dependencies"]\noptional-dependencies.test = ["parameterized"]\n',
            "requirements.txt": "numpy>=1.2\n",
        },
        {
            "pyproject.toml": '[project]\nname = "Acme"\ndependencies = ["numpy>=1.2"]\n[project.optional-dependencies]\n'
            'dev = ["acme[checks]"]\nchecks = ["parameterized"]\n'
        },
        {
            "setup.py": "setup(install_requires=read())\n",
            "requirements.txt": "numpy>=1.2  # why\n-e .\nparameterized\n",
        },
    ],
)
def test_requirements_are_read_from_the_source(tmp_path: Path, files: dict[str, str]) -> None:
    found = read_project_requirements(_write(tmp_path, files), (), only_these=False)
    assert found == ["numpy>=1.2", "parameterized", "pytest"]


def test_requirement_from_a_url_is_refused(tmp_path: Path) -> None:
    files = {"pyproject.toml": '[project]\nname = "acme"\ndependencies = ["other @ git+https://host/other"]\n'}
    with pytest.raises(DLBenchError, match="other is required from a URL"):
        read_project_requirements(_write(tmp_path, files), (), only_these=False)


def test_credentials_in_a_repository_are_refused_and_not_shown(ours: Path, tmp_path: Path) -> None:
    with pytest.raises(DLBenchError, match="credentials") as refused:
        propose("git+https://user:token@host/net.git", tmp_path)
    assert "token" not in str(refused.value)


@pytest.mark.parametrize("kind", ["html", "json", "find-links"])
def test_private_index_needs_only_the_simple_api(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    pinned = make_sdist(index.files / "tiny_net-2.0.tar.gz", OURS, "tiny_net-2.0/")
    index.list(NAME)
    if kind == "json":
        file = {
            "filename": "tiny_net-2.0.tar.gz",
            "url": "../../files/tiny_net-2.0.tar.gz",
            "hashes": {"sha256": pinned},
        }
        page = {
            "meta": {"api-version": "1.1"},
            "name": NAME,
            "files": [file | {"upload-time": "2026-02-03T10:00:00Z", "size": 9}],
        }
        (index.folder / "simple" / NAME / "index.html").write_text(json.dumps(page))
        index.content_type = "application/vnd.pypi.simple.v1+json"
    if kind == "find-links":
        publish(index, files=GOOD, versions={"9.0": ""})
        away = shutil.move(index.files / "tiny_net-2.0.tar.gz", tmp_path)
        monkeypatch.setenv("PIP_FIND_LINKS", str(Path(away).parent))
    project = propose_project(ProjectSpec(NAME), tmp_path, quiet)
    assert (project.version, project.sha256, project.license) == ("2.0", pinned, "MIT")
    assert project.released == (date(2026, 2, 3) if kind == "json" else date.today())
    assert (fetch(project, tmp_path, quiet) / "pyproject.toml").is_file()
    _, left_out = find_recent_projects([ProjectSpec(NAME)], date.today(), quiet)
    assert [row["why"].partition(",")[0] for row in left_out] == [
        "its newest release is from 2026-02-03" if kind == "json" else "the index gives no upload dates"
    ]


def test_unreachable_index_does_not_lead_to_the_next(
    stranger: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", stranger.url)
    with pytest.raises(DLBenchError, match="could not be queried"):
        propose(f"index:{NAME}", tmp_path)
    assert stranger.requests == []


def test_run_fails_when_every_project_is_left_out(index: Index, tmp_path: Path) -> None:
    ended = CliRunner().invoke(app, ["construct", "run", "nowhere", "--work", str(tmp_path / "work")])
    assert ended.exit_code == 1
    assert "nowhere: failed: nowhere: no configured index has this package" in ended.output
    assert "every project was left out" in ended.output
