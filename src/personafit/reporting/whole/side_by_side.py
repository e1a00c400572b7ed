"""Raters of relevance and preference runs side by side: the tables of `study` that say how far they agree."""

from collections.abc import Sequence

from personafit.reporting.number_tables import NumberRow
from personafit.reporting.preference.scores import PreferenceScores
from personafit.reporting.preference.tables import number_text
from personafit.reporting.recentering_study.figures import study_figures
from personafit.reporting.recentering_study.loading import StudyAnalysis
from personafit.reporting.recentering_study.printing import PERCENT
from personafit.reporting.recentering_study.relevance import relevance_findings, run_relevance
from personafit.reporting.recentering_study.tables import StudyTable, study_tables
from personafit.reporting.results import Result
from personafit.reporting.sections import Cell
from personafit.reporting.whole.content import Grid, Picture, Piece
from personafit.store import RunRecord, Store

TABLES = (
    "kappa_blocks",
    "kappa_pairs",
    "yes_rates",
    "ceilings",
)  # the others are in the chapters of the runs
MATRIX = "kappa_matrix"
READING = "How to read it: 1 is full agreement, 0 is what chance gives. The intervals are in the table."
CAPTION = "Shares in %, kappa as it is, 95 % interval below."
PUBLISHED = "published"


def relevance_agreement(store: Store, run: RunRecord) -> StudyAnalysis:
    """Everybody who said which attributes matter: the run's raters and what came with its data."""
    found = run_relevance(store, run)
    return StudyAnalysis(run.name, found, None, relevance_findings(found), [])


def preference_agreement(scores: PreferenceScores, results: Sequence[Result]) -> StudyAnalysis:
    """Everybody who marked answers."""
    return StudyAnalysis(scores.run.name, None, scores, list(results), [])


def study_pieces(study: StudyAnalysis) -> list[Piece]:
    """The matrix of kappas and the tables on agreement."""
    pieces: list[Piece] = []
    if study.relevance is not None and (matrix := study_figures(study).get(MATRIX)) is not None:
        pieces.append(Picture("Kappa of every two raters", READING, matrix))
    grids = [_grid(table) for table in study_tables(study) if table.name in TABLES]
    return [*pieces, *(grid for grid in grids if grid.rows)]


def _grid(table: StudyTable) -> Grid:
    """Its columns up to the first number are names."""
    names = next(
        place
        for place in range(len(table.headings))
        if any(isinstance(row[place], Result) for row in table.rows)
    )
    rows = [
        NumberRow(
            [str(cell or "") for cell in row[:names]],
            [_cell(cell) for cell in row[names:]],
            source=next((_quoted(cell) for cell in row[names:] if PUBLISHED in row[:names]), None),
        )
        for row in table.rows
        if any(isinstance(cell, Result) and cell.value is not None for cell in row)
    ]
    headings = [heading.replace("_", " ") for heading in table.headings]
    return Grid(table.title, CAPTION, headings[:names], headings[names:], rows)


def _cell(cell: str | Result | None) -> Cell:
    if not isinstance(cell, Result):
        return Cell(cell or "")
    if cell.value is None:
        return Cell()
    percent = cell.metric in PERCENT
    interval = ""
    if cell.low is not None and cell.high is not None:
        interval = " to ".join(number_text(end, cell.metric, percent) for end in (cell.low, cell.high))
    return Cell(number_text(cell.value, cell.metric, percent), interval, cell.value)


def _quoted(cell: str | Result | None) -> str:
    return (isinstance(cell, Result) and cell.note) or PUBLISHED
