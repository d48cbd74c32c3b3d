"""What does a user see when something is wrong?

Every failure that a person can fix is a `DLBenchError`: what is wrong, where, and how to fix it. The command line
prints it and ends with a status other than 0; anything else that escapes is a bug of ours and keeps its traceback.
"""

import errno


class DLBenchError(Exception):
    def __init__(self, what: str, *, where: str = "", fix: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.fix = fix

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        return f"{text}\n  fix: {self.fix}" if self.fix else text


class DiskFull(DLBenchError):
    """Whatever is tried next fails as well, so that work which goes on after other failures ends at this one."""


def is_full_disk(error: BaseException) -> bool:
    return isinstance(error, DiskFull) or (isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT))
