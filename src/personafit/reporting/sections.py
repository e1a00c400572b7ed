"""What the report says, section by section, as plain values: the template only lays them out.

A section is one function of the run. A new one (agreement, bias, dialogues, ...) is one more function here or in a file
of its own, one entry in `html.py` and one block in the template.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from personafit.reporting import claims
from personafit.reporting.asked import ERRORS_SHOWN, rater_facts
from personafit.reporting.results import Result
from personafit.reporting.tables import columns_of, missing_halves, published_rows
from personafit.reporting.totals import RunTotals
from personafit.reporting.written import plain, signed
from personafit.store import Status, Store

LineKey = tuple[str | None, str | None, str | None]
"""Whose numbers they are: rater fingerprint, system, given."""


@dataclass(frozen=True)
class Cell:
    """One number as the page shows it; `sort` is what columns are ordered by."""

    text: str = ""
    interval: str = ""
    sort: float | None = None
    notes: Sequence[int] = ()


@dataclass(frozen=True)
class TableRow:
    """One row: who, under what view, and its cells; `source` is where a published one comes from."""

    name: str
    view: str
    cells: Sequence[Cell]
    control: str | None = None
    source: str | None = None


@dataclass(frozen=True)
class Table:
    """Headings, rows, the remarks its cells refer to by number, and those that hold for every interval."""

    headings: Sequence[str]
    rows: Sequence[TableRow]
    notes: Sequence[str] = ()
    common: Sequence[str] = ()


def line_of(result: Result) -> LineKey:
    """The key of a result's rater and system."""
    return result.fingerprint, result.system, result.given


def line_name(result: Result) -> str:
    """The rater, and whose answers it judged."""
    return claims.line_name(result.rater, result.system, result.given)


def headline(totals: RunTotals, results: Sequence[Result]) -> list[TableRow]:
    """Score, lift and restraint of every rater under the headline view, those asked for first."""
    view, metric = totals.headline_view, totals.info["metric"]
    rows: dict[LineKey, dict[str, Result]] = {}
    for result in results:
        if result.view == view and (not result.slice or result.metric == "restraint"):
            rows.setdefault(line_of(result), {})[result.metric] = result
    shown = [
        TableRow(
            name=line_name(found[metric]),
            view=view,
            cells=[
                _cell(found.get(metric)),
                _cell(found.get("lift"), difference=True),
                _cell(found.get("restraint")),
            ],
            control=found[metric].control,
        )
        for found in rows.values()
    ]
    return sorted(shown, key=lambda row: row.control is not None)


def best_control(totals: RunTotals, results: Sequence[Result]) -> str | None:
    """A sentence on the rule that reads nothing and scores best: what any score has to be held against."""
    rows = [row for row in headline(totals, results) if row.control and row.cells[0].sort is not None]
    if not rows or totals.info["metric"] != "accuracy":
        return None
    best = max(rows, key=lambda row: row.cells[0].sort or 0.0)
    where = "the items here" if missing_halves(totals) else "all items"
    interval = f" ({best.cells[0].interval})" if best.cells[0].interval else ""
    return (
        f"The best control, “{best.control}” ({best.name}), is right on {best.cells[0].text} %{interval} of {where} "
        "without understanding any of them. A score says something about fitting the person only beside its lift."
    )


def score_table(totals: RunTotals, results: Sequence[Result]) -> Table:
    """The benchmark's own table, published rows below; a total over a missing half stays blank."""
    metric = totals.info["metric"]
    columns = [
        (f"against {heading}" if "against" in where else heading, metric, where)
        for heading, where in columns_of(totals)
    ]
    controlled = f"{metric}_length_controlled"
    if any(result.metric == controlled for result in results):
        columns += [(f"{heading}, equal length", controlled, where) for heading, _, where in columns[:-1]]
    blank = bool(missing_halves(totals))
    index = {(line_of(r), r.view, r.metric, _key(r.slice)): r for r in results}
    rows = []
    for line, view in dict.fromkeys((line_of(r), r.view) for r in results if r.metric == metric):
        total = index[line, view, metric, ()]
        cells = [
            Cell() if blank and not where else _cell(index.get((line, view, name, _key(where))))
            for _, name, where in columns
        ]
        rows.append(TableRow(line_name(total), str(view), cells, total.control))
    for row in published_rows(totals.info):
        cells = [_percent(row["scores"].get("/".join(where.values()))) for _, _, where in columns]
        rows.append(TableRow(row["model"], row["view"], cells, source=row["source"]))
    return Table([heading for heading, _, _ in columns], rows)


