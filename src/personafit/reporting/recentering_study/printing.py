"""A study in the terminal."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from personafit.reporting.preference.tables import number_text
from personafit.reporting.recentering_study.loading import StudyAnalysis
from personafit.reporting.recentering_study.tables import StudyTable, study_tables
from personafit.reporting.results import Result

MOST_PAIRS = 40
PERCENT = frozenset(
    ["yes_rate", "accuracy", "precision", "recall", "f1", "no_better", "no_better_items", "win_rate",
     "win_rate_length_controlled", "mention_rate", "mention_rate_items"]
)  # fmt: skip


def print_study(console: Console, study: StudyAnalysis) -> None:
    """All tables, and what has to be said about them."""
    for table in study_tables(study):
        console.print(_table(table))
    undefined = [
        f"{result.metric} of {result.rater or 'all'}: {result.note}."
        for result in study.results
        if result.value is None
        and result.note
        and result.metric.startswith(("human_", "mention_rate_against", "spearman"))
    ]
    for note in dict.fromkeys([*study.notes, *undefined]):
        console.print(Text(note, style="dim"))


def _table(found: StudyTable) -> Table:
    table = Table(title=Text(f"{found.title}; shares in %, 95 % interval below"), title_justify="left")
    for heading in found.headings:
        table.add_column(Text(heading.replace("_", "\n")), overflow="fold")
    for row in found.rows[:MOST_PAIRS]:
        quiet = any(cell == "published" for cell in row)
        table.add_row(*(_cell(cell) for cell in row), style="dim" if quiet else "")
    if len(found.rows) > MOST_PAIRS:
        table.add_row(f"and {len(found.rows) - MOST_PAIRS} more, in the CSV")
    return table


def _cell(cell: str | Result | None) -> Text | str:
    if cell is None:
        return ""
    if isinstance(cell, str):
        return Text(cell)
    if cell.value is None:
        return ""
    percent = cell.metric in PERCENT
    shown = number_text(cell.value, cell.metric, percent)
    if cell.low is None or cell.high is None:
        return Text(shown)
    ends = " to ".join(number_text(end, cell.metric, percent) for end in (cell.low, cell.high))
    return Text.assemble(shown, "\n", (ends, "dim"))
