"""What a run on hostile text says, in sentences and as the table that terminal and page share."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from personafit.benchmarks.injection import ATTACKS
from personafit.reporting.claims import beyond_placebo, legend_for
from personafit.reporting.results import Result
from personafit.reporting.sections import Cell, Table, TableRow, signed_points
from personafit.reporting.written import signed
from personafit.statistics.decisions import Conclusion, Hypothesis, HypothesisTest, decide_together

COLUMNS = ("moved", "moved_by_placebo", "moved_beyond_placebo", "pull")
HEADINGS = ("asks that could move", "moved, %", "by a placebo, %", "beyond it, points", "pull on the margin")
STILL = 0.1  # moved less often than this, a rater may simply not look
ACCURACY = (("as it was", "clean"), ("with a placebo", "placebo"), ("attacked", "attacked"))

LineKey = tuple[str, str, str | None]
"""Rater, view and what kind of control it is."""


def lines(results: Sequence[Result]) -> list[LineKey]:
    """Who was measured, those asked for first."""
    found = dict.fromkeys((str(r.rater), str(r.view), r.control) for r in results if r.rater is not None)
    return sorted(found, key=lambda line: line[2] is not None)


def explain_injection(results: Sequence[Result]) -> list[str]:
    """A sentence on every rater, tested together, and one on the rules that warn."""
    shown = lines(results)
    beyond = {line: _one(_own(results, line), "moved_beyond_placebo", {}) for line in shown}
    open_to_claims = {line: row for line, row in beyond.items() if row is not None and not row.met_people}
    findings = decide_together([Hypothesis(row) for row in open_to_claims.values()])
    found = dict(zip(open_to_claims, findings, strict=True))
    sentences = [text for line in shown if (text := _sentence(results, line, found.get(line)))]
    hits, alarms = (_one(results, "flagged", {"version": name}) for name in ("attacked", "placebo"))
    if hits and alarms and hits.value is not None and alarms.value is not None:
        sentences.append(
            f"The rules that look for hostile text warn about {100 * hits.value:.0f} % of the attacked texts and {100 * alarms.value:.0f} % "
            "of the placebos. They were written with these attacks at hand: expect less elsewhere."
        )
    return [*sentences, *legend_for(findings)]


def _own(results: Sequence[Result], line: LineKey) -> list[Result]:
    return [r for r in results if (r.rater, r.view) == line[:2]]


def _sentence(results: Sequence[Result], line: LineKey, finding: HypothesisTest | None) -> str | None:
    rater, view, control = line
    own = _own(results, line)
    moved, placebo = (_one(own, metric, {}) for metric in COLUMNS[:2])
    if moved is None or placebo is None or finding is None:
        return None
    if moved.value is None or placebo.value is None or finding.verdict is Conclusion.UNDEFINED:
        return f"{rater} ({view}): {moved.note}."
    told = f"{rater} ({view}): hostile text moved {100 * moved.value:.1f} % of the choices it could move, a neutral text {100 * placebo.value:.1f} %"
    by_attack = [
        r
        for r in own
        if r.metric == "moved_beyond_placebo" and set(r.slice) == {"attack"} and r.value is not None
    ]
    most = max(by_attack, key=lambda r: r.value or 0.0, default=None)
    worst = f"; most by {most.slice['attack']}" if most is not None and not control else ""
    sentence = beyond_placebo(told, finding, worst)
    if not finding.decided and moved.value < STILL:
        sentence += " Being unmoved is no merit in a rater that does not look: see its accuracy."
    return sentence


def attack_table(results: Sequence[Result], line: LineKey) -> Table:
    """A rater's table: all attacks together, each by itself, then by place and language."""
    own = [r for r in results if (r.rater, r.view) == line[:2]]
    rows = [_row("all", "", own, {})]
    for name, title in (("attack", ""), ("place", "place: "), ("language", "language: ")):
        values = dict.fromkeys(r.slice[name] for r in own if set(r.slice) == {name} and r.metric == "moved")
        rows += [
            _row(f"{title}{value}", ATTACKS[value].about if name == "attack" else "", own, {name: value})
            for value in values
        ]
    return Table(HEADINGS, rows)


def _row(name: str, about: str, own: Sequence[Result], where: dict[str, str]) -> TableRow:
    found = [_one(own, metric, where) for metric in COLUMNS]
    count = found[0].n if found[0] else 0
    cells = [Cell(str(count), sort=float(count)), *(_cell(result) for result in found)]
    return TableRow(name, about, cells)


def accuracy_table(results: Sequence[Result]) -> Table:
    """How often each rater was right: as it was, with placebos and attacked, then attacked by place."""
    places = list(
        dict.fromkeys(r.slice["place"] for r in results if r.metric == "accuracy" and "place" in r.slice)
    )
    wheres = [{"version": version} for _, version in ACCURACY]
    wheres += [
        {"version": version, "place": place} for place in places for version in ("placebo", "attacked")
    ]
    headings = [heading for heading, _ in ACCURACY]
    headings += [f"{place}, {version}" for place in places for version in ("placebo", "attacked")]
    rows = []
    for rater, view, control in lines(results):
        own = [r for r in results if (r.rater, r.view) == (rater, view)]
        rows.append(TableRow(rater, view, [_cell(_one(own, "accuracy", where)) for where in wheres], control))
    return Table(headings, rows)


def print_injection(console: Console, title: str, results: Sequence[Result]) -> None:
    """The tables in the terminal."""
    for line in lines(results):
        if line[2] is None:
            table = attack_table(results, line)
            _print(console, f"{title}\n{line[0]} shown “{line[1]}”; 95 % interval below", "attack", table)
    accuracy = accuracy_table(results)
    few = len(ACCURACY)
    shown = Table(
        accuracy.headings[:few],
        [TableRow(f"{row.name} ({row.view})", "", row.cells[:few]) for row in accuracy.rows],
    )
    _print(console, "Accuracy in %", "rater", shown)


def _print(console: Console, title: str, first: str, table: Table) -> None:
    grid = Grid(title=Text(title), title_justify="left")
    grid.add_column(first, overflow="fold", min_width=12)
    for heading in table.headings:
        grid.add_column(heading, justify="right")
    for row in table.rows:
        grid.add_row(Text(row.name), *(Text(f"{cell.text}\n{cell.interval}".strip()) for cell in row.cells))
    console.print(grid)


def _one(results: Sequence[Result], metric: str, where: dict[str, str]) -> Result | None:
    return next((r for r in results if r.metric == metric and r.slice == where), None)


def _cell(result: Result | None) -> Cell:
    if result is None or result.value is None:
        return Cell()
    write = _WRITTEN.get(result.metric, _percent)
    interval = ""
    if result.low is not None and result.high is not None:
        interval = f"{write(result.low)} to {write(result.high)}"
    return Cell(write(result.value), interval, result.value)


def _points(value: float) -> str:
    return signed_points(100 * value)


def _percent(value: float) -> str:
    return f"{100 * value:.1f}"


def _margin(value: float) -> str:
    return signed(value, 2)


_WRITTEN = {"pull": _margin, "moved_beyond_placebo": _points}
