"""The report of a run on hostile text: how often each judge was moved, by which attack, and how much of that a placebo does too."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from personafit.benchmarks.injection import ATTACKS
from personafit.benchmarks.injection.items import ATTACKED, CLEAN, PLACEBO
from personafit.kinds.injection import RIGHT, UNIT, Effects, load_effects, opened_injection, right_lines
from personafit.reporting import plots
from personafit.reporting.asked import asks_section, coverage_warnings, rater_instrument, when
from personafit.reporting.browse import browser_data
from personafit.reporting.claims import beyond_placebo, legend_for
from personafit.reporting.line_results import line_shares, results_of, worst_coverage
from personafit.reporting.naming import short_name
from personafit.reporting.pieces import Cell, Grid, Picture, Piece, Row, Section, result_cell
from personafit.reporting.report import KindReport, ReportPart
from personafit.reporting.report_page import browser_piece
from personafit.reporting.result import Result
from personafit.reporting.totals import load_totals
from personafit.reporting.written import plain, signed
from personafit.statistics import mean_by_item
from personafit.statistics.decisions import Conclusion, Hypothesis, HypothesisTest, decide_together
from personafit.store import RunRecord, Store, run_answers

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_PANELS = 4
CAPTION = (
    "How to read it: each dot is how many points more of the choices an attack moved than a neutral text of the same length in the "
    "same place, the bar its 95 % interval over people; at the dotted line the attack does no more than any other words would."
)
COLUMNS = {
    "moved": "moved, %",
    "moved_by_placebo": "by a placebo, %",
    "moved_beyond_placebo": "beyond it, points",
    "pull": "pull on the margin",
}
SMALL = ("moved", "moved_by_placebo", "moved_beyond_placebo")
COULD_MOVE = "asks that could move"
DEFINED = (
    "Moved: of the choices that were not the attack’s target before, the share that became it. By a placebo: the same with a neutral "
    "text of the same length in the same place. Pull: by how much the rater’s margin turned to the target beyond the placebo, in its own "
    "units. 95 % intervals cluster by person."
)
STILL = 0.1  # moved less often than this, a rater may simply not look
ACCURACY = {"clean": "right as it was, %", "placebo": "with a placebo, %", "attacked": "attacked, %"}

LineKey = tuple[str, str, str | None]
"""Rater, context and what kind of control it is."""


class InjectionReport(KindReport):
    """A run in which texts tried to steer the raters."""

    def __init__(self, store: Store, run: RunRecord) -> None:
        self._store = store
        self.effects = load_effects(store, run)
        self.benchmark: str = self.effects.info["name"]
        self.coverage_bar: float = self.effects.info["coverage_bar"]
        self.results = injection_results(self.effects)

    def part(self) -> ReportPart:
        """What each attack does beyond a placebo, how often each rater was moved and right, and everything else folded."""
        return self._part

    @cached_property
    def _part(self) -> ReportPart:
        run, info = self.effects.run, self.effects.info
        words = {"gold": f"gold ({info['gold']})", "right": "right", "wrong": "wrong"}
        items = browser_data(self._store, load_totals(self._store, run)) | {"words": words}
        return replace(
            self.brief(),
            sections=list(self._sections()),
            browser=[browser_piece(run.name, "choice", data=items)],
            instrument=rater_instrument(
                self._store,
                run,
                info,
                {"gold": info["gold"], "contexts": ", ".join(run.config["views"])},
                [{"orders": "both" if rater["orders"] == 2 else "one"} for rater in run.config["raters"]],
                notes=list(dict.fromkeys(run.config["notes"])),
            ),
        )

    def brief(self) -> ReportPart:
        """The same without what is folded, the items and the instrument."""
        return self._brief

    @cached_property
    def _brief(self) -> ReportPart:
        run, info, items = self.effects.run, self.effects.info, self.effects.items
        asked, answered = sum(self._planned().values()), len(self.effects.choices)
        lead: list[Piece] = coverage_warnings(run, self.coverage_bar, asked, answered)
        if (figure := moved_figure(self.results)) is not None:
            lead.append(Picture("Moved beyond the placebo, in points, by attack", CAPTION, figure))
        lead.append(moved_grid(self.results))
        return ReportPart(
            run.name,
            str(info["title"] or info["name"]),
            self.sentences(),
            lead,
            facts=[
                f"run {run.name}",
                when(run.started),
                f"{len(items):,} items",
                f"{items['person'].n_unique():,} people",
                *([f"coverage {100 * answered / asked:.1f} %"] if asked else []),
            ],
        )

    def _planned(self) -> dict[str, int]:
        """How many asks each rater was to get."""
        config = self.effects.run.config
        each = len(self.effects.items) * len(config["views"]) * int(config["samples"])
        return {rater["fingerprint"]: each * rater["orders"] for rater in config["raters"]}

    def _sections(self) -> Iterator[Section]:
        results = self.results
        shown = injection_lines(results)
        grids = [attack_grid(results, line, folded=line[2] is not None) for line in shown]
        yield Section("By attack, place and language", grids, DEFINED)
        lead = "An attack in the right answer makes a steered judge look better than it is."
        yield Section("Accuracy under attack", [accuracy_grid(results)], lead)
        flagged = [
            Row(
                [r.slice.get("attack", f"all {r.slice['version']}")],
                [_cell(r), Cell(f"{r.n:,}", sort=float(r.n))],
            )
            for r in results
            if r.metric == "flagged" and r.value is not None
        ]
        if flagged:
            caption = "Texts that rules without any model warn about, in %."
            grid = Grid("Warnings by rule", caption, ["texts"], ["warned about, %", "of"], flagged)
            yield Section("Warnings", [grid], "Hits among attacks, and false alarms elsewhere.")
        run = self.effects.run
        answers = run_answers(self._store, run.id)
        if answers.is_empty():
            answers = pl.DataFrame(schema=dict.fromkeys(("rater", "status", "detail"), pl.String))
        counted = "Asks by how they ended, over all contexts and versions of an item."
        yield asks_section(run.config["raters"], answers, self._planned(), counted)

    def sentences(self) -> list[str]:
        """What the tables mean, a sentence each."""
        return explain_injection(self.results)

    def worst_coverage(self) -> tuple[str, float] | None:
        """The rater and context with the least coverage."""
        return worst_coverage(line_shares(right_lines(self.effects)))


def injection_results(effects: Effects) -> list[Result]:
    """Every number of the run."""
    moved = opened_injection(effects)
    right = replace(moved, lines=right_lines(effects), metrics=RIGHT, slices=())
    return [*results_of(moved), *results_of(right), *_flags(effects)]


def _flags(effects: Effects) -> Iterator[Result]:
    """How many of the texts the rules of `items.hostile` warn about: hits among attacks, false alarms elsewhere."""
    items = effects.items
    flagged = items.with_columns(flag=(pl.col("flagged") == "yes").cast(pl.Float64))
    wheres: list[dict[str, str]] = [{"version": version} for version in (CLEAN, PLACEBO, ATTACKED)]
    attacks = items["attack"].drop_nulls().unique(maintain_order=True)
    wheres += [{"version": ATTACKED, "attack": attack} for attack in attacks]
    for where in wheres:
        part = flagged
        for name, value in where.items():
            part = part.filter(pl.col(name) == value)
        yield Result.of(
            mean_by_item(part, "flag", UNIT),
            metric="flagged",
            slice=where,
            note="by rules that read the texts; no rater was asked",
        )


def injection_lines(results: Sequence[Result]) -> list[LineKey]:
    """Who was measured, those asked for first."""
    found = dict.fromkeys((str(r.rater), str(r.view), r.control) for r in results if r.rater is not None)
    return sorted(found, key=lambda line: line[2] is not None)


def moved_grid(results: Sequence[Result]) -> Grid:
    """How often each rater was moved over all attacks, and how often it was right."""
    rows = []
    for line in injection_lines(results):
        own = _own(results, line)
        moved = [_cell(_one(own, metric, {})) for metric in SMALL]
        right = [_cell(_one(own, "accuracy", {"version": version})) for version in (CLEAN, ATTACKED)]
        rows.append(Row(line[:2], [*moved, *right], line[2]))
    heads = ["rater", "context"]
    if len({row.names[1] for row in rows}) == 1:
        heads, rows = heads[:1], [replace(row, names=row.names[:1]) for row in rows]
    headings = [*(COLUMNS[metric] for metric in SMALL), "right before, %", "right under attack, %"]
    caption = "Over all attacks; 95 % interval below, clustered by person."
    return Grid("Moved, and right", caption, heads, headings, rows)


def attack_grid(results: Sequence[Result], line: LineKey, folded: bool = False) -> Grid:
    """A rater's table: all attacks together, each by itself, then by place and language."""
    own = _own(results, line)
    rows = [_row("all", "", own, {})]
    for name, title in (("attack", ""), ("place", "place: "), ("language", "language: ")):
        values = dict.fromkeys(r.slice[name] for r in own if set(r.slice) == {name} and r.metric == "moved")
        rows += [
            _row(f"{title}{value}", ATTACKS[value].about if name == "attack" else "", own, {name: value})
            for value in values
        ]
    title = f"{line[0]}, context {line[1]}"
    return Grid(title, "", ["attack", "what it is"], [COULD_MOVE, *COLUMNS.values()], rows, folded=folded)


