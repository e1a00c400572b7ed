"""Agreement between raters: with each other, with gold, by kind, and with the majority of people.

Gold is a rater too. Every figure has an interval over people and, where they recur, prompts, or the reason why it is undefined.
The numbers are flat findings, shared by tables and JSON. Machines are compared with people by paired tests on the same items.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from personafit._errors import UserError, counted
from personafit.benchmarks.published import published_file
from personafit.items.preference import PREFERENCE
from personafit.items.relevance import RELEVANCE
from personafit.kinds.lines import CONTROL_RATERS
from personafit.reports.agree_ratings import (
    GOLD,
    HUMAN,
    SIMULATED,
    Ratings,
    Source,
    VotingRater,
    rating_tables,
)
from personafit.reports.analysis import count_cell, estimate_fields, matrix_picture, section_of, small_notes
from personafit.reports.claims import POINTS, interval_words, legend_for, null_words, people_words, shown_p
from personafit.reports.pieces import (
    Cell,
    Grid,
    Picture,
    Piece,
    Remarks,
    Row,
    Section,
    result_cell,
    true_minus,
)
from personafit.reports.plots import lined_name
from personafit.reports.report import ReportPart
from personafit.reports.result import plain
from personafit.statistics import Estimate
from personafit.statistics.agreement_intervals import PairFigure, TableFigure, table_agreement
from personafit.statistics.clusters import FEWEST_PEOPLE
from personafit.statistics.decisions import (
    MARGIN,
    Conclusion,
    Hypothesis,
    HypothesisTest,
    Measured,
    decide_together,
)
from personafit.statistics.raters import (
    EPSILON,
    FEWEST_ANNOTATORS,
    PASSES,
    AlternativeAnnotator,
    alternative_annotator,
    compare_raters,
    panel_ceiling,
)

ALL = "all raters"


@dataclass(frozen=True)
class Finding:
    """One agreement figure: its part of the analysis, and the raters or kinds it is about."""

    part: str
    """together, pair, block, reliability, panel (the ceiling), ceiling (each rater compared with it), gap (a machine minus the ceiling on
    the same items) or alternative (the alternative annotator test)."""
    figure: str
    first: str
    second: str | None
    estimate: Estimate
    pairs: int | None = None
    tested: HypothesisTest | None = None
    """The test of a gap, corrected together with those of the other machines."""

    @property
    def p(self) -> float | None:
        """p-value of a gap of 0, Holm-corrected for the number of machines tested."""
        return None if self.tested is None else self.tested.p_adjusted

    def as_dict(self) -> dict[str, Any]:
        tested = self.tested
        return {
            **{name: getattr(self, name) for name in ("part", "figure", "first", "second")},
            **estimate_fields(self.estimate),
            "pairs": self.pairs,
            "p": self.p,
            "equivalent": None if tested is None else tested.verdict is Conclusion.EQUIVALENT,
            "detectable": None if tested is None else tested.detectable,
        }


@dataclass(frozen=True)
class Agreement:
    """All agreement findings on one question."""

    ratings: Ratings
    findings: tuple[Finding, ...]

    def of_part(self, part: str) -> dict[str, Finding]:
        """Return the findings of one part, by their first rater."""
        return {finding.first: finding for finding in self.findings if finding.part == part}

    @property
    def legend(self) -> list[str]:
        return legend_for(finding.tested for finding in self.findings)

    def find(self, part: str, figure: str, first: str, second: str | None = None) -> Estimate | None:
        """Return one estimate, or None; the names of a pair or block may be in either order."""
        found = self._index.get((part, figure, first, second))
        if found is None and part in ("pair", "block"):
            found = self._index.get((part, figure, second, first))
        return found

    @cached_property
    def _index(self) -> dict[tuple[str | None, ...], Estimate]:
        return {(one.part, one.figure, one.first, one.second): one.estimate for one in self.findings}


def agreements(source: Source, margin: float = MARGIN) -> list[Agreement]:
    """Return the agreement of all raters of a source, per question; gaps within `margin` count as none in equivalence tests."""
    tables = rating_tables(source)
    if not any(len(table.raters) > 1 for table in tables):
        who = sorted({rater.name for table in tables for rater in table.raters})
        there = f"only {who[0]} answered" if who else "nobody gave a label or a mark"
        raise UserError(
            f"{source.name}: {there}, and agreement takes two; nothing can be said about one rater without "
            "another or gold."
        )
    return [
        Agreement(table, (*_together(table), *_pairwise(table), *_ceiling(table, margin)))
        for table in tables
        if len(table.raters) > 1
    ]


def _together(table: Ratings) -> Iterator[Finding]:
    """Yield the figures for a whole group of raters: all of them, then each kind."""
    kinds = dict.fromkeys(table.raters[place].kind for place in table.judges)
    groups = {ALL: table.judges}
    if len(kinds) > 1:
        groups |= {kind: table.columns(kind) for kind in kinds}
    figures: list[TableFigure] = ["percent", "fleiss", "ordinal" if table.ordinal else "nominal"]
    for group, members in groups.items():
        if len(members) < 2:
            continue
        for figure in figures:
            source = table.values if figure == "ordinal" else table.codes
            estimate = table_agreement(source[:, members], table.people, table.prompts, figure, table.halves)
            yield Finding("together", figure, group, None, estimate, len(members) * (len(members) - 1) // 2)


def _pairwise(table: Ratings) -> Iterator[Finding]:
    figures: list[PairFigure] = ["percent", "kappa"]
    figures += ["quadratic"] if table.ordinal else []
    everyone = list(range(len(table.raters)))
    for figure in figures:
        yield from _compared(table, table.codes, everyone, figure)
    numbered = [place for place in everyone if np.isfinite(table.values[:, place]).any()]
    numbers = table.values[:, numbered]
    ranks = len(np.unique(numbers[np.isfinite(numbers)]))
    if len(numbered) > 1 and ranks > 2:
        yield from _compared(table, numbers, numbered, "spearman")


def _compared(table: Ratings, ratings: Any, members: Sequence[int], figure: PairFigure) -> Iterator[Finding]:
    raters = [table.raters[place] for place in members]
    kinds = [rater.kind for rater in raters]
    for one in compare_raters(ratings, kinds, table.people, table.prompts, figure, table.halves):
        first, second = (raters[who].name if isinstance(who, int) else who for who in (one.first, one.second))
        yield Finding(one.part, figure, first, second, one.figure, one.pairs)


def _ceiling(table: Ratings, margin: float) -> Iterator[Finding]:
    """Yield the ceiling (each person against the majority of the others), each rater against the same majorities, and tests of the two."""
    panel = table.columns(HUMAN)
    if len(panel) < 2:
        return
    found = panel_ceiling(table.codes, panel, table.people, table.prompts, table.halves)
    yield Finding("panel", "majority", HUMAN, None, found.ceiling)
    for rater, estimate in zip(table.raters, found.raters, strict=True):
        if rater.kind != GOLD:
            yield Finding("ceiling", "majority", rater.name, None, estimate)
    tested = [
        (place, rater.name, gap)
        for place, (rater, gap) in enumerate(zip(table.raters, found.gaps, strict=True))
        if gap is not None and gap.value is not None and rater.kind != GOLD and _claimable(rater)
    ]
    decided = decide_together([Hypothesis(gap, margin=margin) for _, _, gap in tested])
    for (_, name, gap), test in zip(tested, decided, strict=True):
        yield Finding("gap", "majority", name, HUMAN, gap, tested=test)
    if len(panel) < FEWEST_ANNOTATORS:
        return
    for place, name, gap in tested:
        won = alternative_annotator(
            table.codes, panel, place, table.people, table.prompts, halves=table.halves
        )
        yield Finding("alternative", "win_rate", name, HUMAN, _win_rate(won, table, gap))


def _claimable(rater: VotingRater) -> bool:
    """Return whether claims about the rater are allowed: not for controls or raters fitted on these people."""
    return not rater.control and rater.met is None


def _win_rate(test: AlternativeAnnotator, table: Ratings, gap: Estimate) -> Estimate:
    """Return the share of people that a machine wins against, naming them in the note."""
    if all(one.p is None for one in test.against):
        return Estimate(None, None, None, gap.n, gap.people, gap.note or "no test: nothing varies")
    won = [table.raters[one.annotator].name for one in test.against if one.won]
    note = (
        f"at least as good as {', '.join(won) or 'nobody'} of {len(test.against)} people (ε = {test.epsilon:g}); "
        f"agrees with the others at least as well on {100 * (test.advantage or 0.0):.0f} % of items"
    )
    return Estimate(test.win_rate, None, None, gap.n, gap.people, note)


def cautions(found: Agreement, source: Source) -> list[str]:
    """Return sentences on what cannot be concluded about these raters, and why."""
    table = found.ratings
    given = table.codes >= 0
    shared = given.sum(1) >= 2
    if not shared.any():
        return ["No two raters judged the same item, so nothing can be said about agreement."]
    said = []
    if len(np.unique(table.codes[shared][given[shared]])) == 1:
        said.append(
            "Everybody gave the same label to every item, so there is no agreement beyond chance to measure: a rater who "
            "always gives that label would agree as well."
        )
    if (people := len(np.unique(table.people[shared]))) < FEWEST_PEOPLE:
        said.append(
            f"The shared judgments are about {people_words(people)} only, so no interval can be given: it needs at least "
            f"{FEWEST_PEOPLE}."
        )
    if (missing := 1 - given.mean()) > 0:
        lost = source.unanswered
        why = f" ({lost:,} answers failed, were refused or could not be read)" if lost else ""
        said.append(
            f"{100 * missing:.1f} % of the votes are missing{why}: every figure is over the items its raters share."
        )
    if silent := source.silent():
        verb = "is" if len(silent) == 1 else "are"
        said.append(f"{', '.join(silent)} gave no answer at all and {verb} left out.")
    said += [f"{rater.met} Nothing is concluded about its agreement." for rater in table.raters if rater.met]
    if table.flips:
        counts = ", ".join(f"{count:,} of {name}" for name, count in table.flips.items())
        said.append(
            f"Answers that change with the order ({counts}) and have no margin to decide are ties: a tie half agrees with "
            "either answer, as it is half a point in accuracy."
        )
    humans = len(table.columns(HUMAN))
    if humans < 2:
        said.append(
            f"There is {'one human rater' if humans else 'no human rater'}, so there is no human ceiling: it "
            "compares each person with the others."
        )
    if humans and any(rater.kind == GOLD and rater.name.startswith("majority") for rater in table.raters):
        said.append(
            "The gold is a majority of votes: people who voted for it agree with it for that reason; the ceiling leaves "
            "each one's own vote out."
        )
    return said


def conclusions(found: Agreement) -> list[str]:
    """Return the conclusions as sentences."""
    said = []
    for kind, who in ((HUMAN, "People"), (SIMULATED, "Simulated raters")):
        among = found.find("block", "kappa", kind, kind)
        if among is not None and among.value is not None:
            said.append(f"{who} agree with each other at a mean kappa of {_figure(among)}.")
    raters = [found.ratings.raters[place] for place in found.ratings.judges]
    met = {rater.kind for rater in raters if rater.met}
    for kind in dict.fromkeys(rater.kind for rater in raters if rater.kind not in (HUMAN, "rule", *met)):
        with_people, inside = (found.find("block", "kappa", *pair) for pair in ((HUMAN, kind), (kind, kind)))
        if with_people is not None and with_people.value is not None:
            known = inside is not None and inside.value is not None
            others = f", with each other at {_figure(inside)}" if inside is not None and known else ""
            said.append(f"Raters of kind {kind} agree with people at {_figure(with_people)}{others}.")
    return [*said, *(_ceiling_in_words(found) or _nearest_gold(found))]


def _ceiling_in_words(found: Agreement) -> list[str]:
    """Return sentences on machines compared with people; the best machine and the ceiling come last."""
    ceiling = found.find("panel", "majority", HUMAN)
    if ceiling is None or ceiling.value is None:
        return []
    start = f"The human ceiling (each person against the majority of the others) is {_figure(ceiling)}"
    reached = {name: one.estimate for name, one in found.of_part("ceiling").items()}
    gaps = {name: gap.tested for name, gap in found.of_part("gap").items() if gap.tested is not None}
    if not gaps:
        return [f"{start}."]
    best = max(gaps, key=lambda name: reached[name].value or 0.0)
    said = []
    wins = found.find("alternative", "win_rate", best, HUMAN)
    if wins is not None and wins.value is not None:
        said.append(
            f"By the alternative annotator test (ε = {EPSILON:g}) {best} is at least as good as {100 * wins.value:.0f} % of the "
            f"people, so it {'may' if wins.value >= PASSES else 'may not'} stand in for one of them."
        )
    for verdict in (Conclusion.BELOW, Conclusion.ABOVE):
        others = [name for name, gap in gaps.items() if name != best and gap.verdict is verdict]
        if others:
            said.append(f"Also {verdict.value} the human ceiling: {', '.join(others)}.")
    many = f"the best of {len(gaps)} machines" if len(gaps) > 1 else "the machine"
    return [
        *said,
        f"{start}; {many}, {best}, reaches {_figure(reached[best])}{_beside_one_person(gaps[best])}.",
    ]


def _beside_one_person(gap: HypothesisTest) -> str:
    """Describe the paired test of a machine against the ceiling, as the end of a sentence."""
    estimate = gap.estimate
    if gap.verdict is Conclusion.CONSTANT:
        return ": it meets the majority wherever one person does, and nowhere else"
    if gap.p is None or estimate.value is None:
        return f". The two cannot be compared: {estimate.note or 'no test is possible'}"
    points = f"{POINTS.signed(estimate.value)} points on the same items{interval_words(estimate)}"
    p = f"p {shown_p(gap.p_adjusted)}" + (f" by Holm for {gap.tests} machines" if gap.tests > 1 else "")
    if gap.decided:
        return f": {gap.verdict.value} what one person reaches ({points}; {p})"
    equal = " and equivalent" if gap.verdict is Conclusion.EQUIVALENT else ""
    return f": not distinguishable from one person{equal} ({points}; {p}; {null_words(gap)})"


def _figure(estimate: Measured) -> str:
    value = f"{estimate.value or 0.0:.2f}"
    if estimate.low is None or estimate.high is None:
        return f"{value} (no interval)"
    return f"{value} (95 % interval {estimate.low:.2f} to {estimate.high:.2f})"


def _nearest_gold(found: Agreement) -> list[str]:
    """Return which rater has the highest kappa with gold, for use when there are no people to compare with."""
    raters = [one for one in found.ratings.raters if one.kind != GOLD and _claimable(one)]
    gold = next((rater.name for rater in found.ratings.raters if rater.kind == GOLD), "")
    kappas = [(rater.name, found.find("pair", "kappa", rater.name, gold)) for rater in raters]
    known = [(kappa.value, name, kappa) for name, kappa in kappas if kappa and kappa.value is not None]
    if not known:
        return []
    _, name, kappa = max(known, key=lambda one: (one[2].low is not None, one[0]))
    most = (
        f"Of {len(known)} raters {name} has the highest kappa with {gold}:"
        if len(known) > 1
        else f"{name} has a kappa with {gold} of"
    )
    return [f"{most} {_figure(kappa)}; 0 is what chance gives."]


def agreement_object(source: Source, found: Sequence[Agreement]) -> dict[str, Any]:
    """Return the object printed by `--json`: a list of raters and one flat record per number."""
    raters, results, words = [], [], []
    for agreement in found:
        table, asked = agreement.ratings, {"question": agreement.ratings.question}
        judged = (table.codes >= 0).sum(0)
        raters += [
            {**asked, "rater": rater.name, "kind": rater.kind, "n": int(count)}
            for rater, count in zip(table.raters, judged, strict=True)
        ]
        results += [{**asked, **finding.as_dict()} for finding in agreement.findings]
        said = {"conclusions": conclusions(agreement), "legend": agreement.legend}
        words.append({**asked, **said, "cautions": cautions(agreement, source)})
    return {"source": source.name, "raters": raters, "results": results, "words": words}


# -- pieces ------------------------------------------------------------------------------------------------------------------

FIGURES = {
    "percent": "agree",
    "kappa": "kappa",
    "quadratic": "kappa, quadratic",
    "spearman": "Spearman",
    "fleiss": "Fleiss",
    "nominal": "alpha, nominal",
    "ordinal": "alpha, ordinal",
}
TABLES = {
    "together": ("All raters at once", "raters"),
    "block": ("By kind of rater", "kind", "with"),
    "pair": ("Every two raters", "rater", "with"),
}
"""Parts of the findings that have a table: its title and the headings of its first columns."""
MOST_PAIRS = 60  # longer lists of pairs are only in --json
LEAD_KINDS = 2  # kinds of rater in the first table
MATRIX = range(3, 11)  # numbers of raters for which the matrix of pairs is drawn
INTERVALS = "95 % intervals over people and prompts below."


def agreement_part(source: Source, found: Sequence[Agreement], pictures: bool = True) -> ReportPart:
    """Return the report part on the agreement of a source's raters, question by question."""
    said = [
        true_minus(f"{one.ratings.question}: {text}" if len(found) > 1 else text)
        for one in found
        for text in conclusions(one)
    ]
    lead: list[Piece] = []
    sections: list[Section] = []
    for place, one in enumerate(found):
        question = f"{one.ratings.question}: " if len(found) > 1 else ""
        unsaid = cautions(one, source)
        if not said:  # without conclusions, lead with the reasons
            said, unsaid = unsaid, []
        first: list[Piece] = [*(_matrix(one) if pictures else ()), _raters_grid(one)]
        first += small_notes([*one.legend, *unsaid])
        if place == 0:
            lead = first
        else:
            sections.append(Section(f"{question}each rater", first))
        sections += [replace(section, title=question + section.title) for section in _sections(one)]
    raters = {rater.name for one in found for rater in one.ratings.raters}
    units = max((len(one.ratings.codes) for one in found), default=0)
    facts = [
        counted(len(raters), "rater", "raters"),
        f"{counted(units, 'item', 'items')} judged",
        people_words(len(set(source.people.values()))),
    ]
    return ReportPart(source.name, f"Agreement on {source.name}", said, lead, sections, facts=facts)


