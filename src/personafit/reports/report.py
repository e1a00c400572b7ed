"""What a report is made of: parts, each about one run, study, audit or training, in the order in which they are read.

A part says first what came out, shows one picture and one small table, and holds everything else in sections that a page folds. The
same parts become a page, text in the terminal, tables as CSV and LaTeX, or JSON.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from personafit.reports.pieces import Instrument, Piece, Section
from personafit.reports.verdict import SubjectVerdict


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
