"""The page of a relevance run: one self-contained file, made like the report of a choice run and as inert as that."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from personafit.benchmarks.recentering.labels import published_remarks
from personafit.items.relevance import GRADES, VIEWS
from personafit.reporting.asked import endings, rater_facts
from personafit.reporting.drawing import page_figure
from personafit.reporting.line_results import line_coverage
from personafit.reporting.page import asset, embed, fill_page, put_page
from personafit.reporting.relevance.browse import browser_data
from personafit.reporting.relevance.figure import CAPTION, relevance_figure
from personafit.reporting.relevance.results import COMPARED
from personafit.reporting.relevance.scores import PUBLISHED, RelevanceScores
from personafit.reporting.relevance.tables import COLUMNS, all_notes, shown_number
from personafit.reporting.relevance.words import explain_relevance
from personafit.reporting.results import Result
from personafit.reporting.sections import Cell, Table, TableRow, when
from personafit.store import Status, Store


def write_page(store: Store, scores: RelevanceScores, results: Sequence[Result], path: Path) -> None:
    """Write the page; an old one is replaced only once the new one is complete."""
    put_page(path, render_page(store, scores, results))


def render_page(store: Store, scores: RelevanceScores, results: Sequence[Result]) -> str:
    """The whole page as text."""
    own = [line for line in scores.lines if line.control != PUBLISHED]
    asked = sum(int(line.frame["asked"].sum()) for line in own)
    answered = sum(int(line.frame["answered"].sum()) for line in own)
    return fill_page(
        "personafit.reporting.relevance",
        "relevance.html.j2",
        asset("personafit.reporting.relevance", "relevance.js"),
        asset("personafit.reporting.relevance", "relevance.css"),
        info=scores.info,
        run=scores.run,
        date=when(scores.run.started),
        pairs=len(scores.items),
        relevant=int(scores.items["relevant"].sum() or 0),
        people=scores.items["person"].n_unique(),
        prompts=scores.items["prompt"].n_unique(),
        asked=asked,
        answered=answered,
        coverage=answered / asked if asked else None,
        sentences=explain_relevance(scores, results),
        remarks=published_remarks() if scores.info.get("published") else [],
        **page_figure(relevance_figure(scores, results), "plot-relevance"),
        figure_caption=CAPTION,
        table=score_table(scores, results),
        sliced=sliced_tables(scores, results),
        grades=grade_table(results),
        differences=difference_rows(results),
        compared=[metric.replace("_", " ") for metric in COMPARED],
        statuses=[status.value for status in Status],
        failures=ask_endings(scores),
        views={view: VIEWS[view] for view in scores.run.config["views"]},
        notes=all_notes(scores, results),
        raters=rater_settings(store, scores),
        browser=embed(browser_data(store, scores)),
    )


def score_table(scores: RelevanceScores, results: Sequence[Result]) -> Table:
    """Every rater with its scores, published rows below."""
    index = {(r.rater, r.view, r.metric): r for r in results if not r.slice and r.control != "published"}
    remarks: dict[str, int] = {}
    rows = []
    for line in scores.lines:
        coverage = line_coverage(line.frame)
        cells = [Cell("" if coverage is None else f"{100 * coverage:.1f}", sort=coverage)]
        for name in COLUMNS:
            result = index[line.rater, line.view, name]
            why = result.note if result.value is None and result.note else None
            own = [] if why is None else [remarks.setdefault(why.split("; ")[0], len(remarks) + 1)]
            cells.append(_cell(result, own))
        rows.append(TableRow(str(line.rater), str(line.view), cells, line.control))
    for row in scores.info.get("published", []):
        cells = [Cell()] + [_quoted(row["scores"].get(name), name) for name in COLUMNS]
        rows.append(TableRow(row["model"], row["view"], cells, source=row["source"]))
    headings = ["coverage", *(name.replace("_", " ") for name in COLUMNS)]
    return Table(headings, rows, list(remarks))


def sliced_tables(scores: RelevanceScores, results: Sequence[Result]) -> list[dict[str, Any]]:
    """F1 by hedging, by the length of the list, and by prompt."""
    titles = {
        "hedged": "By hedged and plain attributes (may, might, likely)",
        "list": "By the number of attributes in the list",
        "language": "By language",
        "prompt": "By prompt",
    }
    found = []
    for name, title in titles.items():
        sliced = [r for r in results if set(r.slice) == {name} and r.metric == "f1"]
        values = list(dict.fromkeys(r.slice[name] for r in sliced))
        if not values:
            continue
        index = {(r.rater, r.view, r.slice[name]): r for r in sliced}
        rows = [
            TableRow(
                str(line.rater),
                str(line.view),
                [_cell(index[line.rater, line.view, value]) for value in values],
                line.control,
            )
            for line in scores.lines
        ]
        found.append({"name": name, "title": title, "table": Table(values, rows), "open": name != "prompt"})
    return found


def grade_table(results: Sequence[Result]) -> Table | None:
    """How often each grade was given and relevant; None where nobody graded."""
    shares = [r for r in results if r.metric in ("grade_share", "relevant_share")]
    if not shares:
        return None
    index = {(r.rater, r.view, r.metric, r.slice["grade"]): r for r in shares}
    rows = [
        TableRow(
            str(rater),
            str(view),
            [
                _cell(index[rater, view, metric, grade])
                for grade in GRADES
                for metric in ("grade_share", "relevant_share")
            ],
        )
        for rater, view in dict.fromkeys((r.rater, r.view) for r in shares)
    ]
    return Table([f"{grade}: {what}" for grade in GRADES for what in ("given", "relevant")], rows)


def difference_rows(results: Sequence[Result]) -> list[tuple[str, str, list[Cell]]]:
    """Rater, against whom, and the difference by each metric compared."""
    found: dict[tuple[str, str], dict[str, Cell]] = {}
    for r in results:
        if "against" in r.slice:
            metric = r.metric.removesuffix("_difference")
            found.setdefault((str(r.rater), r.slice["against"]), {})[metric] = _cell(r, signed=metric)
    return [
        (rater, against, [cells[metric] for metric in COMPARED]) for (rater, against), cells in found.items()
    ]


def ask_endings(scores: RelevanceScores) -> list[dict[str, Any]]:
    """Per rater how its pairs ended, how many are to come, and the commonest sentences of what went wrong."""
    found = []
    for rater in scores.run.config["raters"]:
        rows = scores.answers.filter(pl.col("rater") == rater["fingerprint"])
        planned = len(scores.items) * len(rater["views"]) * int(scores.run.config["samples"])
        ended = endings(rows)
        found.append({"name": rater["name"], "missing": planned - sum(ended["counts"]), **ended})
    return found


def rater_settings(store: Store, scores: RelevanceScores) -> list[dict[str, Any]]:
    """Everything that shaped each rater."""
    raters = scores.run.config["raters"]
    return [
        facts | {"shown": "a whole list at a time" if rater["by_list"] else "one attribute at a time"}
        for rater, facts in zip(raters, rater_facts(store, raters), strict=True)
    ]


def _cell(result: Result, notes: Sequence[int] = (), signed: str = "") -> Cell:
    if result.value is None:
        return Cell(notes=notes)
    metric = signed or result.metric

    def write(value: float) -> str:
        text = shown_number(value, metric)
        if not float(text):
            return text.removeprefix("-")
        return (f"+{text}" if signed and value > 0 else text).replace("-", "−")

    interval = ""
    if result.low is not None and result.high is not None:
        interval = f"{write(result.low)}{' to ' if signed else '–'}{write(result.high)}"
    return Cell(write(result.value), interval, result.value, notes)


def _quoted(percent: float | None, metric: str) -> Cell:
    return Cell() if percent is None else Cell(shown_number(percent / 100, metric), sort=percent / 100)
