"""The page of a preference run: one self-contained file, as inert as the report of a choice run."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from personafit.items.preference import GENERIC, PERSONAL, PREFER
from personafit.reporting.asked import endings, rater_facts
from personafit.reporting.drawing import page_figure
from personafit.reporting.page import asset, fill_page, put_page
from personafit.reporting.preference.figure import CAPTION, preference_figure
from personafit.reporting.preference.published import PUBLISHED
from personafit.reporting.preference.scores import VOTES, PreferenceScores
from personafit.reporting.preference.tables import (
    COLUMNS,
    all_notes,
    generator_columns,
    generator_rows,
    number_text,
    rater_rows,
)
from personafit.reporting.preference.words import explain_preferences
from personafit.reporting.replies import raw_replies
from personafit.reporting.results import Result
from personafit.reporting.sections import Cell, Table, TableRow, when
from personafit.store import Status, Store

MOST_ITEMS = 300  # pairs shown in full; their texts make up nearly all of the page


def write_page(store: Store, scores: PreferenceScores, results: Sequence[Result], path: Path) -> None:
    """Write the page; an old one is replaced only once the new one is complete."""
    put_page(path, render_page(store, scores, results))


def render_page(store: Store, scores: PreferenceScores, results: Sequence[Result]) -> str:
    """The whole page as text."""
    own = [line for line in scores.lines if line.control != VOTES]
    asked = sum(int(line.frame["asked"].sum()) for line in own)
    answered = sum(int(line.frame["answered"].sum()) for line in own)
    pairs = scores.units["item"].n_unique()
    return fill_page(
        "personafit.reporting.preference",
        "preference.html.j2",
        asset("personafit.reporting.preference", "preference.js"),
        asset("personafit.reporting.preference", "preference.css"),
        info=scores.info,
        run=scores.run,
        date=when(scores.run.started),
        pairs=pairs,
        marks=len(scores.units),
        people=scores.units["person"].n_unique(),
        prompts=scores.units["prompt"].n_unique(),
        asked=asked,
        answered=answered,
        coverage=answered / asked if asked else None,
        sentences=explain_preferences(scores, results),
        **page_figure(preference_figure(scores, results), "plot-preference"),
        figure_caption=CAPTION,
        raters=rater_table(scores, results),
        generators=generator_table(scores, results),
        differences=_differences(results),
        task=PREFER.task,
        statuses=[status.value for status in Status],
        failures=ask_endings(scores),
        notes=all_notes(scores),
        instruments=rater_settings(store, scores),
        **browser_values(store, scores),
    )


def browser_values(store: Store, scores: PreferenceScores) -> dict[str, Any]:
    """What the template's browser of pairs shows."""
    return {
        "items": _items(store, scores),
        "line_names": [line.rater for line in scores.lines],
        "left_out": max(0, scores.units["item"].n_unique() - MOST_ITEMS),
        "people_are": scores.people_are,
    }


def rater_table(scores: PreferenceScores, results: Sequence[Result]) -> Table:
    """Every rater with its marks, votes in the data and published rows among them."""
    remarks: dict[str, int] = {}
    rows = []
    for name, control, found in rater_rows(scores, results):
        coverage = None if control == PUBLISHED else found["rating"].coverage
        cells = [Cell("" if coverage is None else f"{100 * coverage:.1f}", sort=coverage)]
        for metric, _, percent in COLUMNS:
            result = found.get(metric)
            why = result.note if result is not None and result.value is None and result.note else None
            own = [] if why is None else [remarks.setdefault(why.split("; ")[0], len(remarks) + 1)]
            cells.append(_cell(result, percent, own))
        source = found["rating"].note if control == PUBLISHED else None
        rows.append(TableRow(name, "", cells, None if control == PUBLISHED else control, source))
    headings = ["coverage, %", *(_heading(heading, percent) for _, heading, percent in COLUMNS)]
    return Table(headings, rows, list(remarks))


def _heading(heading: str, percent: bool) -> str:
    plain = heading.replace("\n", " ")
    return f"{plain}, %" if percent and "%" not in plain else plain


