"""A relevance run in the terminal: one table of raters, the published rows beside them, and what they may be held against."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from personafit.benchmarks.recentering.labels import published_remarks
from personafit.reporting.relevance.scores import RelevanceScores
from personafit.reporting.results import Result

COLUMNS = (
    "f1",
    "precision",
    "recall",
    "accuracy",
    "kappa",
    "yes_rate",
    "over_selection",
    "average_precision",
    "r_precision",
)
IN_TERMINAL = COLUMNS[:-1]  # what fits; the page has them all
PLAIN = frozenset({"kappa", "over_selection"})  # shown as they are, everything else in percent
NARROW = 120


def print_relevance(console: Console, scores: RelevanceScores, results: Sequence[Result]) -> None:
    """The table and the notes of a run."""
    parts = [IN_TERMINAL] if console.width >= NARROW else [IN_TERMINAL[:4], IN_TERMINAL[4:]]
    for columns in parts:
        console.print(_table(scores, results, columns, first=columns[0] == COLUMNS[0]))
    if scores.info.get("published"):
        for remark in published_remarks():
            console.print(Text(remark, style="dim"))
    for note in all_notes(scores, results):
        console.print(Text(note, style="dim"))


def all_notes(scores: RelevanceScores, results: Sequence[Result]) -> list[str]:
    """What is odd in the data, and how scores became answers."""
    notes = list(scores.run.config["notes"])
    for line in scores.lines:
        notes += [f"{line.rater}: {note}." for note in line.notes]
    return list(dict.fromkeys(notes))


def _table(scores: RelevanceScores, results: Sequence[Result], columns: Sequence[str], first: bool) -> Table:
    relevant = scores.items["relevant"].drop_nulls()
    share = (
        f"{100 * int(relevant.sum()) / len(relevant):.1f} % relevant" if len(relevant) else "none labelled"
    )
    title = (
        f"{scores.info['title'] or scores.info['name']} {len(scores.items):,} pairs, {share}\n"
        "in %, kappa and over-selection as they are; 95 % interval below"
    )
    table = Table(title=Text(title), title_justify="left")
    table.add_column("rater", overflow="fold", min_width=12)
    table.add_column("view", overflow="fold", min_width=7)
    if first:
        table.add_column("coverage", justify="right")
    for name in columns:
        table.add_column(name.replace("_", "\n"), justify="right", no_wrap=True)
    index = {(r.rater, r.view, r.metric): r for r in results if not r.slice and r.control != "published"}
    for line in scores.lines:
        head = index[line.rater, line.view, "f1"]
        cells = [_cell(index[line.rater, line.view, name]) for name in columns]
        coverage = "" if head.coverage is None else f"{100 * head.coverage:.1f}"
        name = f"{line.rater}\n({line.control})" if line.control else str(line.rater)
        table.add_row(
            Text(name),
            Text(str(line.view)),
            *([coverage] if first else []),
            *cells,
            style="dim" if line.control else "",
        )
    quoted = [row for row in scores.info.get("published", []) if set(row["scores"]) & set(columns)]
    if quoted:
        table.add_section()
        table.add_row(Text("published, not measured here:", style="italic"))
        for row in quoted:
            cells = [_quoted(row["scores"].get(name), name) for name in columns]
            source = row["source"].rpartition(", ")[2]
            table.add_row(Text(row["model"]), Text(source), *([""] if first else []), *cells, style="dim")
    return table


def _cell(result: Result) -> str:
    if result.value is None:
        return ""
    shown = shown_number(result.value, result.metric)
    if result.low is None or result.high is None:
        return shown
    ends = f"{shown_number(result.low, result.metric)}–{shown_number(result.high, result.metric)}"
    return f"{shown}\n[dim]{ends}[/dim]"


def _quoted(percent: float | None, metric: str) -> str:
    return "" if percent is None else shown_number(percent / 100, metric)


def shown_number(value: float, metric: str) -> str:
    """A number as tables show it."""
    return f"{value:.2f}" if metric in PLAIN else f"{100 * value:.1f}"
