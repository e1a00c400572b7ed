"""Several benchmarks at one glance: a line for everybody who was asked for, with the controls beside the score."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from personafit.reporting.number_tables import NumberRow
from personafit.reporting.results import Result
from personafit.reporting.run_names import NamedRun, apart
from personafit.reporting.sections import Cell, line_name, line_of
from personafit.reporting.whole.collected import Collected
from personafit.reporting.whole.content import Grid, PieceGroup, percent_cell

FREE = ("longest answer", "copied entry")
COLUMNS = (
    "score",
    "lift",
    "told of nobody",
    "told of somebody else",
    "longest, or copied",
    "coverage",
)
NOTE = (
    "Told of nobody and of somebody else is the same rater or system without the person and with another one; the longest answer is what a "
    "rule gets that reads nothing, a copy what is had without writing. Where a benchmark knows nobody there is nobody to leave out. Lift is "
    "the score less the better of these two, in points. Runs of dialogues, relevance and preferences have chapters of their own."
)


def glance(given: Collected) -> Iterator[PieceGroup]:
    """One table of all runs of choices and of writing; none where there is but one such run."""
    runs = [(name, one.totals.info, one.results, "view") for name, one in given.choices.items()]
    runs += [(name, one.scores.info, one.results, "given") for name, one in given.writings.items()]
    if len(runs) < 2:
        return
    names = apart([NamedRun(info["name"], info["version"], name) for name, info, *_ in runs])
    rows = [
        row
        for name, (_, info, results, told) in zip(names, runs, strict=True)
        for row in _rows(name, info, results, told)
    ]
    grid = Grid(
        "Scores and their controls",
        "Accuracy in %, or what the benchmark is scored by; 95 % intervals below.",
        ["who", "benchmark", "told"],
        COLUMNS,
        rows,
        note=NOTE,
    )
    yield PieceGroup("All runs side by side", [grid])


def _rows(name: str, info: dict[str, Any], results: Sequence[Result], told: str) -> Iterator[NumberRow]:
    """Of each rater or system that was asked for; of the free controls where nobody was. `told` names what says of whom they knew."""
    totals = [result for result in results if not result.slice]
    heads = [result for result in totals if result.metric == info["metric"]]
    lifts = [result for result in totals if result.metric == "lift"]
    free = [result for result in heads if result.control in FREE]
    asked = [result for result in heads if result.control is None]
    once = {line_of(one): one for one in reversed(free)}  # under the first view: a rule looks at none
    for head in asked or once.values():
        knew = getattr(head, told)
        rule = next((one for one in free if told == "given" or _like(one, head, told, knew, True)), None)
        cells = [
            percent_cell(head),
            percent_cell(_found(lifts, head, told, knew), signed=True),
            percent_cell(_found(heads, head, told, "none")),
            percent_cell(_found(heads, head, told, f"wrong:{knew}")),
            percent_cell(rule),
            Cell() if head.coverage is None else Cell(f"{100 * head.coverage:.1f}", sort=head.coverage),
        ]
        who = str(head.system) if told == "given" else line_name(head)
        of = name if head.metric == "accuracy" else f"{name}, {head.metric.replace('_', ' ')}"
        names = [who, of, knew or ""]
        yield NumberRow(names, cells, None if asked else head.control)


def _found(among: Sequence[Result], head: Result, told: str, knew: str | None) -> Result | None:
    """Of the same rater or system, told that."""
    return next((one for one in among if _like(one, head, told, knew)), None)


def _like(one: Result, head: Result, told: str, knew: str | None, anybody: bool = False) -> bool:
    """Whether both are about the same system and, unless anybody will do, by the same rater."""
    known = replace(one, **{told: getattr(head, told)})
    place = 1 if anybody else 0
    return getattr(one, told) == knew and line_of(known)[place:] == line_of(head)[place:]
