"""Progress of long runs on standard error: bars in a terminal, elsewhere a line for each lane once it is done."""

import sys
import time
from collections.abc import Iterable
from types import TracebackType
from typing import Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

LOG_SECONDS = 600.0  # interval of progress lines without a terminal


class ProgressView(Protocol):
    """A receiver of the engine's progress."""

    def begin(self, lane: str, total: int) -> None:
        """Record that a lane starts."""

    def advance(self, lane: str, by: int, note: str = "") -> None:
        """Record that `by` more jobs of the lane are stored."""


class Silence:
    """A progress view that shows nothing."""

    def begin(self, lane: str, total: int) -> None:
        """Do nothing."""

    def advance(self, lane: str, by: int, note: str = "") -> None:
        """Do nothing."""


class Bars:
    """Rich bars on a terminal, plain lines elsewhere."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._live = self._console.is_terminal
        self._tasks: dict[str, TaskID] = {}
        self._counts: dict[str, list[int]] = {}
        self._last_line = time.monotonic()
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("[dim]{task.fields[note]}"),
            console=self._console,
        )

    def __enter__(self) -> "Bars":
        if self._live:
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _tb: TracebackType | None
    ) -> None:
        if self._live:
            self._bars.stop()
        else:
            self._say([lane for lane, (done, total) in self._counts.items() if done < total])

    def begin(self, lane: str, total: int) -> None:
        if self._live:
            self._tasks[lane] = self._bars.add_task(lane.replace("[", r"\["), total=total, note="")
        self._counts[lane] = [0, total]

    def advance(self, lane: str, by: int, note: str = "") -> None:
        """Move the bar, or print a line when the lane is done or the last line is old."""
        counts = self._counts[lane]
        counts[0] += by
        if self._live:
            self._bars.update(self._tasks[lane], advance=by, note=note)
        elif (by and counts[0] == counts[1]) or time.monotonic() - self._last_line > LOG_SECONDS:
            self._say([lane])

    def _say(self, lanes: Iterable[str]) -> None:
        self._last_line = time.monotonic()
        for lane in lanes:
            done, total = self._counts[lane]
            print(f"{time.strftime('%H:%M:%S')}  {lane} {done}/{total}", file=sys.stderr, flush=True)
