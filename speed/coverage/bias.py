"""Cells for `bias`: a steadier judge with people's tastes is not called biased, and a different taste is found."""

from functools import partial

import numpy as np
from scipy.special import expit

from personafit.statistics.bias import Fit, Taste, effect, fit_choices, taste_difference
from personafit.statistics.decisions import Hypothesis, decide_together
from speed.coverage.cells import SIZE, Cell, band_for, covers
from speed.coverage.designs import Design, Floats

TASTES = (0.5, 0.4)
"""Of people: for the longer answer, and for the one that mentions more of the person."""
LIKES_LENGTH = (1.5, 0.4)
FOUND = (0.6, 1.0)


def judge_and_people(
    rng: np.random.Generator,
    design: Design,
    judge: tuple[float, ...],
    people: tuple[float, ...],
    steadier: float,
    orders: int = 2,
) -> tuple[Fit, Fit]:
    """Both choose between the same answers by features and by a quality nobody measured; the judge with less noise.

    Tastes differ between people, and between prompts where these recur, in the same way for both.
    """
    units = design.units(rng)
    n, columns = len(units.person), len(people)
    features = rng.normal(size=(n, columns)) + 0.5 * rng.normal(
        size=(n, 1)
    )  # correlated, as length and mention are
    own = rng.normal(0, 0.3, (design.people, columns))[units.person]
    if design.prompts is not None:
        own = own + rng.normal(0, 0.2, (design.prompts, columns))[units.prompt]
    quality = rng.normal(0, 0.7, n)

    def choices(tastes: tuple[float, ...], scale: float) -> Floats:
        lead = (features * (np.array(tastes) + own)).sum(1) + quality
        return np.asarray(rng.random(n) < expit(scale * lead), dtype=np.float64)

    asked = np.concatenate([choices(judge, steadier) for _ in range(orders)])
    person, prompt = np.tile(units.person, orders), np.tile(units.prompt, orders)
    first = fit_choices(np.tile(features, (orders, 1)), asked, person, prompt)
    return first, fit_choices(features, choices(people, 1.0), units.person, units.prompt)


def claimed(
    rng: np.random.Generator,
    design: Design,
    judge: tuple[float, ...],
    people: tuple[float, ...],
    steadier: float,
    feature: int = 0,
) -> bool:
    """Whether the judge is said to go by a feature more, or less, than people do."""
    gap = _taste(judge_and_people(rng, design, judge, people, steadier), feature)
    return gap.p is not None and gap.p <= 0.05


def any_claimed(rng: np.random.Generator, design: Design, judges: int) -> bool:
    """Whether any of several judges with people's tastes is said to go by any feature more, or less, than people do."""
    tests = []
    for _ in range(judges):
        fits = judge_and_people(rng, design, TASTES, TASTES, 3.0)
        for gap in (_taste(fits, feature) for feature in range(len(TASTES))):
            tests.append(Hypothesis(gap.difference, p=gap.p, se=gap.se))
    return any(finding.decided for finding in decide_together(tests))


def _taste(fits: tuple[Fit, Fit], feature: int) -> Taste:
    count = fits[1].influence.shape[1]
    columns = [feature, *(k for k in range(count) if k != feature)]
    return taste_difference(fits[0], columns, fits[1], columns)


def no_pull(rng: np.random.Generator, design: Design) -> bool | None:
    """Whether the interval of a coefficient that is 0 holds 0."""
    found = effect(judge_and_people(rng, design, (0.5, 0.0), TASTES, 1.0)[0], 1)
    return covers(found.low, found.high, 0.0)


def _cells() -> list[Cell]:
    cells = []
    for design in (Design(60), Design(60, 30), Design(150, 12), Design(12), Design(30, None, "heavy")):
        for steadier in (3.0, 0.4):
            for feature, name in enumerate(("length", "mention")):
                trial = partial(
                    claimed, design=design, judge=TASTES, people=TASTES, steadier=steadier, feature=feature
                )
                short = (design.people, design.prompts, steadier, feature) == (60, 30, 3.0, 0)
                what = f"'{name} more than people', same tastes, {steadier:g} times as steady"
                cells.append(Cell(what, design.name, SIZE, trial, short))
    for people in ((0.5, 0.0), (0.5, 0.1, 0.0, 0.0), (0.5, 0.3, 0.3)):
        trial = partial(claimed, design=Design(60), judge=people, people=people, steadier=3.0)
        what = f"'length more than people', same tastes {people}, 3 times as steady"
        cells.append(Cell(what, Design(60).name, SIZE, trial))
    trial = partial(claimed, design=Design(60), judge=(0.5, 1.2), people=TASTES, steadier=1.0)
    cells.append(Cell("'length more than people', other taste for mention", Design(60).name, SIZE, trial))
    for design in (Design(60), Design(60, 30)):
        trial = partial(any_claimed, design=design, judges=8)
        cells.append(Cell("any 'more than people' among 8 judges, same tastes", design.name, SIZE, trial))
    for steadier in (1.0, 2.0):
        trial = partial(claimed, design=Design(150), judge=LIKES_LENGTH, people=TASTES, steadier=steadier)
        what = f"three times the taste for length is found, {steadier:g} times as steady"
        cells.append(Cell(what, Design(150).name, FOUND, trial))
    for design in (Design(60), Design(60, 30), Design(12), Design(8)):
        few = min(design.people, design.prompts or design.people)
        cells.append(
            Cell(
                "coefficient of a pull that is none",
                design.name,
                band_for(few),
                partial(no_pull, design=design),
            )
        )
    return cells


CELLS = _cells()
