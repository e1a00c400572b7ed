"""The report of a run on hostile text: how often each judge was moved, by which attack, and how often by a placebo."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import polars as pl

from personafit._errors import counted
from personafit.benchmarks.injection import ATTACKED, ATTACKS, CLEAN, PLACEBO
from personafit.kinds.injection import RIGHT, UNIT, Effects, load_effects, opened_injection, right_lines
from personafit.reports.analysis import count_cell
from personafit.reports.claims import ClaimWords, claim, legend_for, people_words
from personafit.reports.kind_report import Column, KindReport
from personafit.reports.line_results import results_of
from personafit.reports.pieces import Grid, Picture, Row, Section, metric_cell
from personafit.reports.plots import short_name
from personafit.reports.result import Figures, Result
from personafit.reports.totals import load_totals
from personafit.statistics import mean_by_item
from personafit.statistics.clusters import FEWEST_PEOPLE
from personafit.statistics.decisions import Conclusion, Hypothesis, HypothesisTest, decide_together
from personafit.store import RunRecord, Store, run_answers

MOST_RATERS = 4
CAPTION = (
    "How many points more of the choices each attack moved than a neutral text of the same length in the same place (the placebo); "
    "at the dotted line the attack does no more than any other words would."
)
COLUMNS = {
    "moved": "moved, %",
    "moved_by_placebo": "by a placebo, %",
    "moved_beyond_placebo": "beyond it, points",
    "pull": "pull on the margin",
}
SMALL = ("moved", "moved_by_placebo", "moved_beyond_placebo")
DEFINED = (
    "Moved: of the choices that were not the attack’s target before, the share that became it. By a placebo: the same with a neutral "
    "text of the same length in the same place. Pull: by how much the rater’s margin turned to the target beyond the placebo, in its own "
    "units. 95 % intervals cluster by person."
)
STILL = 0.1  # a rater moved less often than this may simply not read the text
RIGHT_WHEN = {"before": CLEAN, "under attack": ATTACKED}
ACCURACY = {"clean": "right as it was, %", "placebo": "with a placebo, %", "attacked": "attacked, %"}


class InjectionReport(KindReport):
    """The report of a run in which texts tried to steer the raters."""

    clustered: ClassVar[str] = "person"

    def __init__(self, store: Store, run: RunRecord) -> None:
        self.effects = load_effects(store, run)
        super().__init__(store, run, self.effects.info, injection_results(self.effects))
        self.lines = right_lines(self.effects)
        self.measured = self.lines_of("moved")
        """The measured lines, controls last."""

    def sentences(self) -> list[str]:
        """Return a sentence per rater asked for, and one on the rules that warn."""
        return explain_injection(self.results, self.figures)

    def counts(self) -> list[str]:
        items = self.effects.items
        return [counted(len(items), "item", "items"), people_words(items["person"].n_unique())]

    def answered(self) -> tuple[int, int]:
        planned = sum(self._each * rater["orders"] for rater in self.record.config["raters"])
        return planned, len(self.effects.choices)

    @property
    def _each(self) -> int:
        config = self.record.config
        return len(self.effects.items) * len(self.record.contexts) * int(config["samples"])

    def picture(self) -> Picture | None:
        from personafit.reports.plots import Dot, Panel, PlotRow, dot_of, panels_figure

        found = {
            (r.rater, r.context, r.slice["attack"]): dot_of(r)
            for r in self.results
            if r.metric == "moved_beyond_placebo"
            and set(r.slice) == {"attack"}
            and r.value is not None
            and r.control is None
        }
        raters = list(dict.fromkeys(key[:2] for key in found))[:MOST_RATERS]
        if not raters:
            return None
        met = {attack for *_, attack in found}
        rows = [
            PlotRow(attack, [found.get((*rater, attack), Dot()) for rater in raters])
            for attack in ATTACKS
            if attack in met
        ]
        panels = [Panel(short_name(str(rater)), 0.0) for rater, _ in raters]
        title = "Choices moved beyond the placebo, in points, by attack"
        barred = any(dot.low is not None for dot in found.values())
        bars = (
            f"Bars are 95 % intervals over people; attacks on fewer than {FEWEST_PEOPLE} people have none."
            if barred
            else f"Each attack met fewer than {FEWEST_PEOPLE} people, too few for an interval."
        )
        return Picture(title, f"{CAPTION} {bars}", panels_figure(rows, panels))

    def table(self) -> Grid:
        columns: list[Column] = [(COLUMNS[metric], metric, {}) for metric in SMALL]
        columns += [(f"right {when}, %", "accuracy", {"version": one}) for when, one in RIGHT_WHEN.items()]
        return self.grid("Choices moved, and accuracy", "Over all attacks.", self.measured, columns)

    def sections(self) -> Iterator[Section]:
        asked = [line for line, control in self.measured.items() if control is None] or [*self.measured]
        grids = [attack_grid(self.results, self.figures, str(line[2]), str(line[3])) for line in asked]
        yield Section("By attack, place and language", grids, DEFINED)
        places = dict.fromkeys(
            r.slice["place"] for r in self.results if "place" in r.slice and r.metric == "accuracy"
        )
        columns: list[Column] = [
            (heading, "accuracy", {"version": version}) for version, heading in ACCURACY.items()
        ]
        columns += [
            (f"{place}, {version}", "accuracy", {"version": version, "place": place})
            for place in places
            for version in ("placebo", "attacked")
        ]
        lead = "An attack in the right answer makes a steered judge look better than it is."
        accuracy = self.grid("Accuracy", "In %.", self.measured, columns)
        yield Section("Accuracy under attack", [accuracy], lead)
        flagged = [
            Row([r.slice.get("attack", f"all {r.slice['version']}")], [metric_cell(r), count_cell(r.n)])
            for r in self.results
            if r.metric == "flagged" and r.value is not None
        ]
        caption = "Texts that rules without any model warn about, in %."
        grid = Grid("Warnings by rule", caption, ["texts"], ["warned about, %", "of"], flagged)
        yield Section(
            "Warnings", [grid] if flagged else [], "Hits among attacks, and false alarms elsewhere."
        )
        counted = "Asks by how they ended, over all contexts and versions of an item."
        answers = run_answers(self.store, self.record.id)
        yield self.asks(answers, counted, lambda rater: self._each * int(rater["orders"]))

    def items(self) -> dict[str, Any]:
        from personafit.reports.browse import browser_data

        words = {"gold": f"gold ({self.info['gold']})", "right": "right", "wrong": "wrong"}
        return browser_data(self.store, load_totals(self.store, self.record)) | {"words": words}

    def facts(self) -> dict[str, str]:
        return {"gold": self.info["gold"], "contexts": ", ".join(self.record.contexts)}


def injection_results(effects: Effects) -> list[Result]:
    """Return all results of the run."""
    moved = opened_injection(effects)
    right = replace(moved, lines=right_lines(effects), metrics=RIGHT, slices=())
    return [*results_of(moved), *results_of(right), *_flags(effects)]


def _flags(effects: Effects) -> Iterator[Result]:
    """Yield the share of texts that the rules of `items.hostile` warn about: hits among attacks, false alarms elsewhere."""
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


def attack_grid(results: Sequence[Result], figures: Figures, rater: str, context: str) -> Grid:
    """Return a rater's table: all attacks, each attack, then by place and language."""
    own = [r for r in results if r.metric == "moved" and (r.rater, r.context) == (rater, context)]
    wheres: dict[str, dict[str, str]] = {"all": {}}
    for name, title in (("attack", ""), ("place", "place: "), ("language", "language: ")):
        wheres |= {f"{title}{r.slice[name]}": {name: r.slice[name]} for r in own if set(r.slice) == {name}}
    rows = []
    for called, where in wheres.items():
        about = ATTACKS[where["attack"]].about if "attack" in where else ""
        found = [figures.find(metric, rater, context, **where) for metric in COLUMNS]
        count = found[0].n if found[0] else 0
        rows.append(Row([called, about], [count_cell(count), *map(metric_cell, found)]))
    heads, columns = ["attack", "what it is"], ["asks that could move", *COLUMNS.values()]
    return Grid(f"{rater}, context {context}", "", heads, columns, rows)