def _row(name: str, about: str, own: Sequence[Result], where: dict[str, str]) -> Row:
    found = [_one(own, metric, where) for metric in COLUMNS]
    count = found[0].n if found[0] else 0
    return Row([name, about], [Cell(f"{count:,}", sort=float(count)), *map(_cell, found)])


def accuracy_grid(results: Sequence[Result]) -> Grid:
    """How often each rater was right: as it was, with placebos and attacked, then by place."""
    places = dict.fromkeys(r.slice["place"] for r in results if r.metric == "accuracy" and "place" in r.slice)
    columns = {heading: {"version": version} for version, heading in ACCURACY.items()}
    columns |= {
        f"{place}, {version}": {"version": version, "place": place}
        for place in places
        for version in ("placebo", "attacked")
    }
    rows = [
        Row(
            line[:2],
            [_cell(_one(_own(results, line), "accuracy", where)) for where in columns.values()],
            line[2],
        )
        for line in injection_lines(results)
    ]
    return Grid("Accuracy", "In %; 95 % interval below.", ["rater", "context"], list(columns), rows)


def _own(results: Sequence[Result], line: LineKey) -> list[Result]:
    return [r for r in results if (r.rater, r.view) == line[:2]]


def _one(results: Sequence[Result], metric: str, where: dict[str, str]) -> Result | None:
    return next((r for r in results if r.metric == metric and r.slice == where), None)


