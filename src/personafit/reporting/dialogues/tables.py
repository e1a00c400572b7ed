"""The tables of a run of dialogues, as rows of numbers for the terminal and the page alike."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from personafit.reporting.dialogues.loading import COUNTED, DialogueRun
from personafit.reporting.dialogues.published import published_rows
from personafit.reporting.number_tables import NumberRow, NumberTable
from personafit.reporting.results import Result
from personafit.reporting.sections import Cell
from personafit.reporting.written import plain, signed

PERCENT = frozenset({"completion"})


def short(name: str | None) -> str:
    """A spec without its address and options."""
    return re.split(r"[@,]", str(name))[0]


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Each name to its short form, where that is nobody else's."""
    full = set(names)
    taken = Counter(short(name) for name in full)
    return {name: short(name) if taken[short(name)] == 1 else name for name in full}


class ResultIndex:
    """Results, where to find one of them, and what to call assistants and judges."""

    def __init__(self, rows: list[Result]) -> None:
        self.rows = rows
        self.found: dict[tuple[Any, ...], list[Result]] = {}
        for row in rows:
            key = (row.metric, row.system, row.given, row.rater, _key(row.slice))
            self.found.setdefault(key, []).append(row)
        self._called = short_names({name for row in rows for name in (row.system, row.rater) if name})

    def called(self, name: str | None) -> str:
        """The short name, where it is nobody else's."""
        return self._called.get(str(name), str(name))


def is_share(metric: str) -> bool:
    """Whether a metric is shown in percent."""
    base = metric.removesuffix("_effect").removesuffix("_by_person")
    return (
        base in PERCENT
        or "coverage" in base
        or "leakage" in base
        or base.startswith("user_")
        or base == "stopped"
    )


def number(result: Result | None) -> Cell:
    """A result as the tables show it: shares in percent, marks and counts with two decimals, differences with a sign."""
    if result is None or result.value is None:
        return Cell()
    scale = 100 if is_share(result.metric) else 1
    difference = result.metric.endswith("_effect")

    def write(value: float) -> str:
        return (signed if difference else plain)(scale * value, 1 if scale == 100 else 2)

    interval = ""
    if result.low is not None and result.high is not None:
        interval = f"{write(result.low)}{' to ' if difference else '–'}{write(result.high)}"
    return Cell(write(result.value), interval, result.value)


def score_table(run: DialogueRun, results: ResultIndex) -> NumberTable:
    """Completion and personalization by kind of task, ours first and published rows below."""
    kinds = [kind for kind in ("SD", "MD") if any(r.slice == {"tasks": kind} for r in results.rows)]
    columns = [(metric, {"tasks": kind}) for kind in kinds for metric in ("completion", "personalization")]
    headings = [
        f"{kind} {'completion %' if metric == 'completion' else 'personalization 1–4'}"
        for kind in kinds
        for metric in ("completion", "personalization")
    ]
    shown = [*columns, ("personalization_by_person", {})]
    rows = []
    for line in _lines(results, "personalization"):
        cells = [number(_one(results, line, metric, where)) for metric, where in shown]
        head = _one(results, line, "personalization", {})
        coverage = "" if head is None or head.coverage is None else f"{100 * head.coverage:.1f}"
        people = "" if head is None else str(head.people)
        rows.append(
            NumberRow(
                [results.called(line[0]), str(line[1]), f"{results.called(line[2])} ({line[3]})"],
                [*cells, Cell(coverage), Cell(people)],
                head.control if head else None,
            )
        )
    for row in published_rows(run.info["name"]):
        cells = []
        for metric, where in columns:
            value = row.scores.get(f"{metric}/{where['tasks']}")
            text = "" if value is None else f"{value:.1f}" if metric == "completion" else f"{value:.2f}"
            cells.append(Cell(text, sort=value))
        rows.append(
            NumberRow(
                [row.model, row.given, "published"], [*cells, Cell(), Cell(), Cell()], source=row.source
            )
        )
    return NumberTable(
        "Completion and personalization",
        ["assistant", "given", "judge (view)"],
        [*headings, "personalization, people alike", "coverage %", "people"],
        rows,
    )


