"""Start an agent inside its sandbox; this script runs there and needs nothing but Python.

`listen CHANNEL PORT COMMAND…` opens the port of the relay in the sandbox's own network and hands it to the host, which
answers with the plan. `run` drops all privileges and becomes the agent.
"""

import contextlib
import fcntl
import json
import os
import socket
import struct
import sys
from pathlib import Path

_SET_FLAGS, _UP_AND_RUNNING = 0x8914, 0x41
_PLAN = "DLBENCH_PLAN"


def listen(channel: int, port: int, command: list[str]) -> None:
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh14x", b"lo", _UP_AND_RUNNING))
    listener = socket.create_server(("127.0.0.1", port), backlog=64)
    with socket.socket(fileno=channel) as host:
        network = Path("/proc/self/ns/net").readlink()
        socket.send_fds(host, [bytes(network)], [listener.fileno()])
        listener.close()
        plan = b"".join(iter(lambda: host.recv(1 << 16), b""))
    if plan:  # empty: the host refuses this network
        os.environ[_PLAN] = plan.decode()
        os.execv(command[0], command)


def run() -> None:
    plan = json.loads(os.environ.pop(_PLAN))
    sys.path.insert(0, str(Path(__file__).parent))

    from inside import privileges  # type: ignore[import-not-found]

    privileges.set_limits(plan["limits"])
    privileges.give_up_privileges(plan["user"], bytes.fromhex(plan["seccomp"]))
    os.chdir(plan["folder"])
    try:
        os.execve(plan["command"][0], plan["command"], plan["environment"])
    except OSError as error:
        print(f"{plan['command'][0]} cannot be run in the sandbox: {error}", flush=True)
        sys.exit(127)


if __name__ == "__main__":
    if sys.argv[1] == "listen":
        listen(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
    else:
        run()