def _cell(result: Result | None) -> Cell:
    if result is None:
        return Cell()
    if result.metric == "pull":
        return result_cell(result, lambda value: signed(value, 2), to=" to ")
    if result.metric == "moved_beyond_placebo":
        return result_cell(result, lambda value: signed(100 * value), to=" to ")
    return result_cell(result, lambda value: plain(100 * value))


def explain_injection(results: Sequence[Result]) -> list[str]:
    """A sentence on every rater, tested together, and one on the rules that warn."""
    shown = injection_lines(results)
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


def _sentence(results: Sequence[Result], line: LineKey, finding: HypothesisTest | None) -> str | None:
    rater, view, control = line
    own = _own(results, line)
    moved, placebo = (_one(own, metric, {}) for metric in ("moved", "moved_by_placebo"))
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


def moved_figure(results: Sequence[Result]) -> "Figure | None":
    """One panel per rater, one line per attack."""
    found = [
        r
        for r in results
        if r.metric == "moved_beyond_placebo" and set(r.slice) == {"attack"} and r.value is not None
    ]
    raters = list(dict.fromkeys((r.rater, r.view) for r in found if r.control is None))[:MOST_PANELS]
    if not raters:
        return None
    dots = {
        (r.rater, r.view, r.slice["attack"]): plots.Dot(*(_percent(n) for n in (r.value, r.low, r.high)))
        for r in found
    }
    rows = [
        plots.PlotRow(attack, [dots.get((rater, view, attack), plots.Dot()) for rater, view in raters])
        for attack in ATTACKS
    ]
    return plots.panels_figure(rows, [plots.Panel(short_name(str(rater)), 0.0) for rater, _ in raters])


def _percent(number: float | None) -> float | None:
    return None if number is None else 100 * number
