"""Which Ray does a command use, and how does it get away from it again?

The one at an address that somebody gave, or one of its own on this machine, which ends with the command. Whatever is
wrong is said within seconds: left to itself Ray tries for minutes. Ray never reports to its makers from here.
"""

import contextlib
import os
import socket
from collections.abc import Iterator

from dlbench.errors import DLBenchError

_ADDRESS = "RAY_ADDRESS"
_STORE_BYTES = 128 << 20
"""On this machine nothing is shipped, and little is needed."""
_SECONDS = 5.0
_MEND = "check the address (`ray status` on the head node); this machine must be a node of the cluster"


def connect(address: str | None, workers: int, memory_mb: float) -> bool:
    """True where it is now ours to end. `workers` and `memory_mb`: what one of our own has to offer."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    try:
        import ray
    except ImportError:
        raise DLBenchError("ray is not installed", mend="pip install 'dlbench[ray]'") from None

    if ray.is_initialized():
        return False
    given = address or os.environ.get(_ADDRESS, "")
    if given.startswith("ray://"):
        mend = "run the command on a node of the cluster, with the address of its head node (port 6379)"
        raise DLBenchError("Ray's client protocol cannot be used", where=given, mend=mend)
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    with _in_words(given):
        if given and given != "local":
            _knock(given)
            ray.init(address=given, **quiet)
        else:
            ray.init(
                address="local",
                num_cpus=workers,
                num_gpus=0,
                include_dashboard=False,
                object_store_memory=_STORE_BYTES,
                _memory=int(workers * memory_mb) << 20,
                **quiet,
            )
    _hush()
    return True


def _hush() -> None:
    """Ray tells of nodes that die on standard output, where a command's own results go; seats tell of it themselves."""
    from ray._private import worker

    worker.print_to_stdstream = lambda *args, **named: None


@contextlib.contextmanager
def _in_words(address: str) -> Iterator[None]:
    try:
        yield
    except DLBenchError:
        raise
    except Exception as error:  # Ray raises whatever its parts do
        first = str(error).strip().splitlines()
        what = f"there is no Ray to be had: {first[0] if first else type(error).__name__}"
        raise DLBenchError(what, where=address, mend=_MEND if address else "`ray start --head` may say more") from None


def _knock(address: str) -> None:
    """Is anybody there at all?"""
    host, _, port = address.rpartition(":")
    if address == "auto":
        return
    if not host or not port.isdigit():
        raise DLBenchError("not an address of Ray", where=address, mend="give HOST:PORT, or auto")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise DLBenchError(f"no Ray answers there: {error}", where=address, mend=_MEND) from None
