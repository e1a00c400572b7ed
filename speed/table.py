"""One measured ratio, and the table of all of them.

Machines are shared and noisy, so contestants take turns and a ratio is the median over the rounds: never one timing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Measurement:
    """Ours against a peer, both so that more is better."""

    name: str
    peer_name: str
    unit: str
    ours: float
    peer: float
    ratio: float
    bar: float | None = None
    """The least ratio asked for; None when the figure is for information."""

    @property
    def holds(self) -> bool:
        """Whether the bar is met."""
        return self.bar is None or self.ratio >= self.bar


def paired(
    name: str, peer_name: str, unit: str, ours: Sequence[float], peer: Sequence[float], bar: float | None
) -> Measurement:
    """The medians of both and of their ratio round by round: what slows a whole round cancels out of it."""
    ratios = [mine / theirs for mine, theirs in zip(ours, peer, strict=True)]
    return Measurement(name, peer_name, unit, median(ours), median(peer), median(ratios), bar)


def print_table(measurements: Sequence[Measurement]) -> None:
    """One line per measurement."""
    table = Table()
    for title in ("what", "against", "unit"):
        table.add_column(title)
    for title in ("ours", "peer", "ratio", "bar"):
        table.add_column(title, justify="right")
    table.add_column("verdict")
    for m in measurements:
        bar, verdict = ("", "") if m.bar is None else (f"{m.bar:g}", "holds" if m.holds else "MISSED")
        table.add_row(
            m.name, m.peer_name, m.unit, _number(m.ours), _number(m.peer), f"{m.ratio:.2f}", bar, verdict
        )
    # Wide enough for every column wherever it is printed: a log file has no width of its own.
    Console(width=130).print(table)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2f}"
