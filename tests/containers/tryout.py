"""Do the Dockerfile's steps work, where there is no engine to build it? They are executed in a root of Debian's packages.

    python -m tests.containers.tryout FOLDER [CHOICE]

as root, with debootstrap and bubblewrap. The base is Debian with this machine's Python in /usr/local, as in the image
that the Dockerfile names, so all but that image itself is tried: every RUN, COPY, ENV, USER and ARG, and the command of
compose.yaml, without network, as its user, and where no further namespaces can be made, as in a container without rights.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

from tests.containers.dockerfile import ROOT, Stage, read_stages

PACKAGES = "ca-certificates,netbase,tzdata,libssl3,libffi8,libsqlite3-0,libbz2-1.0,liblzma5,libreadline8,libuuid1,zlib1g,libexpat1"
# what a build may use of the machine, as an engine lends it: names of hosts, and how to reach a package index
LENT = ["/etc/resolv.conf", "/etc/hosts", "/etc/ssl/certs", "/etc/pip.conf"]


class Room:
    """A root folder, and who does what in it."""

    def __init__(self, root: Path, lent: list[str]) -> None:
        self.root, self.lent = root, lent
        self.user, self.place = "", "/"
        self.environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
        self.entry: list[str] = []

    def run(self, command: list[str], arguments: dict[str, str], *, built: bool = False) -> None:
        """During a build with the network and what is lent; afterwards with neither, and no rights to regain."""
        confined = [] if not built else ["--unshare-net", "--unshare-user", "--disable-userns", "--unshare-pid"]
        lent = [] if built else [part for place in self.lent for part in ("--ro-bind", place, place)]
        who = [] if self.user else ["--cap-add", "ALL"]
        uid, _, gid = self.user.partition(":")
        prefix = ["setpriv", "--reuid", uid, "--regid", gid, "--clear-groups"] if self.user else []
        told = {"HOME": "/home/dlbench" if self.user else "/root", **self.environment, **arguments}
        names = [part for name, value in told.items() for part in ("--setenv", name, value)]
        room = ["bwrap", "--bind", str(self.root), "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", *lent]
        whole = [*prefix, *room, *who, *confined, "--clearenv", *names, "--chdir", self.place, *command]
        print("+", shlex.join(command), flush=True)
        subprocess.run(whole, check=True)


def make_base(folder: Path, lent: list[str]) -> Path:
    base = folder / "base"
    if base.exists():
        return base
    part = folder / "base.part"
    shutil.rmtree(part, ignore_errors=True)
    subprocess.run(["debootstrap", "--variant=minbase", f"--include={PACKAGES}", "bookworm", str(part)], check=True)
    add_python(part)
    for place in lent:
        inside = part / place.lstrip("/")
        inside.parent.mkdir(parents=True, exist_ok=True)
        inside.mkdir(exist_ok=True) if Path(place).is_dir() else inside.touch()
    part.rename(base)
    return base


def add_python(root: Path) -> None:
    """This machine's own, without its packages."""
    ours, theirs = Path(sys.base_prefix), root / "usr/local"
    skip = shutil.ignore_patterns("site-packages", "test", "__pycache__", "config-3.*")
    shutil.copytree(ours / "lib/python3.11", theirs / "lib/python3.11", ignore=skip, symlinks=True)
    for library in ours.glob("lib/libpython3*.so*"):
        shutil.copy(library, theirs / "lib", follow_symlinks=False)
    shutil.copy(ours / "bin/python3.11", theirs / "bin/python3.11")
    for name in ("python", "python3"):
        (theirs / "bin" / name).symlink_to("python3.11")
    room = Room(root, [])
    room.run(["ldconfig"], {})
    room.run(["python", "-m", "ensurepip", "--default-pip"], {})


def build(stages: dict[str, Stage], name: str, folder: Path, given: dict[str, str], lent: list[str]) -> Room:
    stage = stages[name]
    root = folder / name
    shutil.rmtree(root, ignore_errors=True)
    if stage.base in stages:
        below = build(stages, stage.base, folder, given, lent)
        below.root.rename(root)
        room = below
        room.root = root
    else:
        subprocess.run(["cp", "-a", str(make_base(folder, lent)), str(root)], check=True)
        room = Room(root, lent)
    arguments: dict[str, str] = {}
    for word, text in stage.steps:
        if word == "ARG":
            key, _, default = text.partition("=")
            value = given.get(key, default.strip('"'))
            arguments |= {key: value} if value else {}
        elif word == "ENV":
            for pair in shlex.split(text):
                key, _, value = pair.partition("=")
                room.environment[key] = value.replace("$PATH", room.environment["PATH"])
        elif word == "WORKDIR":
            room.place = text
            (root / text.lstrip("/")).mkdir(parents=True, exist_ok=True)
        elif word == "USER":
            room.user = text
        elif word == "COPY":
            copy(text, room, stages, folder, given)
        elif word == "RUN":
            machine = {name: value for name, value in os.environ.items() if re.match(r"PIP_|SSL_CERT_FILE", name)}
            room.run(["/bin/sh", "-c", text], machine | arguments)
        elif word == "ENTRYPOINT":
            room.entry = yaml.safe_load(text)
    return room


def copy(text: str, room: Room, stages: dict[str, Stage], folder: Path, given: dict[str, str]) -> None:
    *sources, target = text.split()
    origin = ROOT
    if sources[0].startswith("--from="):
        other = sources.pop(0).partition("=")[2]
        origin = build(stages, other, folder, given, room.lent).root
    end = room.root / (room.place if not target.startswith("/") else "").lstrip("/") / target.lstrip("/")
    for source in sources:
        found = origin / source.lstrip("/")
        if found.is_dir():
            shutil.copytree(found, end, symlinks=True, dirs_exist_ok=True)
        else:
            shutil.copy(found, end)


def main() -> None:
    folder = Path(sys.argv[1]).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    places = os.environ.get("PIP_FIND_LINKS", "").split()
    lent = [place for place in [*LENT, *places] if Path(place).exists()]
    demo = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]["demo"]
    choice = sys.argv[2] if len(sys.argv) > 2 else demo["build"]["args"]["CHOICE"]
    stages = read_stages((ROOT / "Dockerfile").read_text())
    room = build(stages, demo["build"]["target"], folder, {"CHOICE": choice}, lent)
    room.run([*room.entry, "doctor"], {}, built=True)
    command = demo["command"].replace("--split demo", choice)
    room.run([*room.entry, *shlex.split(command)], {}, built=True)


if __name__ == "__main__":
    main()
