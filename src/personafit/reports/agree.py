"""How far raters agree: with each other, with gold, by kind, against the human ceiling, and as rankers of systems.

Gold is a rater too, and so is the majority of three or more judges of one kind (an ensemble). All figures come with
intervals over people and, where they recur, prompts; what is undefined says why. The numbers are flat findings, which tables and
JSON both show. A machine is held against people by tests on the same items, never by whether two intervals overlap.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from personafit._errors import UserError
from personafit.kinds.lines import Metric, RunLines
from personafit.reports.agree_ratings import (
    GOLD,
    HUMAN,
    SIMULATED,
    Ratings,
    Source,
    VotingRater,
    rating_tables,
)
from personafit.reports.analysis import figure_cell, undefined
from personafit.reports.claims import Machine, ceiling_claims, kind_agrees, legend_for, people_agree
from personafit.statistics import Estimate
from personafit.statistics.agreement import Ints, label_counts
from personafit.statistics.agreement_intervals import PairFigure, TableFigure, table_agreement
from personafit.statistics.clusters import FEWEST_PEOPLE, clustered
from personafit.statistics.decisions import MARGIN, Conclusion, Hypothesis, decide_together
from personafit.statistics.decisions import HypothesisTest as Tested
from personafit.statistics.detection import Metric as DetectionMetric
from personafit.statistics.detection import detection
from personafit.statistics.raters import (
    FEWEST_ANNOTATORS,
    AlternativeAnnotator,
    alternative_annotator,
    compare_raters,
    majority_vote,
    panel_ceiling,
    ranking_agreement,
)

FIGURES: tuple[DetectionMetric, ...] = ("accuracy", "precision", "recall", "f1")
FEWEST_IN_ENSEMBLE = 3  # of two, a majority exists only where they agree
ENSEMBLE = "ensemble"
ALL = "all raters"
NOT_PANELS = (HUMAN, GOLD, "rule")


@dataclass(frozen=True)
class Finding:
    """One number: what it is about, which figure, and the raters or kinds it holds for."""

    part: str
    """together, pair, block, reliability, panel (the ceiling), ceiling (each rater beside it), gap (a machine minus the ceiling on
    the same items), alternative (the alternative annotator test), yes (rates of yes, and what is found by it) or ranking."""
    figure: str
    first: str
    second: str | None
    estimate: Estimate
    pairs: int | None = None
    tested: Tested | None = None
    """The test of a gap, beside those of the other machines."""

    @property
    def p(self) -> float | None:
        """p-value of a gap of 0, corrected by Holm for the number of machines tested."""
        return None if self.tested is None else self.tested.p_adjusted

    def as_dict(self) -> dict[str, Any]:
        """The finding as a plain object."""
        tested = self.tested
        return {
            **{name: getattr(self, name) for name in ("part", "figure", "first", "second")},
            **{name: getattr(self.estimate, name) for name in ("value", "low", "high", "n", "people")},
            "pairs": self.pairs,
            "p": self.p,
            "equivalent": None if tested is None else tested.verdict is Conclusion.EQUIVALENT,
            "detectable": None if tested is None else tested.detectable,
            "note": self.estimate.note,
        }


@dataclass(frozen=True)
class Agreement:
    """Everything there is to say about one question's raters."""

    ratings: Ratings
    findings: tuple[Finding, ...]

    def of_part(self, part: str) -> dict[str, Finding]:
        """The findings of one part by their first rater."""
        return {finding.first: finding for finding in self.findings if finding.part == part}

    @property
    def legend(self) -> list[str]:
        """How claims are tested, where any is."""
        return legend_for(finding.tested for finding in self.findings)

    def find(self, part: str, figure: str, first: str, second: str | None = None) -> Estimate | None:
        """One number, if there is such a one; of a pair or a block neither comes first."""
        names = [(first, second)] + ([(second, first)] if part in ("pair", "block") else [])
        for one in self.findings:
            if (one.part, one.figure) == (part, figure) and (one.first, one.second) in names:
                return one.estimate
        return None


