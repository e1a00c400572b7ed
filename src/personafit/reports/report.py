"""The parts of a report, each about one run, study, audit or training, in reading order.

A part starts with its findings, one picture and one small table, and has everything else in sections that a page folds. The same parts
become a page, text in the terminal, tables as CSV and LaTeX, or JSON.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from personafit.reports.pieces import Instrument, Piece, Section
from personafit.reports.verdict import SubjectVerdict


@dataclass(frozen=True)
class ReportPart:
    """The part of a report on one run, study, audit or training."""

    name: str
    """The name of the run, study or folder."""
    title: str
    sentences: Sequence[str]
    """The findings: the first thing a reader sees."""
    lead: Sequence[Piece] = ()
    """Warnings, one picture and one small table; never folded."""
    sections: Sequence[Section] = ()
    """Everything else, folded."""
    browser: Sequence[Piece] = ()
    """The item browser, if there is one."""
    instrument: Instrument | None = None
    facts: Sequence[str] = ()
    """Short phrases for the line below the title: items, people, date, coverage."""
    about: str = ""
    """The authors' description of the data; shown on the page only."""
    subjects: Sequence[SubjectVerdict] = ()
    """The verdicts on what was tested, for the summary table of a report with several parts."""

    def pieces(self) -> list[Piece]:
        """Return every piece in reading order, except the browser."""
        return [
            *self.lead,
            *(piece for section in self.sections for piece in section.pieces),
            *([self.instrument] if self.instrument is not None else []),
        ]
