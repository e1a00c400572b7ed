"""Progress on long work: bars in a terminal, a line now and then in a log file. Always on standard error."""

import sys
import time
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

LOG_SECONDS = 15.0


class ProgressView(Protocol):
    """Receives the engine's progress."""

    def begin(self, lane: str, total: int) -> None:
        """A lane starts."""

    def advance(self, lane: str, by: int, note: str = "") -> None:
        """`by` more jobs of the lane are stored."""


class Silence:
    """No progress at all."""

    def begin(self, lane: str, total: int) -> None:
        """Say nothing."""

    def advance(self, lane: str, by: int, note: str = "") -> None:
        """Say nothing."""


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
        elif self._counts:
            self._line()

    def begin(self, lane: str, total: int) -> None:
        if self._live:
            self._tasks[lane] = self._bars.add_task(lane.replace("[", r"\["), total=total, note="")
        self._counts[lane] = [0, total]

    def advance(self, lane: str, by: int, note: str = "") -> None:
        self._counts[lane][0] += by
        if self._live:
            self._bars.update(self._tasks[lane], advance=by, note=note)
        elif time.monotonic() - self._last_line > LOG_SECONDS:
            self._line()

    def _line(self) -> None:
        self._last_line = time.monotonic()
        parts = [f"{lane} {done}/{total}" for lane, (done, total) in self._counts.items()]
        print(f"{time.strftime('%H:%M:%S')}  {';  '.join(parts)}", file=sys.stderr, flush=True)