def agreements(source: Source, margin: float = MARGIN) -> list[Agreement]:
    """Agreement of all raters of a source, a question at a time; gaps within the margin count as none in equivalence tests."""
    tables = rating_tables(source)
    if not any(len(table.raters) > 1 for table in tables):
        who = sorted({rater.name for table in tables for rater in table.raters})
        there = f"only {who[0]} answered" if who else "nobody answered"
        raise UserError(
            f"{source.name}: {there}, and agreement takes two; nothing can be said about one rater without "
            "another or gold."
        )
    return [_agreement(_with_ensembles(table), margin) for table in tables if len(table.raters) > 1]


def ranking_findings(opened: RunLines) -> tuple[Finding, ...]:
    """Kendall's τ of the rankings that the judges of a run give its systems, by each metric it is summed up by."""
    return tuple(finding for metric in opened.headlines for finding in _rankings(opened, metric))


def _rankings(opened: RunLines, metric: Metric) -> Iterator[Finding]:
    lines = [
        line for line in opened.by_system().lines if metric.applies(line) and line.asked_for and line.rater
    ]
    headline = opened.headline_view(lines)
    lines = [line for line in lines if line.view == headline]
    judges = {line.fingerprint: str(line.rater) for line in lines}
    made = {(line.system, line.given) for line in lines}
    if len(judges) < 2 or len(made) < 2 or metric.about == "rater":
        return
    frames = []
    for line in lines:
        frame = line.frame.filter(pl.col("item").is_not_null())
        unit = [name for name in ("item", "target") if name in frame.columns]
        frames.append(
            frame.select(
                pl.lit("|".join(filter(None, (line.system, line.given)))).alias("system"),
                pl.concat_str(unit).alias("made"),
                "person",
                "prompt",
                pl.lit(f"judge {list(judges).index(line.fingerprint)}").alias("judge"),
                metric.per_row(frame).alias("score"),
            )
        )
    keys = ["system", "made", "person", "prompt"]
    whole = pl.concat(frames).pivot(
        "judge", index=keys, values="score", aggregate_function="mean", maintain_order=True
    )
    table = whole.select(f"judge {place}" for place in range(len(judges))).fill_null(np.nan).to_numpy()
    systems, people, prompts = (whole[name].to_numpy() for name in ("system", "person", "prompt"))
    figure = "tau" if metric.name == opened.info["metric"] else f"tau of {metric.name}"
    names = list(judges.values())
    for pair in ranking_agreement(table, systems, people, prompts):
        yield Finding("ranking", figure, names[pair.first], names[pair.second], pair.figure)


def _with_ensembles(table: Ratings) -> Ratings:
    """The table with one more column for the majority of each kind of judge that is there three times."""
    raters, codes = list(table.raters), [table.codes]
    for kind in dict.fromkeys(table.raters[place].kind for place in table.judges):
        members = [place for place in table.columns(kind) if _claimable(table.raters[place])]
        if kind not in NOT_PANELS and len(members) >= FEWEST_IN_ENSEMBLE:
            raters.append(VotingRater(f"majority of {len(members)} {kind} raters", ENSEMBLE, of=kind))
            codes.append(_majority(table.codes[:, members])[:, None])
    nothing = np.full((len(table.codes), len(raters) - len(table.raters)), np.nan)
    return replace(
        table, raters=tuple(raters), codes=np.hstack(codes), values=np.hstack([table.values, nothing])
    )


def _majority(codes: Ints) -> Ints:
    """The most frequent label of each unit; of several, one by seeded lot: leaving ties out would leave out the hard."""
    vote, counts = majority_vote(codes), label_counts(codes)
    lots = np.random.default_rng(0).random(counts.shape) * (counts == counts.max(1, keepdims=True, initial=0))
    return np.where((vote.label < 0) & (vote.votes > 0), lots.argmax(1), vote.label)


def _agreement(table: Ratings, margin: float) -> Agreement:
    return Agreement(
        table, (*_together(table), *_pairwise(table), *_ceiling(table, margin), *_yes_and_no(table))
    )