def worth_table(totals: RunTotals, results: Sequence[Result]) -> Table:
    """What each score is worth: coverage, people, order, lift, restraint; why a number is missing is in the notes."""
    metric = totals.info["metric"]
    names = [metric, f"{metric}_debiased", "consistency", "lift", "restraint"]
    found: dict[tuple[LineKey, str | None], dict[str, Result]] = {}
    for result in results:
        if not result.slice or result.metric == "restraint":
            found.setdefault((line_of(result), result.view), {})[result.metric] = result
    common = _common([r.note for numbers in found.values() for r in numbers.values() if r.low is not None])
    remarks: dict[str, int] = {}
    rows = []
    for (_, view), numbers in found.items():
        total = numbers[metric]
        cells = [_percent(None if total.coverage is None else 100 * total.coverage)]
        cells.append(Cell(str(total.people), sort=float(total.people)))
        for name in names:
            number = numbers.get(name)
            own = [note for note in _split(number.note if number else None) if note not in common]
            numbered = [remarks.setdefault(note, len(remarks) + 1) for note in own]
            cells.append(_cell(number, difference=name == "lift", notes=numbered))
        rows.append(TableRow(line_name(total), str(view), cells, total.control))
    return Table(
        ["coverage", "people", *(name.replace("_", " ") for name in names)], rows, list(remarks), common
    )


def failures(totals: RunTotals) -> list[dict[str, Any]]:
    """Per rater how many asks ended how, how many are still to come, and the commonest sentences of what went wrong."""
    found = []
    for rater in totals.raters:
        fingerprint = rater["fingerprint"]
        counts = [totals.statuses.get((fingerprint, status.value), 0) for status in Status]
        errors = [(*key[1:], count) for key, count in totals.errors.items() if key[0] == fingerprint]
        found.append(
            {
                "name": rater["name"],
                "counts": counts,
                "missing": sum(totals.asked(rater, view) for view in totals.views) - sum(counts),
                "errors": sorted(errors, key=lambda error: -error[2])[:ERRORS_SHOWN],
            }
        )
    return found


def instrument(store: Store, totals: RunTotals) -> dict[str, Any]:
    """Everything that shaped the numbers, and the command that makes them again."""
    config, info, run = totals.run.config, totals.info, totals.run
    orders = {1: "one (each answer is scored by itself)", 2: "both"}
    return {
        "facts": {
            "run": run.name,
            "data set": run.dataset,
            "benchmark version": info["version"],
            "licence of the data": info["licence"],
            "gold": info["gold"],
            "question": config["question"],
            "views": ", ".join(totals.views),
            "seed": str(config["seed"]),
            "samples per ask": str(config["samples"]),
            "items judged": f"{totals.items:,}",
            "people": f"{totals.people:,}",
            "started": when(run.started),
            "finished": "not finished" if run.finished is None else when(run.finished),
        },
        "raters": [
            facts | {"orders": orders.get(rater["orders"], str(rater["orders"]))}
            for rater, facts in zip(totals.raters, rater_facts(store, totals.raters), strict=True)
        ],
        "command": config.get("command") or "(started from Python)",
        "sampled": config["selected"] is not None,
    }


def clustering(results: Sequence[Result]) -> str:
    """What the intervals of a run are clustered by, as its notes say it."""
    both = any("clustered by person and prompt" in (result.note or "") for result in results)
    return "person and prompt" if both else "person"


def notes(totals: RunTotals) -> list[str]:
    """What was found odd in the data, each remark once and none that the headline has said already."""
    said = {"", totals.info["description"].strip()}
    return [note for note in dict.fromkeys(map(str.strip, totals.run.config["notes"])) if note not in said]


def when(seconds: float) -> str:
    """A moment for people."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _cell(result: Result | None, difference: bool = False, notes: Sequence[int] = ()) -> Cell:
    if result is None or result.value is None:
        return Cell(notes=notes)
    if few := claims.count_of(result):
        return Cell(*few, result.value, notes)
    write = signed_points if difference else plain
    interval = claims.same_words(result, difference) or ""
    if result.low is not None and result.high is not None:
        interval = f"{write(100 * result.low)}{' to ' if difference else '–'}{write(100 * result.high)}"
    return Cell(write(100 * result.value), interval, result.value, notes)


def signed_points(value: float) -> str:
    """A difference in points, its sign shown unless it is nothing."""
    return signed(value)


def _split(note: str | None) -> list[str]:
    return note.split("; ") if note else []


def _common(notes: Sequence[str | None]) -> list[str]:
    """The parts that all of these remarks share: said once, not at every number."""
    if not notes:
        return []
    return [part for part in _split(notes[0]) if all(part in _split(note) for note in notes)]


def _percent(value: float | None) -> Cell:
    return Cell() if value is None else Cell(f"{value:.1f}", sort=value / 100)


def _key(where: dict[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(where.items()))