def agreement_section(source: Source, margin: float = MARGIN) -> Section | None:
    """Return the agreement of a run's raters with each other, with people and with gold, as a report section."""
    lead = "Agreement with each other, with people and with gold, beyond chance."
    return section_of("Agreement", agreement_part(source, agreements(source, margin)), lead)


def _figure_cell(estimate: Estimate | None, remarks: Remarks) -> Cell:
    """Return a cell with the estimate and its interval (a dash if it has no value) and the number of its remark."""
    if estimate is None:
        return Cell()
    shown = result_cell(estimate, lambda value: plain(value, 3), remarks.numbers(estimate.note), " to ")
    return shown if shown.text else replace(shown, text="–")


def _control(rater: VotingRater) -> str | None:
    return CONTROL_RATERS.get(rater.name, rater.kind) if rater.control else None


def _raters_grid(found: Agreement) -> Grid:
    """Tabulate each rater's agreement with gold, with people or the first kinds of rater, and with people's majority."""
    ratings, remarks = found.ratings, Remarks()
    columns: dict[str, tuple[str, str, str | None]] = {}  # heading to part, figure and second rater
    for rater in [rater for rater in ratings.raters if rater.kind == GOLD][:1]:
        columns[f"agrees with {rater.name}"] = ("pair", "percent", rater.name)
        columns[f"kappa with {rater.name}"] = ("pair", "kappa", rater.name)
    kinds = list(dict.fromkeys(ratings.raters[place].kind for place in ratings.judges))
    for kind in [kind for kind in kinds if kind in (HUMAN, SIMULATED)] or kinds[:LEAD_KINDS]:
        columns[f"mean kappa with {kind}"] = ("reliability", "kappa", kind)
    ceiling = found.find("panel", "majority", HUMAN)
    if ceiling is not None:
        columns["meets people’s majority"] = ("ceiling", "majority", None)
    rows = []
    for rater, count in zip(ratings.raters, (ratings.codes >= 0).sum(0), strict=True):
        figures = (found.find(part, figure, rater.name, whom) for part, figure, whom in columns.values())
        cells = [count_cell(int(count)), *(_figure_cell(one, remarks) for one in figures)]
        rows.append(Row([rater.name, rater.kind], cells, _control(rater)))
    rows.sort(key=lambda row: row.control is not None)
    if ceiling is not None:
        cells = [count_cell(ceiling.n), *[Cell()] * (len(columns) - 1), _figure_cell(ceiling, remarks)]
        rows.append(Row(["the human ceiling", HUMAN], cells))
    title, caption = f"Raters, question “{ratings.question}”", f"Shares and kappas. {INTERVALS}"
    return Grid(title, caption, ["rater", "kind"], ["items", *columns], rows, list(remarks))