def _together(table: Ratings) -> Iterator[Finding]:
    """Figures for a whole group of raters at once: everyone, then each kind."""
    kinds = dict.fromkeys(table.raters[place].kind for place in table.judges)
    groups = {ALL: table.judges}
    if len(kinds) > 1:
        groups |= {kind: table.columns(kind) for kind in kinds}
    figures: list[TableFigure] = ["percent", "fleiss", "nominal"]
    figures += ["ordinal", "interval"] if table.ordinal else []
    for group, members in groups.items():
        if len(members) < 2:
            continue
        for figure in figures:
            source = table.values if figure in ("ordinal", "interval") else table.codes
            estimate = table_agreement(source[:, members], table.people, table.prompts, figure, table.halves)
            yield Finding("together", figure, group, None, estimate, len(members) * (len(members) - 1) // 2)


def _pairwise(table: Ratings) -> Iterator[Finding]:
    figures: list[PairFigure] = ["percent", "kappa"]
    figures += ["linear", "quadratic"] if table.ordinal else []
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
    found = compare_raters(ratings, kinds, table.people, table.prompts, figure, table.halves)
    for pair in found.pairs:
        one, other = raters[pair.first], raters[pair.second]
        # An ensemble agrees with its own voters because they voted.
        if one.of != other.kind and other.of != one.kind:
            yield Finding("pair", figure, one.name, other.name, pair.figure)
    for block in found.blocks:
        if ENSEMBLE not in block.kinds:
            yield Finding("block", figure, *block.kinds, block.figure, block.pairs)
    for row in found.reliability:
        if row.kind not in (ENSEMBLE, raters[row.rater].of):
            yield Finding("reliability", figure, raters[row.rater].name, row.kind, row.figure)


def _ceiling(table: Ratings, margin: float) -> Iterator[Finding]:
    """Each person against the majority of the other people, every machine against the same majorities, and tests of the two."""
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


def _yes_and_no(table: Ratings) -> Iterator[Finding]:
    """Where answers are yes and no: how often each rater says yes, and how well those who did not make gold find what it calls so."""
    gold = next(iter(table.columns(GOLD)), None)
    for place, rater in enumerate(table.raters if table.yes_no else ()):
        codes = table.codes[:, place]
        given = codes >= 0
        rate = undefined("nothing to average")
        if given.any():
            said = codes[given].astype(np.float64)
            rate = clustered(said, table.people[given], table.prompts[given], (0.0, 1.0))
        yield Finding("yes", "yes_rate", rater.name, None, rate)
        if gold is not None and rater.kind not in (HUMAN, SIMULATED, GOLD) and rater.of is None:
            truth = table.codes[:, gold]
            both = given & (truth >= 0)
            for figure in FIGURES:
                found = detection(
                    codes[both] == 1, truth[both] == 1, figure, table.people[both], table.prompts[both]
                )
                yield Finding("yes", figure, rater.name, table.raters[gold].name, found)


def _claimable(rater: VotingRater) -> bool:
    """Whether something may be claimed about it: not about a control, nor about a rater that was fitted on these people."""
    return not rater.control and rater.met is None


def _win_rate(test: AlternativeAnnotator, table: Ratings, gap: Estimate) -> Estimate:
    """The share of people a machine wins against, with the names of those people in the note."""
    if all(one.p is None for one in test.against):
        return Estimate(None, None, None, gap.n, gap.people, gap.note or "no test: nothing varies")
    won = [table.raters[one.annotator].name for one in test.against if one.won]
    note = (
        f"at least as good as {', '.join(won) or 'nobody'} of {len(test.against)} people (ε = {test.epsilon:g}); "
        f"agrees with the others at least as well on {100 * (test.advantage or 0.0):.0f} % of items"
    )
    return Estimate(test.win_rate, None, None, gap.n, gap.people, note)


def cautions(found: Agreement, source: Source) -> list[str]:
    """What cannot be said about these raters, and why, a sentence each."""
    table = found.ratings
    own = [place for place, rater in enumerate(table.raters) if rater.of is None]
    codes = table.codes[:, own]
    given = codes >= 0
    shared = given.sum(1) >= 2
    if not shared.any():
        return ["No two raters judged the same item, so nothing can be said about agreement."]
    said = []
    if shared.sum() == 1:
        said.append(
            "Only one item was judged by two raters, so agreement cannot be told from chance on these data."
        )
    elif len(np.unique(codes[shared][given[shared]])) == 1:
        said.append(
            "Everybody gave the same label to every item, so agreement beyond chance cannot be said: a rater who "
            "always gives that label would agree as well."
        )
    if (people := len(np.unique(table.people[shared]))) < FEWEST_PEOPLE:
        said.append(
            f"The shared judgments are about {people} {'person' if people == 1 else 'people'} only, so no interval can "
            f"be given: it needs at least {FEWEST_PEOPLE}."
        )
    if (missing := 1 - given.mean()) > 0:
        lost = source.unanswered
        why = f" ({lost:,} answers failed, were refused or could not be read)" if lost else ""
        said.append(
            f"{100 * missing:.1f} % of the votes are missing{why}: every figure is over the items its raters share."
        )
    pairs = list(combinations(given.T, 2))
    if apart := sum(not (one & other).any() for one, other in pairs):
        said.append(
            f"{apart} of {len(pairs)} pairs of raters share no item, so their agreement is undefined and no mean has it."
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
    if table.by_margin:
        said.append(
            f"Where the answers of {', '.join(table.by_margin)} change with the order, the mean margin decides; accuracy averages "
            "over orders instead, so it may differ from agreement with gold (the debiased score does not)."
        )
    humans = len(table.columns(HUMAN))
    if humans < 2:
        said.append(
            f"There is {'one human rater' if humans else 'no human rater'}, so the human ceiling cannot be said: it "
            "sets each person against the others."
        )
    if humans and any(rater.kind == GOLD and rater.name.startswith("majority") for rater in table.raters):
        said.append(
            "The gold is a majority of votes: people who voted for it agree with it for that reason; the ceiling leaves "
            "each one's own vote out."
        )
    return said


def conclusions(found: Agreement) -> list[str]:
    """What the figures say, in words."""
    said = []
    people = found.find("block", "kappa", HUMAN, HUMAN)
    if people is not None and people.value is not None:
        said.append(people_agree(people))
    raters = [found.ratings.raters[place] for place in found.ratings.judges]
    met = {rater.kind for rater in raters if rater.met}
    for kind in dict.fromkeys(rater.kind for rater in raters if rater.kind not in (HUMAN, "rule", *met)):
        with_people, inside = (found.find("block", "kappa", *pair) for pair in ((HUMAN, kind), (kind, kind)))
        if with_people is not None and with_people.value is not None:
            said.append(kind_agrees(kind, with_people, inside))
    ceiling = found.find("panel", "majority", HUMAN)
    if ceiling is not None and ceiling.value is not None:
        reached, replacing = found.of_part("ceiling"), found.of_part("alternative")
        machines = []
        for name, gap in found.of_part("gap").items():
            if gap.tested is not None:
                wins = replacing[name].estimate.value if name in replacing else None
                machines.append(Machine(name, reached[name].estimate, gap.tested, wins))
        said += ceiling_claims(ceiling, machines)
    return said or _nearest_gold(found)


def _nearest_gold(found: Agreement) -> list[str]:
    """Where there are no people to compare with: who has the highest kappa with gold."""
    raters = [one for one in found.ratings.raters if one.kind != GOLD and one.of is None and _claimable(one)]
    gold = next((rater.name for rater in found.ratings.raters if rater.kind == GOLD), "")
    kappas = [(rater.name, found.find("pair", "kappa", rater.name, gold)) for rater in raters]
    known = [(kappa.value, name, kappa) for name, kappa in kappas if kappa and kappa.value is not None]
    if not known:
        return []
    _, name, kappa = max(known, key=lambda one: one[0])
    cell = figure_cell(kappa)
    ends = f" ({cell.interval})" if cell.interval else ""
    most = (
        f"Of {len(known)} raters {name} has the highest kappa with {gold}:"
        if len(known) > 1
        else f"{name} has a kappa with {gold} of"
    )
    return [f"{most} {cell.text}{ends}; 0 is what chance gives."]


def agreement_object(
    source: Source, found: Sequence[Agreement], rankings: Sequence[Finding]
) -> dict[str, Any]:
    """The one object that `--json` prints: a list of raters and one flat record per number."""
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
    results += [{"question": None, **finding.as_dict()} for finding in rankings]
    return {"source": source.name, "raters": raters, "results": results, "words": words}