def quality_table(results: ResultIndex) -> NumberTable:
    """Naturalness and coherence of both sides."""
    metrics = ("naturalness", "naturalness_user", "coherence", "coherence_user")
    rows = [
        NumberRow(
            [results.called(line[0]), str(line[1]), results.called(line[2])],
            [number(_one(results, line, m, {"tasks": kind})) for m in metrics for kind in ("SD", "MD")],
            _control(results, line),
        )
        for line in _lines(results, "naturalness")
    ]
    names = ("naturalness assistant", "naturalness user", "coherence assistant", "coherence user")
    return NumberTable(
        "Naturalness and coherence (1–5)",
        ["assistant", "given", "judge"],
        [f"{name} {kind}" for name in names for kind in ("SD", "MD")],
        rows,
        "The user is simulated: its marks say how good the simulation is.",
    )


def effect_table(results: ResultIndex) -> NumberTable:
    """What contexts do, paired by task."""
    rows = []
    keys = dict.fromkeys(
        (r.system, r.given, r.slice["against"], r.rater, r.view)
        for r in results.rows
        if r.metric == "personalization_effect"
    )
    columns = [(m, kind) for m in ("completion", "personalization") for kind in ("", "SD", "MD")]
    counted = ("coverage_before", "contradictions", "reasking", "invented_memories")
    for system, given, against, rater, view in keys:
        cells = []
        for metric, kind in columns:
            where = {"against": against} | ({"tasks": kind} if kind else {})
            asked_under = view if metric == "personalization" else None
            cells.append(
                number(find_result(results, f"{metric}_effect", system, given, rater, asked_under, where))
            )
        cells += [
            number(find_result(results, f"{metric}_effect", system, given, None, None, {"against": against}))
            for metric in counted
        ]
        rows.append(
            NumberRow(
                [results.called(system), f"{given} − {against}", f"{results.called(rater)} ({view})"], cells
            )
        )
    headings = [f"{m}{' ' + k if k else ''}" for m, k in columns]
    return NumberTable(
        "What the context does (paired by task; completion and coverage in points)",
        ["assistant", "given", "judge (view)"],
        [*headings, *(name.replace("_", " ") for name in counted)],
        rows,
    )


def counted_table(results: ResultIndex) -> NumberTable:
    """What was counted, without a judge."""
    present = [
        m for m in COUNTED if any(r.metric == m and not r.slice and r.value is not None for r in results.rows)
    ]
    keys = dict.fromkeys((r.system, r.given) for r in results.rows if r.metric == "exchanges" and not r.slice)
    rows = [
        NumberRow(
            [results.called(system), str(given)],
            [number(find_result(results, metric, system, given, None, None, {})) for metric in present],
            _find_control(results, system, given),
        )
        for system, given in keys
    ]
    note = "; ".join(f"{name.replace('_', ' ')}: {COUNTED[name]}" for name in present)
    return NumberTable(
        "Counted, not judged (shares in %)",
        ["assistant", "given"],
        [n.replace("_", " ") for n in present],
        rows,
        note,
    )


def _key(where: dict[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(where.items()))


LineKey = tuple[str | None, str | None, str | None, str | None]


def _lines(results: ResultIndex, metric: str) -> list[LineKey]:
    """System, given, rater and view of every total of a metric."""
    return list(
        dict.fromkeys(
            (r.system, r.given, r.rater, r.view) for r in results.rows if r.metric == metric and not r.slice
        )
    )


def _one(results: ResultIndex, line: LineKey, metric: str, where: dict[str, str]) -> Result | None:
    system, given, rater, view = line
    found = find_result(results, metric, system, given, rater, view, where)
    # Questions that show nothing of the person were asked once, under the first view.
    return found or find_result(results, metric, system, given, rater, None, where)


def find_result(
    results: ResultIndex,
    metric: str,
    system: str | None,
    given: str | None,
    rater: str | None,
    view: str | None,
    where: dict[str, str],
) -> Result | None:
    """One result, by what tells it from others; any view where none is named."""
    for result in results.found.get((metric, system, given, rater, _key(where)), ()):
        if view in (None, result.view):
            return result
    return None


def _control(results: ResultIndex, line: LineKey) -> str | None:
    return _find_control(results, line[0], line[1])


def _find_control(results: ResultIndex, system: str | None, given: str | None) -> str | None:
    return next((r.control for r in results.rows if (r.system, r.given) == (system, given)), None)