def _sections(found: Agreement) -> Iterator[Section]:
    """Yield the sections below the first table; empty ones are left out."""
    if gaps := found.of_part("gap"):
        lead = "Each machine’s agreement with people’s majority minus one person’s, on the same items."
        yield Section("Machines and the human ceiling", [_machines_grid(found, gaps)], lead)
    for part, (title, *_) in TABLES.items():
        if own := [finding for finding in found.findings if finding.part == part]:
            yield Section(title, [_findings_grid(own, found.ratings.question)])


def _machines_grid(found: Agreement, gaps: Mapping[str, Finding]) -> Grid:
    """Tabulate the paired test of each machine against the human ceiling, and the alternative annotator test."""
    tests, remarks, rows = found.of_part("alternative"), Remarks(), []
    for name, gap in gaps.items():
        p = Cell("–") if gap.p is None else Cell(f"{gap.p:.3f}", sort=gap.p)
        wins = [_figure_cell(tests[name].estimate, remarks)] if tests else []
        rows.append(Row([name], [count_cell(gap.estimate.n), _figure_cell(gap.estimate, remarks), p, *wins]))
    columns = ["items", "difference", "p (Holm)", *(["wins against people (ω)"] if tests else [])]
    return Grid("Machines minus the human ceiling", INTERVALS, ["machine"], columns, rows, list(remarks))


