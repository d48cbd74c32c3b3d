"""Bridges to other tools: export the dataset and runs, and import answers. One package per tool."""

from enum import StrEnum


class Format(StrEnum):
    """Of an export; here, since the command line needs it without importing the exports."""

    JSONL = "jsonl"
    PARQUET = "parquet"
    HF = "hf"
    EVALPLUS = "evalplus"
    LM_EVAL = "lm-eval"
    HARBOR = "harbor"
    SWE_BENCH = "swe-bench"

    @property
    def is_of_file_tasks(self) -> bool:
        """For tasks of many files; the others are for functions."""
        return self in (Format.HARBOR, Format.SWE_BENCH)
