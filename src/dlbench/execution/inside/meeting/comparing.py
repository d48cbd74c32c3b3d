"""What is imported when numbers are first compared, so that no check has to wait for it?

Frameworks load half of themselves with their first comparison: `torch.testing.assert_close` takes seconds the first
time. Once, before the forks, it is paid for all.
"""

from __future__ import annotations

import contextlib
import sys
from typing import Any


def warm_up() -> None:
    modules: dict[str, Any] = sys.modules
    with contextlib.suppress(Exception):
        numpy = modules["numpy"]
        __import__("numpy.testing")
        numpy.testing.assert_allclose(numpy.ones(2), numpy.ones(2))
    with contextlib.suppress(Exception):
        torch = modules["torch"]
        __import__("torch.testing")
        torch.testing.assert_close(torch.ones(2), torch.ones(2))
        torch.manual_seed(0)
    with contextlib.suppress(Exception):
        __import__("unittest.mock")
