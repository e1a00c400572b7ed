"""Extraction in the terminal: sources side by side, and an error flow step by step."""

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from personafit.reporting import written
from personafit.reporting.results import Result
from personafit.reporting.stages.results import PUBLISHED
from personafit.stages.measures import AttributeSource

_PLAIN = frozenset(["attributes_per_person", "unknown_attributes_used"])  # no shares
GAP = "_difference"
NOTHING = "nothing"


def number(result: Result | None, signed: bool = False) -> str:
    """A figure in percent, or as it is where it is no share, with its interval."""
    if result is None or result.value is None:
        return ""
    factor = 1 if result.metric.removesuffix(GAP) in _PLAIN else 100

    def write(value: float) -> str:
        return (written.signed if signed else written.plain)(factor * value)

    if result.low is None or result.high is None:
        return write(result.value)
    return f"{write(result.value)} ({write(result.low)} to {write(result.high)})"


def row_name(result: Result) -> str:
    """What a line is called."""
    if "by models" in result.slice:
        done = result.slice["by models"]
        return "F1 with people at every stage" if done == NOTHING else f"F1 with models for {done}"
    where = ", ".join(value for key, value in result.slice.items() if key != "minus")
    name = result.metric.removesuffix(GAP).replace("_", " ")
    return f"{name}: {where}" if where else name


def side_by_side(results: Sequence[Result]) -> tuple[list[str], list[list[str]]]:
    """Headings and rows: one column a source, one for each difference from the first, published ones last."""
    systems = list(
        dict.fromkeys(str(r.system) for r in results if not r.metric.endswith(GAP) and r.control is None)
    )
    published = list(dict.fromkeys(str(r.system) for r in results if r.control == PUBLISHED))
    index = {(str(r.system), row_name(r), r.metric.endswith(GAP)): r for r in results}
    names = list(dict.fromkeys(row_name(r) for r in results if r.control is None))
    headings = ["", *systems, *(f"{one} − {systems[0]}" for one in systems[1:]), *published]
    rows = [
        [
            name,
            *(number(index.get((one, name, False))) for one in systems),
            *(number(index.get((one, name, True)), signed=True) for one in systems[1:]),
            *(number(index.get((one, name, False))) for one in published),
        ]
        for name in names
    ]
    return headings, rows


def print_sources(console: Console, sources: Sequence[AttributeSource], results: Sequence[Result]) -> None:
    """One table, and what has to be said about it."""
    headings, rows = side_by_side(results)
    table = Table(title="Extraction; shares in %, 95 % intervals over people", title_justify="left")
    for heading in headings:
        table.add_column(Text(heading), overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)
    for source in sources:
        console.print(Text(f"{source.name}: {source.kind}, judged by {source.judged_by}.", style="dim"))
    _notes(console, results)


def print_flow(console: Console, results: Sequence[Result]) -> None:
    """The steps, and what each stage loses by itself."""
    table = Table(
        title="Where the end result is lost: F1 in %, 95 % intervals over people", title_justify="left"
    )
    for heading in ("done by models", "F1", "change by the last of them"):
        table.add_column(heading, overflow="fold")
    changes = {one.slice["stage"]: one for one in results if one.metric == "f1_change"}
    for one in results:
        if one.metric == "f1":
            done = one.slice["by models"]
            last = changes.get(done.rpartition(", ")[2])
            table.add_row(Text(done), number(one), number(last, signed=True))
    console.print(table)
    table = Table("stage", "by", "lost when it alone is a model's", "gained when it alone is people's")
    gained = {one.slice["stage"]: one for one in results if one.metric == "f1_gained_by_people"}
    for one in results:
        if one.metric == "f1_lost_alone":
            stage = one.slice["stage"]
            table.add_row(
                stage, Text(str(one.system)), number(one, signed=True), number(gained[stage], signed=True)
            )
    console.print(table)
    _notes(console, results)


def _notes(console: Console, results: Iterable[Result]) -> None:
    said = dict.fromkeys(
        f"{row_name(one)}: {one.note}." for one in results if one.note and one.control is None
    )
    for note in said:
        console.print(Text(note, style="dim"))
