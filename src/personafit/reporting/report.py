"""What a report is made of: parts, each about one run, study, audit or training, in the order in which they are read.

A part says first what came out, shows one picture and one small table, and holds everything else in sections that a page folds. The
same parts become a page, text in the terminal, tables as CSV and LaTeX, or JSON.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from personafit.reporting.agree_ratings import Source
from personafit.reporting.pieces import Instrument, Piece, Section
from personafit.reporting.result import Result
from personafit.reporting.verdict import SubjectVerdict
from personafit.statistics.decisions import MARGIN


@dataclass(frozen=True)
class ReportPart:
    """One run, study, audit or training of a report."""

    name: str
    """The run, study or folder it is of."""
    title: str
    sentences: Sequence[str]
    """What came out, about the thing that was tested: the first thing a reader sees."""
    lead: Sequence[Piece] = ()
    """One picture and one small table, never folded; warnings before them."""
    sections: Sequence[Section] = ()
    """Everything else, folded."""
    browser: Sequence[Piece] = ()
    """What can be searched and looked into."""
    instrument: Instrument | None = None
    facts: Sequence[str] = ()
    """A few words each for the line below the title: items, people, date, coverage."""
    about: str = ""
    """What the data are, in their makers' words; on the page only."""
    subjects: Sequence[SubjectVerdict] = ()
    """What was tested, for the table of a report with several parts."""

    def pieces(self) -> list[Piece]:
        """Every piece in the order in which it is read, but for the browser."""
        return [
            *self.lead,
            *(piece for section in self.sections for piece in section.pieces),
            *([self.instrument] if self.instrument is not None else []),
        ]


class KindReport(ABC):
    """A run of one kind, read back. Printing and writing a report is the same for all kinds."""

    benchmark: str
    """The benchmark's name, as in results."""
    coverage_bar: float
    """A run whose worst coverage is below this fails."""
    results: list[Result]
    """Every number of the run."""
    margin: float = MARGIN
    """Differences within this count as none in tests of equivalence."""
    complete: bool = False
    """Whether analyses that take long on a large run are included."""
    sources: Sequence[Source] = ()
    """Studies and folders with people's votes, where a report has them beside the run."""

    @abstractmethod
    def part(self) -> ReportPart:
        """The run as a part of a report."""

    @abstractmethod
    def sentences(self) -> list[str]:
        """What the run shows besides its verdict, a sentence each: what was tested, by the kind's own words."""

    @abstractmethod
    def worst_coverage(self) -> tuple[str, float] | None:
        """Who was asked for and answered least, and the share answered."""

    def brief(self) -> ReportPart:
        """The part as far as a terminal or a notebook shows it; a kind whose sections take long to make leaves them out."""
        return self.part()
