"""A figure in words, for those who do not see it: every number, each group from the highest to the lowest.

Which stands above which is what a figure of dots shows; a list in that order says it, and the first and last of it are the finding.
"""

from collections.abc import Sequence
from typing import Protocol

from personafit.reporting.written import plain

MOST_SAID = 12  # numbers of one group; beyond that the highest and the lowest


class Number(Protocol):
    """A number with its interval."""

    @property
    def value(self) -> float | None:
        """The number, if there is one."""

    @property
    def low(self) -> float | None:
        """The lower end of its interval."""

    @property
    def high(self) -> float | None:
        """The upper end."""


class Named(Protocol):
    """A line of a figure."""

    @property
    def name(self) -> str:
        """Whose numbers they are."""

    @property
    def control(self) -> bool:
        """Whether it understands nothing."""

    @property
    def published(self) -> bool:
        """Whether others measured it."""

    @property
    def dots(self) -> Sequence[Number]:
        """One number a panel or series."""


def panels_in_words(titles: Sequence[str], rows: Sequence[Named]) -> str:
    """Panel by panel who is highest and who is lowest."""
    said = []
    for place, title in enumerate(titles):
        group = group_in_words([(line_name(row), row.dots[place]) for row in rows])
        if group:
            said.append(f"{' '.join(title.split())}: {group}.")
    return " ".join(said)


def series_in_words(names: Sequence[str], rows: Sequence[Named]) -> str:
    """Line by line which series is highest and which is lowest."""
    said = []
    for row in rows:
        group = group_in_words(list(zip(names, row.dots, strict=True)))
        if group:
            said.append(f"{line_name(row)}: {group}.")
    return " ".join(said)


def line_name(row: Named) -> str:
    """Whose numbers, and of what kind."""
    return row.name + (" (control)" if row.control else " (published)" if row.published else "")


def group_in_words(pairs: Sequence[tuple[str, Number]], digits: int = 1) -> str:
    """Names and numbers, the highest first; of many only those at the ends."""
    known = sorted(
        [(dot.value, name, dot) for name, dot in pairs if dot.value is not None], key=lambda one: -one[0]
    )
    said = [f"{name} {number_in_words(dot, digits)}" for _, name, dot in known]
    if len(said) > MOST_SAID:
        ends = MOST_SAID // 4
        said = [*said[:ends], f"then {len(said) - 2 * ends} more", *said[-ends:]]
    return ", ".join(said)


def number_in_words(dot: Number, digits: int = 1) -> str:
    """A number and its interval."""
    if dot.value is None:
        return "unknown"
    if dot.low is None or dot.high is None:
        return plain(dot.value, digits)
    return f"{plain(dot.value, digits)} ({plain(dot.low, digits)} to {plain(dot.high, digits)})"
