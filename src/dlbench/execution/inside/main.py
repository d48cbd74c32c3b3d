"""Entry point of the sandbox: read a job from standard input, drop privileges, then run one candidate or a worker."""

import json
import os
import socket
import sys


def main() -> None:
    job = json.loads(sys.stdin.buffer.read())
    descriptor = int(sys.argv[1])
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.argv = ["pytest"]
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

    from inside import privileges  # type: ignore[import-not-found]
    from inside.channel import open_channel  # type: ignore[import-not-found]

    # a worker sets the limits in the process of each candidate
    privileges.set_limits({"RLIMIT_CORE": 0} if job["mode"] == "warm" else job["limits"])
    privileges.give_up_privileges(job["user"], bytes.fromhex(job["seccomp"]))
    os.chdir(job["tree"])

    import pytest  # noqa: F401 - only now, without privileges
    from inside.fresh_run import run_imported  # type: ignore[import-not-found]
    from inside.server import CANDIDATES, run_worker  # type: ignore[import-not-found]

    sys.path[0] = job["import_path"]
    if job["mode"] == "warm":
        privileges.make_undumpable()
        os.set_inheritable(descriptor, False)
        servers = CANDIDATES
        if job["work"] == "cross_run":
            from inside.extra.cross_run import CROSS_RUN  # type: ignore[import-not-found]

            servers = CROSS_RUN
        run_worker(socket.socket(fileno=descriptor), job, servers)
    send = open_channel(descriptor, bytes.fromhex(job.pop("secret")))
    send("ready", **privileges.describe_confinement())
    if job["mode"] == "traced":
        from inside.extra.tracing import run_traced  # type: ignore[import-not-found]

        run_traced(send, job)
    if job["mode"] == "calls":
        from inside.remote import serve_calls  # type: ignore[import-not-found]

        serve_calls(send, job)
    if job["mode"] == "timed":
        from inside.extra.timed import serve_timed  # type: ignore[import-not-found]

        serve_timed(send, job)
    run_imported(send, job)


if __name__ == "__main__":
    main()
