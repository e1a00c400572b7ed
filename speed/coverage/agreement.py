"""Cells for agreement: kappas, alphas, percent agreement, Spearman, the human ceiling, and machines held against it.

Three people and a machine judge every unit. How often they are right, and which label is right, both vary with the person
and the prompt. The truth is the figure over half a million units that share neither.
"""

from functools import lru_cache, partial

import numpy as np

from personafit.statistics.agreement import Ints
from personafit.statistics.agreement_intervals import PairFigure, TableFigure, pair_agreement, table_agreement
from personafit.statistics.decisions import holm
from personafit.statistics.raters import alternative_annotator, panel_ceiling
from personafit.statistics.tiers import vote_tiers
from speed.coverage.cells import SIZE, Cell, band_for, covers
from speed.coverage.designs import Design, Units

RATERS = 3
SKILL = 0.8
LEVEL = 0.05
LARGE = 500_000
GRADES = 5
TABLES: tuple[TableFigure, ...] = ("percent", "fleiss", "nominal", "ordinal", "interval")
PAIRS: tuple[PairFigure, ...] = ("percent", "kappa", "linear", "quadratic", "spearman")


def votes(
    rng: np.random.Generator,
    units: Units,
    design: Design,
    skill: float,
    labels: int = 2,
    gap: float = 0.0,
    machines: int = 1,
) -> Ints:
    """Units × (three people and the machines); a machine is right `gap` more often than a person, on average."""
    leaning = rng.normal(0, design.person_sd, units.person.max() + 1)[units.person]
    if design.prompts is not None:
        leaning = leaning + rng.normal(0, design.prompt_sd, units.prompt.max() + 1)[units.prompt]
    answer = rng.binomial(labels - 1, 1 / (1 + np.exp(-leaning)))[:, None]
    skills = [skill] * RATERS + [skill + gap] * machines
    right = np.column_stack([units.outcomes(rng, rate, design.spread) for rate in skills]) > 0
    if labels == 2:
        return np.asarray(np.where(right, answer, 1 - answer))
    off = rng.integers(1, labels, right.shape) * rng.choice([-1, 1], right.shape)
    return np.asarray(np.where(right, answer, np.clip(answer + off, 0, labels - 1)))


@lru_cache
def truth(figure: str, skill: float, spread: tuple[float, float], labels: int, machine: bool) -> float:
    """A figure over so many units, each of a person and a prompt of its own, that chance hardly moves it."""
    rng = np.random.default_rng(1)
    design = Design(LARGE, None, 1, float(np.hypot(*spread)), 0.0)
    codes = votes(rng, design.units(rng), design, skill, labels)
    return _value(codes, figure, machine)


def _value(codes: Ints, figure: str, machine: bool) -> float:
    everyone = np.zeros(len(codes), dtype=np.int64)
    if figure == "ceiling":
        found = panel_ceiling(codes, list(range(RATERS)), everyone, None)
        return float((found.raters[RATERS] if machine else found.ceiling).value or 0.0)
    if machine:
        pair: PairFigure = next(name for name in PAIRS if name == figure)
        return float(pair_agreement(codes[:, :2], everyone, None, pair).figures[0].value or 0.0)
    table: TableFigure = next(name for name in TABLES if name == figure)
    return float(table_agreement(codes[:, :RATERS], everyone, None, table).value or 0.0)


def _spread(design: Design) -> tuple[float, float]:
    return design.person_sd, 0.0 if design.prompts is None else design.prompt_sd


def table_covers(
    rng: np.random.Generator, design: Design, figure: TableFigure, skill: float, labels: int
) -> bool | None:
    """Whether the interval of a figure of three raters holds the truth."""
    units = design.units(rng)
    codes = votes(rng, units, design, skill, labels)[:, :RATERS]
    found = table_agreement(codes, units.person, units.prompt, figure)
    return covers(found.low, found.high, truth(figure, skill, _spread(design), labels, False))


def pair_covers(
    rng: np.random.Generator, design: Design, figure: PairFigure, skill: float, labels: int
) -> bool | None:
    """Whether the interval of a figure of two raters holds the truth."""
    units = design.units(rng)
    codes = votes(rng, units, design, skill, labels)[:, :2]
    found = pair_agreement(codes, units.person, units.prompt, figure).interval(0)
    return covers(found.low, found.high, truth(figure, skill, _spread(design), labels, True))


def ceiling_covers(rng: np.random.Generator, design: Design, skill: float, machine: bool) -> bool | None:
    """Whether the interval of the human ceiling (or of what a machine reaches beside it) holds the truth."""
    units = design.units(rng)
    codes = votes(rng, units, design, skill)
    found = panel_ceiling(codes, list(range(RATERS)), units.person, units.prompt)
    interval = found.raters[RATERS] if machine else found.ceiling
    return covers(interval.low, interval.high, truth("ceiling", skill, _spread(design), 2, machine))


