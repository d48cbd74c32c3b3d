"""What does a user see when something is wrong?

Every failure that a person can mend is a `DLBenchError`: what is wrong, where, and how to mend it. The command line
prints it and ends with a status other than 0; anything else that escapes is a bug of ours and keeps its traceback.
"""


class DLBenchError(Exception):
    def __init__(self, what: str, *, where: str = "", mend: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.mend = mend

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        return f"{text}\n  mend: {self.mend}" if self.mend else text
