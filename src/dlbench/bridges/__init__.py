"""Bridges to other tools: export the dataset and runs, and import answers. One package per tool."""

from enum import StrEnum


class Format(StrEnum):
    """Of an export; here, since the command line needs it without importing the exports."""

    JSONL = "jsonl"
    PARQUET = "parquet"
    HF = "hf"
    EVALPLUS = "evalplus"
    LM_EVAL = "lm-eval"