def generator_table(scores: PreferenceScores, results: Sequence[Result]) -> Table:
    """Who wrote the answers: mention, length, and the mean mark by each rater."""
    columns = generator_columns(scores)
    rows = []
    for name, control, found in generator_rows(results):
        cells = [_cell(found.get(key), key[0].startswith("mention")) for key in columns]
        source = next((r.note for r in found.values()), None) if control == PUBLISHED else None
        rows.append(TableRow(name, "", cells, source=source))
    return Table([heading.replace("\n", " ") for heading in columns.values()], rows)


def _differences(results: Sequence[Result]) -> list[tuple[str, str, str, str, Cell]]:
    """Rater, system, what it was given, what else, and the difference."""
    return [
        (str(r.rater), r.system or "", r.given or "", r.slice["against"], _cell(r, False))
        for r in results
        if r.metric == "rating_difference" and r.value is not None
    ]


def ask_endings(scores: PreferenceScores) -> list[dict[str, Any]]:
    """Per rater how many asks ended how, and the commonest sentences of what went wrong."""
    found = []
    for rater in scores.run.config["raters"]:
        rows = scores.answers.filter(pl.col("rater") == rater["fingerprint"])
        found.append({"name": rater["name"], **endings(rows)})
    return found


def rater_settings(store: Store, scores: PreferenceScores) -> list[dict[str, Any]]:
    """Everything that shaped each rater."""
    raters = scores.run.config["raters"]
    return [
        facts | {"orders": "both" if rater["orders"] == 2 else "one: it looks at each answer by itself"}
        for rater, facts in zip(raters, rater_facts(store, raters), strict=True)
    ]


def _items(store: Store, scores: PreferenceScores) -> list[dict[str, Any]]:
    """The pairs with their texts and everybody's marks, from the beginning of the data."""
    wanted = scores.units["item"].unique(maintain_order=True).head(MOST_ITEMS).to_list()
    kept = set(wanted)
    items = {item.id: item for item in store.items(scores.run.dataset) if item.id in kept}
    texts = store.texts({product for item in items.values() for product in item.products[: PERSONAL + 1]})
    marks = [
        {
            (item, target): rating
            for item, target, rating in line.frame.select("item", "target", "rating").iter_rows()
        }
        for line in scores.lines
    ]
    replies = _replies(store, scores, kept)
    shown = []
    units = scores.units.filter(pl.col("item").is_in(wanted))
    for (name,), rows in units.group_by("item", maintain_order=True):
        item = items[str(name)]
        shown.append(
            {
                "id": item.id,
                "person": item.person,
                "prompt": item.prompt,
                "who": " · ".join(filter(None, [item.slices.get("generator"), item.slices.get("given")])),
                "generic": texts[item.products[GENERIC]],
                "personal": texts[item.products[PERSONAL]],
                "attributes": [
                    {
                        "text": row["attribute"],
                        "names": row["names"],
                        "human": None if row["human"] is None else f"{row['human']:.1f}",
                        "marks": [_mark(one.get((row["item"], row["target"]))) for one in marks],
                    }
                    for row in rows.iter_rows(named=True)
                ],
                "replies": replies.get(item.id, []),
            }
        )
    return shown


def _replies(store: Store, scores: PreferenceScores, about: set[str]) -> dict[str, list[dict[str, Any]]]:
    """Per item shown what each rater said word for word, in each order."""
    names = {rater["fingerprint"]: rater["name"] for rater in scores.run.config["raters"]}
    orders = {f"{GENERIC}{PERSONAL}": "generic first", f"{PERSONAL}{GENERIC}": "personalized first"}
    found: dict[str, list[dict[str, Any]]] = {}
    for one in raw_replies(store, scores.run, about):
        if one.rater in names:
            title = " · ".join(filter(None, [names[one.rater], orders.get(one.order), one.status]))
            said = {"Detail": one.detail, "Reply": one.reply, "Reasoning": one.reasoning}
            texts = {kind: text for kind, text in said.items() if text}
            found.setdefault(one.item, []).append({"title": title, "texts": texts})
    return found


def _mark(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def _cell(result: Result | None, percent: bool, notes: Sequence[int] = ()) -> Cell:
    if result is None or result.value is None:
        return Cell(notes=notes)
    interval = ""
    if result.low is not None and result.high is not None:
        ends = (number_text(end, result.metric, percent) for end in (result.low, result.high))
        interval = " to ".join(ends)
    return Cell(number_text(result.value, result.metric, percent), interval, result.value, notes)
