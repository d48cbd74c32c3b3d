"""Where does a worker of meetings begin? As any worker does, with another way to serve."""

from __future__ import annotations

import json
import os
import socket
import sys


def main() -> None:
    job = json.loads(sys.stdin.buffer.read())
    descriptor = int(sys.argv[1])
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    sys.argv = ["pytest"]
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sys.path[0] = os.path.dirname(package)

    from inside import privileges  # type: ignore[import-not-found]

    privileges.set_limits({"RLIMIT_CORE": 0})
    privileges.give_up_privileges(job["user"], bytes.fromhex(job["seccomp"]))
    os.chdir(job["tree"])

    from inside import serving
    from inside.meeting.serving import fork_servers  # type: ignore[import-not-found]

    sys.path[0] = job["import_path"]
    privileges.become_opaque()
    os.set_inheritable(descriptor, False)
    serving._fork_servers = fork_servers
    serving.work(socket.socket(fileno=descriptor), job)


if __name__ == "__main__":
    main()
