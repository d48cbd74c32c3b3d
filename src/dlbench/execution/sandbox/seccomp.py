"""Build the seccomp filter that denies system calls to a candidate in every sandbox.

Among them are io_uring, which bypasses a filter, and memory that no limit counts. A denied call fails with EPERM, as in
a container. Landlock does not cover modes and owners of files: calls that change them succeed there without effect.
"""

import platform
import struct

_LOAD, _JUMP_EQUAL, _JUMP_GREATER_EQUAL, _JUMP_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_DENY, _UNKNOWN, _PRETEND = _ERROR | 1, _ERROR | 38, _ERROR | 0  # EPERM, ENOSYS, success
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_SECOND_ARGUMENT, _FOURTH_ARGUMENT = 24, 40
_LOCAL_SOCKET, _NETWORK_SOCKETS = 1, (2, 10, 16)
"""Families of sockets: local ones; IPv4, IPv6 and what tells of them (netlink)."""
_OPEN_FILE_LOCKS = 36
"""The first of the three commands of fcntl for locks that outlive a process."""
_X32_BIT = 0x40000000
_NEW_NAMESPACES = 0x7E020000

_NUMBERS = {
    "socket": (41, 198), "clone": (56, 220), "clone3": (435, 435), "memfd_create": (319, 279),
    "memfd_secret": (447, 447), "shmget": (29, 194), "ptrace": (101, 117), "personality": (135, 92),
    "pivot_root": (155, 41), "chroot": (161, 51), "acct": (163, 89), "settimeofday": (164, 170), "mount": (165, 40),
    "umount2": (166, 39), "swapon": (167, 224), "swapoff": (168, 225), "reboot": (169, 142), "sethostname": (170, 161),
    "init_module": (175, 105), "delete_module": (176, 106), "quotactl": (179, 60), "clock_settime": (227, 112),
    "kexec_load": (246, 104), "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    "unshare": (272, 97), "perf_event_open": (298, 241), "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265), "setns": (308, 268), "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271), "finit_module": (313, 273), "kexec_file_load": (320, 294), "bpf": (321, 280),
    "userfaultfd": (323, 282), "io_uring_setup": (425, 425), "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427), "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430),
    "fsmount": (432, 432), "pidfd_getfd": (438, 438), "mount_setattr": (442, 442), "mincore": (27, 232),
    "preadv2": (327, 286), "mlock": (149, 228), "munlock": (150, 229), "mlockall": (151, 230),
    "munlockall": (152, 231), "mlock2": (325, 284),
}  # fmt: skip
"""System calls with their numbers on x86_64 and aarch64."""
_FCNTL, _MMAP = (72, 25), (9, 222)
_MAP_LOCKED = 0x2000
_PRETENDED = {"fadvise64": (221, 223), "flock": (73, 32)}
"""With the cache of pages, with locks of files and of memory, and with what tells of them (`mincore`, `preadv2`), the
process of a candidate could send what it saw of the tests to the one that answers a replay."""
_SET_AFFINITY = (203, 122)
"""By which an agent would take processors that were not given to it."""
_X86_64_ATTRIBUTES = (90, 91, 92, 93, 94, 132, 188, 189, 190, 197, 198, 199, 235, 260, 261, 268, 280, 452)
_AARCH64_ATTRIBUTES = (5, 6, 7, 14, 15, 16, 52, 53, 54, 55, 88, 452)
"""chmod, chown, utime, setxattr, removexattr and related calls."""
_MACHINES = {"x86_64": (0xC000003E, 0, _X86_64_ATTRIBUTES), "aarch64": (0xC00000B7, 1, _AARCH64_ATTRIBUTES)}


def find_filter_obstacle() -> str:
    return "" if platform.machine() in _MACHINES else "no system-call filter is known for this machine's architecture"


def build_filter(*, mounted: bool, network: bool = False) -> bytes:
    """The filter program. `mounted`: the visible file system is mounted for the candidate alone. `network`: it has a
    network of its own, and nobody answers a replay."""
    families = [_LOCAL_SOCKET] * mounted + [*_NETWORK_SOCKETS] * network
    architecture, column, attributes = _MACHINES[platform.machine()]
    program = [
        _step(_LOAD, _ARCHITECTURE),
        _step(_JUMP_EQUAL, architecture, 1, 0),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER),
        # the x32 calling convention would bypass every number below
        _step(_JUMP_GREATER_EQUAL, _X32_BIT, 0, 1),
        _step(_RETURN, _KILL),
    ]
    for name, numbers in _NUMBERS.items():
        number = numbers[column]
        if name == "socket" and families:  # if mounted, a local socket cannot reach the host
            last = len(families) - 1
            test = [_step(_JUMP_EQUAL, one, last - place, place == last) for place, one in enumerate(families)]
            program += _decide_by_argument(number, test, _ALLOW, _DENY)
        elif name == "clone":
            program += _decide_by_argument(number, [_step(_JUMP_ANY_BIT, _NEW_NAMESPACES, 0, 1)], _DENY, _ALLOW)
        else:  # a filter cannot see the flags of clone3; if it seems missing, libraries use clone
            program += [_step(_JUMP_EQUAL, number, 0, 1), _step(_RETURN, _UNKNOWN if name == "clone3" else _DENY)]
    program += _decide_by_argument(
        _FCNTL[column],
        [_step(_JUMP_GREATER_EQUAL, _OPEN_FILE_LOCKS, 0, 2), _step(_JUMP_GREATER_EQUAL, _OPEN_FILE_LOCKS + 3, 1, 0)],
        _DENY,
        _ALLOW,
        argument=_SECOND_ARGUMENT,
    )
    locked = [_step(_JUMP_ANY_BIT, _MAP_LOCKED, 0, 1)]
    program += _decide_by_argument(_MMAP[column], locked, _DENY, _ALLOW, argument=_FOURTH_ARGUMENT)
    pretended = [numbers[column] for numbers in ([_SET_AFFINITY] if network else _PRETENDED.values())]
    for number in [*pretended, *(() if mounted else attributes)]:
        program += [_step(_JUMP_EQUAL, number, 0, 1), _step(_RETURN, _PRETEND)]
    return b"".join([*program, _step(_RETURN, _ALLOW)])


def _decide_by_argument(
    number: int, test: list[bytes], if_true: int, if_false: int, argument: int = _FIRST_ARGUMENT
) -> list[bytes]:
    decided = [_step(_LOAD, argument), *test, _step(_RETURN, if_true), _step(_RETURN, if_false)]
    return [_step(_JUMP_EQUAL, number, 0, len(decided)), *decided]


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
