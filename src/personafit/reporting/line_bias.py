"""What pulls at raters who say yes or no or give marks, besides what they are asked, and whether it pulls at people too.

Each effect is a difference of two means of the rater's answers: with a feature (hedged, on a long list, longer, naming the attribute)
and without it, or shown first and shown last. People's effect is that on their own answers to the same units, and the two are compared
unit by unit, clustered by person and prompt: a rater is biased only if a feature pulls at it more than at people. `level` is how
far its answers are above people's as a whole. All effects of a run are tested together.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import polars as pl

from personafit._errors import UserError
from personafit.kinds.lines import UNIT_SCALE, Feature, Line, Reference, RunLines
from personafit.reporting.claims import ClaimWords, FigureUnit, claim, legend_for
from personafit.reporting.claims.wording import POINTS
from personafit.reporting.compare import MARKS
from personafit.reporting.result import Result
from personafit.statistics import Estimate
from personafit.statistics.decisions import MARGIN, Hypothesis, HypothesisTest, decide_together
from personafit.statistics.preferences import clustered, group_difference, group_difference_gap

NOBODY = "people said nothing of these units"
NO_ORDER = "it was not known in which order people saw the answers"


@dataclass(frozen=True)
class LineEffect:
    """One pull at one rater: on its answers, on people's, and by how much the first is larger."""

    line: Line
    reference: Reference
    name: str
    words: ClaimWords
    judge: Estimate
    people: Estimate
    difference: Estimate
    tested: HypothesisTest | None = None
    """The test of the difference, or of the rater's own effect where people's is not known."""
    alone: bool = False
    """Whether the rater's own effect is tested, as there is nothing of people's to compare it with."""
    met: str | None = None
    """The sentence that says the rater was fitted on people of this run: nothing is claimed of it."""

    @property
    def decisive(self) -> Estimate:
        """What is tested: the difference from people, else the rater's own effect."""
        return self.judge if self.alone else self.difference

    @property
    def unit(self) -> FigureUnit:
        """Points for shares, marks for marks."""
        return POINTS if self.reference.bounds == UNIT_SCALE else MARKS

    def sentence(self) -> str:
        """The effect in words."""
        if self.tested is None:
            return f"{self.line.rater}: {self.met or f'nothing can be said of {self.name}'}"
        figure = (
            f"effect on {self.reference.metric}" if self.alone else f"{self.reference.metric}, over people's"
        )
        return claim(str(self.line.rater), self.tested, self.words, figure, self.unit)


LEVEL, POSITION = "level", "position"


def line_bias(opened: RunLines, margin: float = MARGIN) -> list[LineEffect]:
    """The pulls at every rater of a run, under the view that counts; `margin` is a share of the scale."""
    if not opened.references:
        raise UserError(
            f"{opened.run.name} is a {opened.kind} run, {opened.why_no_people}: nobody can be biased."
        )
    if not opened.features:
        raise UserError(
            f"{opened.run.name} is a {opened.kind} run: its raters see one thing at a time and nothing is known of it that could "
            f"pull at them; `personafit agree {opened.run.name}` says how far they are from people."
        )
    found = []
    for reference in opened.references:
        lines = [line for line in opened.lines if reference.answer in line.frame.columns]
        headline = opened.headline_view(lines)
        for line in lines:
            if line.view == headline and line.fingerprint in opened.rater_kinds:
                met = opened.run.met_people.get(str(line.fingerprint))
                found += [replace(one, met=met) for one in _effects(line, reference, opened.features)]
    wanted = any(
        one.line.asked_for for one in found
    )  # what controls do is shown, and claimed only where nobody else was asked
    tested = [
        one
        for one in found
        if one.met is None and one.decisive.value is not None and (one.line.asked_for or not wanted)
    ]
    decided = decide_together(
        [
            Hypothesis(one.decisive, margin=margin * (one.reference.bounds[1] - one.reference.bounds[0]))
            for one in tested
        ]
    )
    verdicts = {id(one): verdict for one, verdict in zip(tested, decided, strict=True)}
    return [replace(one, tested=verdicts.get(id(one))) for one in found]


def line_bias_legend(found: Sequence[LineEffect]) -> list[str]:
    """How the claims are tested, where any is."""
    return legend_for(one.tested for one in found)


