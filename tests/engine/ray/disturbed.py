"""A store that lets something happen in the middle of a run: when the first answers are safe and others are still to come."""

from collections.abc import Callable, Sequence
from pathlib import Path

from sqlalchemy import func, select

from personafit import Store
from personafit.store import Outcome
from personafit.store import tables as t


class DisturbedStore(Store):
    """Calls `disturb` once, as soon as an answer of such a rater is stored."""

    def __init__(self, url: str | Path, kind: str, disturb: Callable[[], None]) -> None:
        super().__init__(url)
        self._kind, self._disturb = kind, disturb
        self.stored_before: int | None = None

    def write(self, outcomes: Sequence[Outcome], run: int | None = None, links: Sequence[str] = ()) -> None:
        """Store, then disturb if it is time."""
        super().write(outcomes, run, links)
        if self.stored_before is None and (count := self._count()):
            self.stored_before = count
            self._disturb()

    def _count(self) -> int:
        asks = t.asks.join(t.raters, t.raters.c.fingerprint == t.asks.c.rater)
        query = select(func.count()).select_from(asks).where(t.raters.c.kind == self._kind)
        return int(self.frame(query).item())
