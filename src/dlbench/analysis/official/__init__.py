"""The official DL-Bench dataset: its files as they stand, what was wrong with them, and a benchmark folder of them."""

from dlbench.analysis.official.files import OfficialFile, find_files, find_others, read_files
from dlbench.analysis.official.repairs import Mended, Repair, mend_all

__all__ = ["Mended", "OfficialFile", "Repair", "find_files", "find_others", "mend_all", "read_files"]
