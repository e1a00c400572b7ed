"""The chapters of runs in which raters chose: the comparison, views and contexts, tiers against people, controls."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from personafit._errors import UserError
from personafit.reporting import sections
from personafit.reporting.compare import compare_with_base
from personafit.reporting.compare_ranking import HOW, rank_runs
from personafit.reporting.declared import choice_lines_of
from personafit.reporting.number_tables import NumberRow
from personafit.reporting.settings import draw_settings, print_settings, settings
from personafit.reporting.whole.ceiling import ceiling_pieces
from personafit.reporting.whole.collected import ChoiceRun, Collected
from personafit.reporting.whole.content import (
    Chapter,
    Grid,
    Picture,
    Piece,
    Prose,
    Sentences,
    grid_of,
    made_chapter,
    true_minus,
)
from personafit.reporting.whole.printed import printed_pieces, table_grid

JUDGE = "`personafit run starter --rater SPEC` judges the small set, `personafit run personafeedback --data DIR --rater SPEC` the published one"


def comparison(given: Collected) -> Chapter:
    """Every run's scores in the benchmark's own table, published rows below, and whether runs differ."""
    parts: dict[str, list[Piece]] = {}
    for name, runs in _by_benchmark(given).items():
        parts[name] = [_merged(runs), *_differences(runs, given.margin)]
    return made_chapter(
        "comparison",
        "Comparison",
        "How often each rater chooses the right answer, in the table of the benchmark. Rows marked published are quoted from "
        "papers: nobody checked them with this instrument.",
        parts,
        f"No run of choices was given: {JUDGE}.",
    )


def views(given: Collected) -> Chapter:
    """With the person, without, with somebody else, and with what was remembered or inferred."""
    parts: dict[str, list[Piece]] = {}
    for name, one in given.choices.items():
        pieces: list[Piece] = [Picture(t, c, f) for n, t, c, f in one.drawn if n == "views"]
        if found := settings(one.scores):
            told = [
                one for one in found if not one.view.startswith("wrong:")
            ]  # the figure above has the others
            pieces.append(Picture(*draw_settings(told)))
            pieces += printed_pieces(print_settings, found)
        if pieces:
            parts[name] = pieces
    return made_chapter(
        "views",
        "Views and contexts",
        "The same raters on the same items, told more or less of the person. What the person is worth is the distance between "
        "the marks, not where they stand.",
        parts,
        "No run was shown more than one view: leave --view out to add nobody and the wrong person, or name --view memory "
        "and --view induced.",
    )


def tiers(given: Collected) -> Chapter:
    """Scores by slice, and what people reach on the same items."""
    parts: dict[str, list[Piece]] = {}
    for name, one in given.choices.items():
        pictures: list[Piece] = [Picture(t, c, f) for n, t, c, f in one.drawn if n == "slices"]
        if pictures:
            parts[name] = [*pictures, *ceiling_pieces(given, one)]
    return made_chapter(
        "tiers",
        "Tiers against the human ceiling",
        "Scores from easy to hard. People do not agree on everything either: where their votes are known, what one person reaches "
        "stands beside, and nothing can be expected to be much above it.",
        parts,
        f"No run has slices to show: {JUDGE}.",
    )


def controls(given: Collected) -> Chapter:
    """What each score is worth beside rules that understand nothing."""
    parts: dict[str, list[Piece]] = {}
    for name, one in given.choices.items():
        said = sections.best_control(one.totals, one.results)
        parts[name] = [
            *([Sentences([said])] if said else []),
            grid_of(
                sections.worth_table(one.totals, one.results),
                "What each score is worth",
                "Over all items here, in %; lift in points.",
            ),
            *(
                Picture(title, caption, figure)
                for name_of, title, caption, figure in one.drawn
                if name_of == "position"
            ),
        ]
    return made_chapter(
        "controls",
        "Controls",
        "Rules that read nothing are judged beside every rater. Lift is what showing the person adds over showing nobody or "
        "somebody else, whichever is better; restraint is the share right where the less personal answer is the right one.",
        parts,
        f"No run of choices was given: {JUDGE}.",
    )


def _by_benchmark(given: Collected) -> dict[str, list[ChoiceRun]]:
    """Runs under the title of their benchmark; those of another version apart."""
    found: dict[tuple[str, str], list[ChoiceRun]] = {}
    for one in given.choices.values():
        info = one.totals.info
        found.setdefault((info["title"] or info["name"], info["version"]), []).append(one)
    titles = [title for title, _ in found]
    return {
        title if titles.count(title) == 1 else f"{title} (version {version})": runs
        for (title, version), runs in found.items()
    }


def _merged(runs: Sequence[ChoiceRun]) -> Grid:
    """One table for all runs of a benchmark; what several of them say alike, and what was published, once."""
    tables = [sections.score_table(one.totals, one.results) for one in runs]
    several = len(runs) > 1
    filled = {
        heading
        for table in tables
        for row in table.rows
        for heading, cell in zip(table.headings, row.cells, strict=True)
        if cell.text
    }
    headings = [
        one for one in dict.fromkeys(one for table in tables for one in table.headings) if one in filled
    ]
    found: dict[tuple[Any, ...], tuple[NumberRow, list[str]]] = {}
    for one, table in zip(runs, tables, strict=True):
        for row, views in _by_figures(table.rows):
            cells = dict(zip(table.headings, row.cells, strict=True))
            shown = [cells.get(heading, sections.Cell()) for heading in headings]
            key = (row.source, row.name, views, tuple(cell.text + cell.interval for cell in shown))
            made = NumberRow([row.name, views], shown, row.control, row.source)
            found.setdefault(key, (made, []))[1].append(one.run.name)
    rows = [
        replace(row, names=[*row.names, "" if row.source else ", ".join(names)]) if several else row
        for row, names in sorted(found.values(), key=lambda pair: pair[0].source is not None)
    ]
    metric = runs[0].totals.info["metric"].replace("_", " ")
    sources = list(dict.fromkeys(row.source for row in rows if row.source))
    note = (
        f"Rows tagged “published, not measured here” are quoted from {'; '.join(sources)}. A blank cell was not "
        "measured or cannot be said, such as a total over a missing half."
        if sources
        else ""
    )
    return Grid(
        f"{metric.capitalize()} by rater and slice",
        f"{metric.capitalize()} in %, 95 % intervals below.",
        ["rater", "view", *(["run"] if several else [])],
        headings,
        rows,
        note=note,
    )


def _by_figures(rows: Sequence[sections.TableRow]) -> list[tuple[sections.TableRow, str]]:
    """Rows with the views they hold for: a rule that reads no person has the same figures whatever is shown."""
    found: dict[tuple[Any, ...], tuple[sections.TableRow, list[str]]] = {}
    for row in rows:
        figures = tuple(cell.text + cell.interval for cell in row.cells)
        key = (row.source, row.name, row.control, figures)
        found.setdefault(key, (row, []))[1].append(row.view)
    return [(row, ", ".join(views)) for row, views in found.values()]


def _differences(runs: Sequence[ChoiceRun], margin: float) -> list[Piece]:
    if len(runs) < 2:
        return []
    try:
        opened = [choice_lines_of(one.scores) for one in runs]
        found = compare_with_base(opened, margin=margin)
    except UserError as error:  # unlike instruments are not compared, and the reason is the finding
        return [Prose(str(error), "small")]
    pieces: list[Piece] = [Sentences([true_minus(one.sentence()) for one in found])] if found else []
    for ranking in rank_runs(opened, margin):
        pieces += [table_grid(ranking.table()), Sentences(ranking.sentences()), Prose(HOW, "small")]
    return pieces
