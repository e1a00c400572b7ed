"""The report of a run of choices: scores, controls, contexts, analyses, and a browser of its items."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

from personafit._errors import UserError, counted
from personafit.contexts import is_remembered
from personafit.kinds.choice import RESTRAINT, RunScores, columns_of, load_scores, missing_halves
from personafit.kinds.lines import layouts_of
from personafit.reports.claims import decided_lifts, legend_for, people_words
from personafit.reports.kind_report import (
    NOT_MEASURED,
    Column,
    KindReport,
    LineId,
    asks_section,
    name_places,
    quote,
)
from personafit.reports.line_results import results_of, share_of, worst_coverage
from personafit.reports.pieces import Grid, Picture, Prose, Section
from personafit.reports.result import Result
from personafit.reports.totals import load_totals
from personafit.store import RunRecord, Store

DEFINITIONS = {
    "accuracy": "share of items on which the gold answer was chosen, averaged over both orders; a tie counts ½",
    "win_rate": "share of all comparisons, with generic and with wrong-person answers, that the tested answer won; a tie counts ½",
    "accuracy_debiased": "accuracy of the choice that both orders together speak for, so a preference for a position cancels",
    "win_rate_debiased": "win rate of the choice that both orders together speak for, so a preference for a position cancels",
    "win_rate_length_controlled": "win rate that a logistic regression predicts for two answers of equal length",
    "consistency": "share of items that got the same choice in both orders",
    "lift": "score with the person minus the larger of the scores without and with a wrong person, on the same items, in points",
    "restraint": "score on the items whose right answer is the less personal one",
}


def legend(metrics: Iterable[str]) -> str:
    """Return one line that defines the metrics shown; metrics without a definition are left out."""
    shown = dict.fromkeys(metric for metric in metrics if metric in DEFINITIONS)
    return " ".join(f"{metric.replace('_', ' ').capitalize()}: {DEFINITIONS[metric]}." for metric in shown)


PUBLISHED_TABLE = "Table 3"  # in the PersonaFeedback paper
MOST_ITEMS = 1_000  # larger runs get further analyses only on request
MOST_ROWS = 12  # of the lead table, controls included
MOST_PANELS = 8
NARROW = 4  # with more panels, titles take two lines
COIN = 0.5  # the score of guessing between two answers
EXPECTED = {"expect": RESTRAINT}


class ChoiceReport(KindReport):
    """The report of a run in which raters chose between answers."""

    def __init__(self, store: Store, run: RunRecord) -> None:
        self.totals = load_totals(store, run)
        super().__init__(store, run, self.totals.info, results_of(self.totals.opened, self.totals.added))
        self.metric: str = self.info["metric"]
        self.shown = self.metric.replace("_", " ")
        """The display name of the headline metric."""

    @cached_property
    def scores(self) -> RunScores:
        """The run's scores by item, for analyses that need more than totals."""
        return load_scores(self.store, self.record, self.totals.pages)

    def sentences(self) -> list[str]:
        """Return how claims are tested; the verdict has the claims."""
        return legend_for(tested for _, tested in decided_lifts(self.results, self.margin))

    def worst_coverage(self) -> tuple[str, float] | None:
        """Return the rater and context with the lowest coverage."""
        totals = self.totals
        return worst_coverage(
            (
                f"{rater['name']} ({context})",
                share_of(totals.answered(rater["fingerprint"], context), totals.asked(rater, context)),
                not rater["control"],
            )
            for rater in totals.raters
            for context in totals.contexts
        )

    def counts(self) -> list[str]:
        return [counted(self.totals.items, "item", "items"), people_words(self.totals.people)]

    def answered(self) -> tuple[int, int]:
        return self.totals.coverage()

    # -- pictures and tables --------------------------------------------------------------------------------------------

    def picture(self) -> Picture | None:
        """Plot scores with the right person, without and with the wrong one; by slice if there is one context only."""
        return self._by_context or self._by_slice

    @property
    def _guessing(self) -> float | None:
        """The score of guessing, in percent: 50 unless the benchmark says otherwise; None if it says 0, since its items have
        different numbers of answers."""
        return 100 * float(self.info.get("metrics", {}).get("chance", COIN)) or None

    @property
    def _headlined(self) -> dict[LineId, str | None]:
        """The lines under the headline context, controls last."""
        context = self.totals.headline_context
        return {line: control for line, control in self.lines_of(self.metric).items() if line[3] == context}

    @cached_property
    def _by_context(self) -> Picture | None:
        from personafit.reports.plots import Panel, PlotRow, dot_of, marks_words, panels_figure

        headline = self.totals.headline_context
        contexts = [headline, *(context for context in self.totals.contexts if context != headline)]
        if not 2 <= len(contexts) <= MOST_PANELS:
            return None
        places = name_places([(*line[:3], None) for line in self._headlined])
        rows = []
        for line, control in self._headlined.items():
            system, system_context, rater, _ = line
            dots = [
                dot_of(self.figures.find(self.metric, rater, context, system, system_context))
                for context in contexts
            ]
            dots.append(dot_of(self.figures.find("lift", rater, headline, system, system_context)))
            called = " · ".join(line[place] or "" for place in places)
            rows.append(PlotRow(called, dots, control is not None))
        if all(dot.value is None for row in rows for dot in row.dots):
            return None
        if all(row.dots[-1].value is None for row in rows):  # no lift: no panel for it
            rows = [replace(row, dots=row.dots[:-1]) for row in rows]
        titles = [
            re.sub(r"(?<=[:+])", "\n", context) if len(contexts) >= NARROW else context
            for context in contexts
        ]
        told = f"context `{headline}`" if {*contexts} == {headline, "none", f"wrong:{headline}"} else ""
        if told:
            titles = [
                {headline: "Right person", "none": "No person"}.get(context, "Wrong person")
                for context in contexts
            ]
        panels = [Panel(f"{title}, %", self._guessing) for title in titles] + [Panel("Lift, points", 0.0)]
        won = "How often the system's answer wins when the judge is"
        whose = won if self.metric == "win_rate" else f"{self.shown.capitalize()} when"
        caption = (
            f"{whose} told about the right person{f' ({told})' if told else ''}, about nobody, and about "
            "somebody else. Lift is the first minus the larger of the other two: unless its interval lies above zero, the score does not "
            f"come from knowing the person. At the dotted lines are guessing and no lift.{marks_words(rows)}"
        )
        figure = panels_figure(rows, panels[: len(rows[0].dots)])
        return Picture("With the right person, no person and the wrong person", caption, figure)

    @cached_property
    def _by_slice(self) -> Picture | None:
        from personafit.reports.plots import Panel

        finest = set(next(iter(layouts_of(self.info)), ()))
        slices = [column for column in self._columns if finest and set(column[2]) == finest]
        slices = [column for column in slices if any(one.slice == column[2] for one in self.results)]
        if len(slices) > MOST_PANELS:
            return None
        between = "\n" if len(slices) > NARROW else " "
        panels = [
            (Panel(heading.replace(" ", between), self._guessing), metric, where)
            for heading, metric, where in slices
        ]
        caption = f"{self.shown.capitalize()} in % by slice, context “{self.totals.headline_context}”. At the dotted line is guessing."
        return self.plot(f"{self.shown.capitalize()} by slice", caption, self._headlined, panels)

    @property
    def _columns(self) -> list[Column]:
        return [
            (f"against {heading}" if "against" in where else heading, self.metric, where)
            for heading, where in columns_of(self.totals)
        ]

    def table(self) -> Grid:
        columns: list[Column] = [(self.shown, self.metric, {}), ("lift", "lift", {})]
        columns.append(("restraint", "restraint", EXPECTED))
        known = [name for _, name, _ in columns if self._has(name)]
        restraint = " and restraint" if "restraint" in known else ""
        lift = ", lift in points" if "lift" in known else ""
        judged = "One row per system and judge. " if self.metric == "win_rate" else ""
        caption = f"{judged}{self.shown.capitalize()}{restraint} in %{lift}."
        lines = dict([*self._headlined.items()][:MOST_ROWS])
        note = " ".join([legend(name for name in known if name != "accuracy"), *self._no_lift()])
        return self.grid("Scores", caption, lines, columns, coverage=self.metric, note=note.strip())

    def _no_lift(self) -> list[str]:
        """Return why there is no lift, if the run leaves out contexts that the benchmark's own runs have."""
        why = next((one.note for one in self.results if one.metric == "lift" and one.note), None)
        possible = self.info.get("controls", {}).get("views")  # the stored name of contexts
        return [f"{why[:1].upper()}{why[1:]}."] if why and possible and not self._has("lift") else []

    def _has(self, metric: str) -> bool:
        return any(one.metric == metric and one.value is not None for one in self.results)

    def _slices_grid(self) -> Grid:
        """Tabulate the benchmark's own slices, published rows last; without a total if one of two halves is missing."""
        columns = self._columns[:-1] if missing_halves(self.totals) else self._columns
        quoted = list(self._published(columns))
        controlled = f"{self.metric}_length_controlled"
        if self._has(controlled):
            columns += [
                (f"{heading}, equal length", controlled, where) for heading, _, where in columns if where
            ]
        sources = dict.fromkeys((one.note or "").removeprefix(NOT_MEASURED) for one in quoted)
        note = f"Published rows are quoted from {'; '.join(sources)}." if sources else ""
        title = f"{self.shown.capitalize()} by slice"
        caption = f"{self.shown.capitalize()} in %."
        return self.grid(title, caption, self.lines_of(self.metric), columns, quoted=quoted, note=note)

    def _published(self, columns: Iterable[Column]) -> Iterator[Result]:
        """Yield published scores in the layout of the benchmark's table: the main table's, and those for memory contexts."""
        remembered = [context for context in self.totals.contexts if is_remembered(context)]
        shown = [
            row
            for row in self.info.get("published", [])
            if "Table" not in row["source"]
            or row["source"].endswith(PUBLISHED_TABLE)
            or row["view"] in remembered
        ]
        for row in shown:
            for _, metric, where in columns:
                if (score := row["scores"].get("/".join(where.values()))) is not None:
                    yield quote(
                        metric,
                        score / 100,
                        row["source"],
                        0,
                        dict(where),
                        rater=row["model"],
                        context=row["view"],
                    )

    def _controls_grid(self) -> Grid:
        """Tabulate consistency, lift, restraint and coverage of every line; remarks say why a number is missing."""
        names = [self.metric, f"{self.metric}_debiased", "consistency", "lift"]
        columns: list[Column] = [(name.replace("_", " "), name, {}) for name in names]
        columns.append(("restraint", "restraint", EXPECTED))
        return self.grid(
            "Controls and consistency",
            "All items, in %; lift in points.",
            self.lines_of(self.metric),
            columns,
            coverage=self.metric,
            note=legend(one.metric for one in self.results if one.value is not None),
        )

    # -- the rest --------------------------------------------------------------------------------------------------------

    def sections(self) -> Iterator[Section]:
        totals, drawn = self.totals, self._by_slice if self._by_context else None
        yield Section("Scores by slice", [*([drawn] if drawn else []), self._slices_grid()])
        lead = "Rules that read nothing are scored beside every rater. A score says something about fitting the person only beside its lift."
        yield Section("Controls and consistency", [self._controls_grid()], lead)
        yield from self._analyses()
        ended = (
            (
                [rater["name"]],
                totals.endings(rater["fingerprint"]),
                sum(totals.asked(rater, context) for context in totals.contexts),
            )
            for rater in totals.raters
        )
        yield asks_section(ended, "Number of asks by status.")

    def _analyses(self) -> Iterator[Section]:
        """Yield agreement, bias, aspects and failure modes; for large or rules-only runs, the command that adds them."""
        only_rules = all(rater["kind"] == "rule" for rater in self.totals.raters)
        if not self.complete and (only_rules or self.totals.items > MOST_ITEMS):
            how = f"`personafit report {self.record.name} --out FILE.html` adds agreement, bias, aspects and failure modes."
            yield Section("Further analyses", [Prose(how, "small")])
            return
        for title, make in self._analysers().items():
            try:
                section = make()
            except UserError as error:
                section = Section(title, [Prose(str(error), "small")])
            if section is not None:
                yield section

    def _analysers(self) -> dict[str, Callable[[], Section | None]]:
        """Return the sections to build; imported lazily, as a terminal report and a rules-only run need none of them."""
        from personafit.reports import aspects, bias, failures
        from personafit.reports.agree import agreement_section
        from personafit.reports.agree_ratings import run_source
        from personafit.reports.analysis import section_of
        from personafit.reports.calibration import ceiling_pieces

        store, run, scores, margin = self.store, self.record, self.scores, self.margin
        found: dict[str, Callable[[], Section | None]] = {
            "Human ceiling": lambda: Section("Human ceiling", ceiling_pieces(store, scores)),
            "Agreement": lambda: agreement_section(run_source(store, run, scores.answers), margin),
            "Bias": lambda: section_of(
                "Bias of the judges", bias.analyze_bias(store, run, margin, scores).part(), bias.LEAD
            ),
        }
        if any(rater["name"].startswith("aspects:") for rater in self.totals.raters):
            found["Aspects"] = lambda: section_of(
                "Aspects", aspects.analyze_aspects(store, run, scores).part(), aspects.LEAD
            )
        if self.totals.raters:
            found["Failure modes"] = lambda: section_of(
                "Failure modes", failures.analyze_failures(store, run, None, scores).part(), failures.LEAD
            )
        return found

    def items(self) -> dict[str, Any]:
        from personafit.reports.browse import browser_data

        words = {"gold": f"gold ({self.info['gold']})", "right": "right", "wrong": "wrong"}
        if self.info["metric"] == "win_rate":
            words = {"gold": "tested answer", "right": "won", "wrong": "lost"}
        return browser_data(self.store, self.totals) | {"words": words}

    def facts(self) -> dict[str, str]:
        part = "a part of the items; give the same --limit or --people again"
        return {
            "gold": self.info["gold"],
            "question": self.record.config["question"],
            "contexts": ", ".join(self.totals.contexts),
            "items judged": f"{self.totals.items:,}",
            "people": f"{self.totals.people:,}",
            "sample": part if self.record.config["selected"] is not None else "",
        }