def _effects(line: Line, reference: Reference, features: Sequence[Feature]) -> Iterator[LineEffect]:
    answered = line.frame.filter(pl.col(reference.answer).is_not_null())
    shared = answered.filter(pl.col(reference.people).is_not_null())
    nothing = Estimate(None, None, None, 0, 0, NOBODY)
    level = nothing
    if len(shared):
        gap = shared[reference.answer].cast(pl.Float64) - shared[reference.people].cast(pl.Float64)
        level = clustered(gap, shared["person"], shared["prompt"])
    yield LineEffect(
        line,
        reference,
        LEVEL,
        _level_words(reference.metric),
        _mean(answered, reference.answer, reference.bounds),
        _mean(shared, reference.people, reference.bounds),
        level,
    )
    for feature in features:
        pulls = _pull(answered, shared, reference, feature)
        alone = shared.is_empty()
        words = _own_words(feature.words) if alone else _words(feature.words)
        yield LineEffect(line, reference, feature.name, words, *pulls, alone=alone)
    if reference.orders is not None:
        both = line.frame.filter(pl.all_horizontal(pl.col(reference.orders).is_not_null()))
        first, last = (both[name].cast(pl.Float64) for name in reference.orders)
        own = Estimate(None, None, None, 0, 0, "it was not asked in both orders")
        if len(both):
            own = clustered((first - last) / 2, both["person"], both["prompt"])
        unknown = Estimate(None, None, None, 0, 0, NO_ORDER)
        yield LineEffect(line, reference, POSITION, _position_words(), own, unknown, unknown, alone=True)


def _pull(
    answered: pl.DataFrame, shared: pl.DataFrame, reference: Reference, feature: Feature
) -> tuple[Estimate, Estimate, Estimate]:
    """The effect of a feature on the rater's answers, on people's, and the difference of the two on the units of both."""
    nothing = Estimate(None, None, None, 0, 0, NOBODY)
    known = answered.with_columns(feature.inside(answered).alias("inside")).filter(
        pl.col("inside").is_not_null()
    )
    both = shared.with_columns(feature.inside(shared).alias("inside")).filter(pl.col("inside").is_not_null())
    said = known[reference.answer].cast(pl.Float64)
    ours = (
        group_difference(said, known["inside"], known["person"], known["prompt"]) if len(known) else nothing
    )
    if not len(both):
        return ours, nothing, nothing
    one, other = (both[name].cast(pl.Float64) for name in (reference.answer, reference.people))
    where = both["inside"], both["person"], both["prompt"]
    return ours, group_difference(other, *where), group_difference_gap(one, other, *where)


def _mean(frame: pl.DataFrame, column: str, bounds: tuple[float, float]) -> Estimate:
    if frame.is_empty():
        return Estimate(None, None, None, 0, 0, NOBODY)
    return clustered(frame[column].cast(pl.Float64), frame["person"], frame["prompt"], bounds)


def _level_words(metric: str) -> ClaimWords:
    return ClaimWords(
        f"is above people in {metric}",
        f"is below people in {metric}",
        f"is not told apart from people in {metric}",
        f"is like people in {metric}",
        f"has the very {metric} of people",
    )


def _words(units: str) -> ClaimWords:
    return ClaimWords(
        f"favours {units} more than people do",
        f"favours {units} less than people do",
        f"is not shown to favour {units} more or less than people do",
        f"favours {units} as much as people do",
        f"treats {units} exactly as people do",
    )


def _own_words(units: str) -> ClaimWords:
    return ClaimWords(
        f"favours {units}",
        f"disfavours {units}",
        f"is not shown to favour or disfavour {units}",
        f"treats {units} like others",
        f"treats {units} exactly like others",
    )


def _position_words() -> ClaimWords:
    return ClaimWords(
        "favours the answer shown first",
        "favours the answer shown last",
        "is not shown to favour either place",
        "favours neither place",
        "gives the same marks in both orders",
    )


def line_bias_results(found: Sequence[LineEffect]) -> Iterator[Result]:
    """One record per number: `bias_NAME`, `bias_NAME_people`, and `bias_NAME_over_people`, the rater's minus people's."""
    for one in found:
        for ending, estimate in (("", one.judge), ("_people", one.people), ("_over_people", one.difference)):
            said = one.sentence() if estimate is one.decisive and one.tested is not None else None
            result = Result.of(
                estimate,
                metric=f"bias_{one.name}{ending}",
                rater=one.line.rater,
                system=one.line.system,
                given=one.line.given,
                view=one.line.view,
                control=one.line.control,
                fingerprint=one.line.fingerprint,
                note="; ".join(filter(None, [said, estimate.note])) or None,
            )
            yield replace(result, met_people=one.met is not None)