def _findings_grid(findings: Sequence[Finding], question: str) -> Grid:
    """Tabulate the findings of one part, a row per group, kind or pair, followed by published rows on the same question."""
    part = findings[0].part
    (title, *heads), over_pairs = TABLES[part], part in ("together", "block")
    lines: dict[tuple[str, ...], dict[str, Finding]] = {}
    for finding in findings:
        names = (finding.first, finding.second or "")[: len(heads)]
        lines.setdefault(names, {})[finding.figure] = finding
    figures = list(dict.fromkeys(finding.figure for finding in findings))
    remarks, rows = Remarks(), []
    for names, line in list(lines.items())[:MOST_PAIRS]:
        first = next(iter(line.values()))
        cells = [
            _figure_cell(line[figure].estimate if figure in line else None, remarks) for figure in figures
        ]
        rows.append(Row(names, [count_cell(first.pairs if over_pairs else first.estimate.n), *cells]))
    rows += _published_rows(question, part, ["", *figures], len(heads))
    most = f"The first {MOST_PAIRS} of {len(lines)}; --json gives all. " if len(lines) > MOST_PAIRS else ""
    columns = ["pairs" if over_pairs else "items", *(FIGURES.get(figure, figure) for figure in figures)]
    return Grid(title, f"{most}{INTERVALS}", heads, columns, rows, list(remarks))