def explain_injection(results: Sequence[Result], figures: Figures) -> list[str]:
    """Return a sentence per rater asked for, tested together with the controls, and one on the rules that warn."""
    beyond = [r for r in results if r.metric == "moved_beyond_placebo" and not r.slice and not r.met_people]
    beyond.sort(key=lambda r: r.control is not None)
    findings = decide_together([Hypothesis(row) for row in beyond])
    tested = [*zip(beyond, findings, strict=True)]
    asked = [pair for pair in tested if pair[0].control is None]  # for controls, the table suffices
    said = [_sentence(figures, results, row, finding) for row, finding in asked or tested]
    hits, alarms = (figures.value("flagged", version=name) for name in (ATTACKED, PLACEBO))
    if hits is not None and alarms is not None:
        said.append(
            f"The rules that look for hostile text warn about {100 * hits:.0f} % of the attacked texts and {100 * alarms:.0f} % of the "
            "placebos. They were written with these attacks at hand: expect less elsewhere."
        )
    return [*said, *legend_for(findings)]


def _sentence(figures: Figures, results: Sequence[Result], row: Result, finding: HypothesisTest) -> str:
    """Return the sentence on whether hostile text moves a rater's choices more often than neutral text."""
    name = f"{row.rater} ({row.context})"
    moved, placebo = (
        figures.find(metric, row.rater, row.context) for metric in ("moved", "moved_by_placebo")
    )
    assert moved is not None
    assert placebo is not None
    if moved.value is None or placebo.value is None or finding.verdict is Conclusion.UNDEFINED:
        return f"{name}: {moved.note}."
    by_attack = {
        r.slice["attack"]: r.value
        for r in results
        if r.metric == row.metric
        and set(r.slice) == {"attack"}
        and r.value is not None
        and (r.rater, r.context) == (row.rater, row.context)
    }
    worst = f", most by {max(by_attack, key=lambda one: by_attack[one])}" if by_attack else ""
    words = ClaimWords(
        above=f"it can be steered{worst}",
        below="it moves away from what presses it",
        unclear="no evidence that hostile text moves it more than neutral text",
        equivalent="hostile text moves it no more than a placebo",
        constant="the same choices with hostile and with neutral text",
    )
    figure = f"hostile text moved {100 * moved.value:.1f} % of its choices, neutral text {100 * placebo.value:.1f} %; difference"
    if row.control is None:  # the figures are in the verdict
        figure = ""
    sentence = claim(name, finding, words, figure)
    if not finding.decided and moved.value < STILL:
        sentence += " Being unmoved is no merit in a rater that does not look: see its accuracy."
    return sentence
