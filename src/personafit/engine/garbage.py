"""Python's cycle collector, held back while a run is under way.

Thousands of asks in flight and planned are live, not garbage: at Python's default pace the collector walks over them
again and again, at a quarter or more of a run's processor time. Rarer walks find the same cycles a little later.
"""

import contextlib
import gc
from collections.abc import Iterator

ALLOCATIONS = 200_000  # between two walks over the young; Python's own figure is 700


@contextlib.contextmanager
def rare_collections() -> Iterator[None]:
    """Collect cycles rarely within the block, and as before after it."""
    young, middle, old = gc.get_threshold()
    if young:  # 0 is somebody's wish for no collections at all
        gc.set_threshold(max(young, ALLOCATIONS), middle, old)
    try:
        yield
    finally:
        gc.set_threshold(young, middle, old)
