"""Which system calls does a candidate lose, whatever else confines it?

A filter for the kernel, put together here and installed by the runner before it touches the project: no socket but, at
most, a local one; no tracing or reading of other processes; no mounts, namespaces, kernel keys or modules; no io_uring,
which opens sockets behind a filter's back. A denied call fails with EPERM, as an honest library expects of a container.
"""

import platform
import struct

_LOAD, _JUMP_EQUAL, _JUMP_GREATER_EQUAL, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _KILL, _DENY = 0x7FFF0000, 0x80000000, 0x00050000 | 1  # EPERM
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_LOCAL_SOCKET = 1
_X32_BIT = 0x40000000

_X86_64 = {
    "socket": 41, "ptrace": 101, "personality": 135, "pivot_root": 155, "chroot": 161, "acct": 163, "settimeofday": 164,
    "mount": 165, "umount2": 166, "swapon": 167, "swapoff": 168, "reboot": 169, "sethostname": 170,
    "init_module": 175, "delete_module": 176, "quotactl": 179, "clock_settime": 227, "kexec_load": 246, "add_key": 248,
    "request_key": 249, "keyctl": 250, "unshare": 272, "perf_event_open": 298, "name_to_handle_at": 303,
    "open_by_handle_at": 304, "setns": 308, "process_vm_readv": 310, "process_vm_writev": 311, "finit_module": 313,
    "kexec_file_load": 320, "bpf": 321, "userfaultfd": 323, "io_uring_setup": 425, "io_uring_enter": 426,
    "io_uring_register": 427, "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsmount": 432, "pidfd_getfd": 438,
    "mount_setattr": 442,
}  # fmt: skip
_AARCH64 = {
    "socket": 198, "ptrace": 117, "personality": 92, "pivot_root": 41, "chroot": 51, "acct": 89, "settimeofday": 170,
    "mount": 40, "umount2": 39, "swapon": 224, "swapoff": 225, "reboot": 142, "sethostname": 161, "init_module": 105,
    "delete_module": 106, "quotactl": 60, "clock_settime": 112, "kexec_load": 104, "add_key": 217, "request_key": 218,
    "keyctl": 219, "unshare": 97, "perf_event_open": 241, "name_to_handle_at": 264, "open_by_handle_at": 265,
    "setns": 268, "process_vm_readv": 270, "process_vm_writev": 271, "finit_module": 273, "kexec_file_load": 294,
    "bpf": 280, "userfaultfd": 282, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
    "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsmount": 432, "pidfd_getfd": 438, "mount_setattr": 442,
}  # fmt: skip
_MACHINES = {"x86_64": (0xC000003E, _X86_64), "aarch64": (0xC00000B7, _AARCH64)}


def is_supported() -> bool:
    return platform.machine() in _MACHINES


def build_filter(*, local_sockets: bool) -> bytes:
    """The filter program. `local_sockets` where the file system in sight holds no socket of the host."""
    architecture, numbers = _MACHINES[platform.machine()]
    program = [
        _step(_LOAD, _ARCHITECTURE),
        _step(_JUMP_EQUAL, architecture, 1, 0),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER),
        # the second calling convention of x86 would dodge every number below
        _step(_JUMP_GREATER_EQUAL, _X32_BIT, 0, 1),
        _step(_RETURN, _KILL),
    ]
    for name, number in numbers.items():
        if name == "socket" and local_sockets:
            program += [
                _step(_JUMP_EQUAL, number, 0, 4),
                _step(_LOAD, _FIRST_ARGUMENT),
                _step(_JUMP_EQUAL, _LOCAL_SOCKET, 0, 1),
                _step(_RETURN, _ALLOW),
                _step(_RETURN, _DENY),
            ]
        else:
            program += [_step(_JUMP_EQUAL, number, 0, 1), _step(_RETURN, _DENY)]
    program.append(_step(_RETURN, _ALLOW))
    return b"".join(program)


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