def _matrix(found: Agreement) -> list[Picture]:
    """Draw kappa between every two raters as a matrix, if there are 3 to 10 of them."""
    raters, question = found.ratings.raters, found.ratings.question
    pairs = {
        (one.first, str(one.second)): one.estimate
        for one in found.findings
        if (one.part, one.figure) == ("pair", "kappa") and one.estimate.value is not None
    }
    if len(raters) not in MATRIX or not pairs:
        return []
    title = f"Kappa of every two raters, question “{question}”"
    caption = (
        "1 is full agreement, 0 is what chance gives. The intervals are in the table of every two raters."
    )
    labels = [
        lined_name(rater.name if rater.name.startswith(rater.kind) else f"{rater.name} ({rater.kind})")
        for rater in raters
    ]
    return [matrix_picture(title, caption, [rater.name for rater in raters], pairs, "Kappa", labels)]


_BLOCKS = {
    "two annotators, mean of three pairs": (HUMAN, HUMAN),
    "annotator and LLM, mean": (HUMAN, "llm"),
    "two LLMs, mean": ("llm", "llm"),
}


def published_figures(question: str) -> Iterator[tuple[str, tuple[str, ...], str, dict[str, float]]]:
    """Yield what papers report on a question: the table it belongs to, the raters, the source, and the figures.

    The papers are Re-Centering Humans on relevance and preference, and PersonaLens on dialogues.
    """
    if question == RELEVANCE:
        for row in published_file("recentering")["scores"]:
            if kinds := _BLOCKS.get(row["model"]):
                shares = {figure: percent / 100 for figure, percent in row["scores"].items()}
                yield "block", kinds, row["source"], shares
    elif question == PREFERENCE:
        body = published_file("responses")
        people, source = body["ceiling"], body["source"]
        figures = {"spearman": people["spearman"], "quadratic": people["kappa_weighted"]}
        yield "block", (HUMAN, HUMAN), f"{source}, {people['source']}", figures
        for row in body["judges"]:
            if "spearman" in row:
                where = f"{source}, {row['source']}"
                yield "pair", (row["model"], "people"), where, {"spearman": row["spearman"]}
    else:
        body = published_file("personalens")["agreement"]
        for part, whom, name, figure in (
            ("pair", ("the paper’s judge", "people"), "judge_human_kappa", "kappa"),
            ("together", (HUMAN,), "annotators_fleiss_kappa", "fleiss"),
        ):
            if known := body[name].get(question):
                yield part, whom, known.get("source", body["source"]), {figure: known["value"]}


def _published_rows(question: str, part: str, figures: Sequence[str], heads: int) -> Iterator[Row]:
    """Yield the published rows of a table that have any of its figures."""
    for table, names, source, known in published_figures(question):
        if table == part and any(figure in known for figure in figures):
            cells = [
                Cell(f"{known[figure]:.3f}", sort=known[figure]) if figure in known else Cell()
                for figure in figures
            ]
            yield Row([*names, *[""] * (heads - len(names))][:heads], cells, source=source)