def below_claimed(rng: np.random.Generator, design: Design, gap: float) -> bool | None:
    """Whether the paired test says that a machine is below the human ceiling."""
    units = design.units(rng)
    codes = votes(rng, units, design, SKILL, gap=gap)
    found = panel_ceiling(codes, list(range(RATERS)), units.person, units.prompt).gaps[RATERS]
    if found is None or found.value is None or (p := found.p_value()) is None:
        return None
    return p < LEVEL and found.value < 0


def any_claimed(rng: np.random.Generator, design: Design, machines: int) -> bool | None:
    """Whether, of so many machines that are as good as a person, one is claimed to differ after Holm."""
    units = design.units(rng)
    codes = votes(rng, units, design, SKILL, machines=machines)
    found = panel_ceiling(codes, list(range(RATERS)), units.person, units.prompt)
    tested = holm([gap.p_value() for gap in found.gaps if gap is not None])
    return any(p is not None and p < LEVEL for p in tested)


def stands_in(rng: np.random.Generator, design: Design, gap: float) -> bool:
    """Whether the alternative annotator test lets a machine stand in for one of three people."""
    units = design.units(rng)
    codes = votes(rng, units, design, SKILL, gap=gap)
    rate = alternative_annotator(codes, list(range(RATERS)), RATERS, units.person, units.prompt).win_rate
    return rate is not None and rate >= 0.5


def coin_tier(rng: np.random.Generator) -> bool | None:
    """Whether the interval of the kappa of a Hard tier among coin flips holds 0."""
    tier = vote_tiers(rng.integers(0, 2, (1000, 9)), np.arange(1000) % 100).hard
    return None if tier is None else covers(tier.kappa.low, tier.kappa.high, 0.0)


REVIEWED = (Design(60, 12), Design(60, 30), Design(60, 100), Design(86, 480))
FRESH = (
    Design(8, 8),
    Design(12, 12),
    Design(25, 40, "crossed"),
    Design(150, 6),
    Design(12),
    Design(30, None, "heavy"),
    Design(40, 20, "heavy", 1.0, 0.8),
)


def _cells() -> list[Cell]:
    found = []
    for design in (*REVIEWED, *FRESH):
        few = design.people if design.prompts is None else min(design.people, design.prompts)
        trials = {
            "kappa": partial(pair_covers, figure="kappa", skill=SKILL, labels=2),
            "weighted kappa": partial(pair_covers, figure="quadratic", skill=0.6, labels=GRADES),
            "Spearman": partial(pair_covers, figure="spearman", skill=0.6, labels=GRADES),
            "percent agreement": partial(table_covers, figure="percent", skill=SKILL, labels=2),
            "Fleiss' kappa": partial(table_covers, figure="fleiss", skill=SKILL, labels=2),
            "alpha, nominal": partial(table_covers, figure="nominal", skill=SKILL, labels=2),
            "alpha, ordinal": partial(table_covers, figure="ordinal", skill=0.6, labels=GRADES),
            "alpha, interval": partial(table_covers, figure="interval", skill=0.6, labels=GRADES),
            "human ceiling": partial(ceiling_covers, skill=SKILL, machine=False),
            "machine beside the ceiling": partial(ceiling_covers, skill=SKILL, machine=True),
        }
        for name, trial in trials.items():
            short = (name, design) == ("human ceiling", Design(12, 12))
            found.append(Cell(name, design.name, band_for(few), partial(trial, design=design), short))
    for design in (Design(60), Design(60, 30), Design(12, 12), Design(86, 480)):
        null = partial(below_claimed, design=design, gap=0.0)
        found.append(Cell("claim: as good as a person, below", design.name, SIZE, null))
        several = partial(any_claimed, design=design, machines=8)
        found.append(Cell("claim: one of 8 equals differs", design.name, SIZE, several))
    half = partial(below_claimed, design=Design(60), gap=-0.044)
    found.append(Cell("claim: 2.6 points below the ceiling", Design(60).name, (0.4, 0.65), half))
    edge = partial(stands_in, design=Design(60, 30), gap=-0.2)
    found.append(Cell("claim: stands in, at a shortfall of ε", Design(60, 30).name, SIZE, edge))
    found.append(
        Cell("kappa of a coin-flip tier", "1,000 pairs × 9 votes, 100 people", (0.9, 1.0), coin_tier)
    )
    return found


CELLS = _cells()
