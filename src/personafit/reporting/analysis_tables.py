"""The tables of the further analyses in the terminal: aspects, failure modes, contrasts."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from personafit.raters.aspects import ASPECTS
from personafit.reporting.aspects import VARIABLES, Correlation, Correlations, published_aspects
from personafit.reporting.failure_rules import MODES
from personafit.reporting.failures import WHO
from personafit.reporting.results import Result, RunScores
from personafit.reporting.tables import columns_of, missing_halves

if TYPE_CHECKING:
    from personafit.reporting.contrasts import Contrast
    from personafit.reporting.line_failures import Failures

INTERVAL = len("95.0–100.0")
LONGEST = 120  # characters of a text in a table


def print_aspects(
    console: Console, scores: RunScores, results: Sequence[Result], found: Sequence[Correlations]
) -> None:
    """Accuracy by aspect and slice with the published rows below, then the correlations."""
    columns = [
        (heading, where) for heading, where in columns_of(scores) if heading != "total" or not _halved(scores)
    ]
    title = "Accuracy of choosing by one aspect, in %, 95 % interval below"
    table, dash = _slice_table(console, title, {"rater": 12, "aspect": 11}, columns)
    index = {(r.rater, r.slice["aspect"], _key(r.slice)): r for r in results}
    for rater in dict.fromkeys(r.rater for r in results):
        for aspect in ASPECTS:
            cells = [
                _cell(index.get((rater, aspect, _key({"aspect": aspect, **where}))), dash)
                for _, where in columns
            ]
            table.add_row(Text(str(rater)), aspect, *cells)
    source, rows = published_aspects(scores)
    if rows:
        table.add_section()
        table.add_row(Text("published, not measured here:", style="italic"), Text(source.split(", ", 1)[1]))
        accuracy = {(row["half"], row["tier"]): row["accuracy"] for row in rows}
        for aspect in ASPECTS:
            cells = [
                f"{100 * accuracy[where.get('half'), where.get('tier')][aspect]:.0f}" for _, where in columns
            ]
            table.add_row("", aspect, *cells, style="dim")
    console.print(table)
    for one in found:
        console.print(_correlation_table(one))


def _correlation_table(found: Correlations) -> Table:
    title = f"Pearson's r over {found.answers:,} answers, {found.rater} ({found.view}); 95 % interval over people below"
    table = Table(title=Text(title), title_justify="left")
    table.add_column("", min_width=11, overflow="fold")
    for name in VARIABLES[1:]:
        table.add_column(name, justify="right", overflow="fold")
    known = {(pair.first, pair.second): pair for pair in found.pairs}
    for first in VARIABLES[:-1]:
        table.add_row(first, *(_r_cell(known.get((first, second))) for second in VARIABLES[1:]))
    return table


def _r_cell(pair: Correlation | None) -> str:
    if pair is None:
        return ""
    if pair.value is None:
        return "undefined"
    ends = "" if pair.low is None or pair.high is None else f"\n[dim]{pair.low:.2f} to {pair.high:.2f}[/dim]"
    return f"{pair.value:.2f}{ends}"


def _slice_table(
    console: Console, title: str, names: Mapping[str, int], columns: Sequence[tuple[str, dict[str, str]]]
) -> tuple[Table, str]:
    """A table of named rows by slice, and the dash of its intervals: in a narrow terminal they break there."""
    needed = 1 + sum(width + 3 for width in names.values()) + (INTERVAL + 3) * len(columns)
    narrow = console.width < needed
    table = Table(title=title, title_justify="left", padding=(0, 0 if narrow else 1))
    for name, width in names.items():
        table.add_column(name, overflow="fold", min_width=width)
    for heading, _ in columns:
        table.add_column(Text(heading.replace(" ", "\n")), justify="right", overflow="fold")
    return table, "–\n" if narrow else "–"


def _cell(result: Result | None, dash: str) -> str:
    if result is None or result.value is None:
        return ""
    ends = (
        ""
        if result.low is None or result.high is None
        else f"\n[dim]{100 * result.low:.1f}{dash}{100 * result.high:.1f}[/dim]"
    )
    return f"{100 * result.value:.1f}{ends}"


def _halved(scores: RunScores) -> bool:
    return any("half" in layout for layout in scores.info["layout"])


def _key(where: dict[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(where.items()))


def print_failures(console: Console, scores: RunScores, results: Sequence[Result]) -> None:
    """The share of answers with each failure mode by slice: the rater's choices, gold's, and what gold rejected."""
    present = {_key({k: v for k, v in r.slice.items() if k not in ("mode", "answers")}) for r in results}
    columns = [
        (heading, where)
        for heading, where in columns_of(scores)
        if _key(where) in present and (where or not missing_halves(scores))
    ]
    title = "Answers that show a failure mode, in %, 95 % interval below"
    table, dash = _slice_table(console, title, {"answers": 10, "mode": 10}, columns)
    index = {_key(r.slice): r for r in results}
    for who in WHO:
        table.add_section()
        for mode in MODES:
            cells = [index.get(_key({**where, "mode": mode, "answers": who})) for _, where in columns]
            if any(cells):
                table.add_row(who, mode, *(_cell(cell, dash) for cell in cells))
    console.print(table)


def print_unit_failures(console: Console, found: "Failures") -> None:
    """How often a rater is off, in a sentence, and the units on which it is furthest off."""
    told, counted = ("item", "system", "prompt", "attribute", "text"), ("said", "people", "far")
    columns, numbers = ([name for name in names if name in found.units.columns] for names in (told, counted))
    table = Table(title=Text(f"{found.name}: {found.measure}"), title_justify="left")
    for name in columns:
        table.add_column(name, overflow="fold", min_width=8)
    for name in numbers:
        table.add_column(name, justify="right")
    for row in found.units.iter_rows(named=True):
        texts = (Text(_short(row[name])) for name in columns)
        table.add_row(*texts, *(f"{row[name]:.2f}" for name in numbers))
    console.print(table)
    for result in found.results:
        if result.value is not None and set(result.slice) <= {"question"}:
            ends = "" if result.low is None else f" ({result.low:.3f} to {result.high:.3f})"
            print(
                f"{found.name}: {result.metric.replace('_', ' ')} {result.value:.3f}{ends} on {result.n:,} units of "
                f"{result.people:,} people."
            )


def _short(text: object) -> str:
    said = " ".join(str(text or "").split())
    return said if len(said) <= LONGEST else f"{said[: LONGEST - 1]}…"


def print_contrasts(console: Console, scores: RunScores, found: Sequence["Contrast"]) -> None:
    """Each takeaway with its sentences: what the run says, then what was published."""
    if missing_halves(scores):  # a total over one half is that half's again
        found = [contrast for contrast in found if contrast.slice or contrast.published]
    for takeaway in dict.fromkeys(contrast.takeaway for contrast in found):
        table = Table(title=takeaway, title_justify="left", show_header=False)
        table.add_column("source", overflow="fold", max_width=30)
        table.add_column("says", overflow="fold")
        for contrast in (one for one in found if one.takeaway == takeaway):
            table.add_row(
                Text(contrast.source.replace("PersonaFeedback, ", "")),
                Text(contrast.sentence),
                style="dim" if contrast.published else "",
            )
        console.print(table)
