"""Pages that open offline: all in one file, and nothing in it asks another host or runs what a model wrote."""

from dlbench.reporting.page.browser import write_browser
from dlbench.reporting.page.report import write_page

__all__ = ["write_browser", "write_page"]
