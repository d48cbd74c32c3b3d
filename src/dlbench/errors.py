"""Define the errors that users see.

Every failure that a person can fix is a `DLBenchError`: what is wrong, where, and how to fix it. The command line
prints it and exits with a status other than 0; anything else that escapes is a bug of ours and keeps its traceback.
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
    """Later writes fail too, so work that continues after other failures stops at this one."""


def is_full_disk(error: BaseException) -> bool:
    return isinstance(error, DiskFull) or (isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT))
