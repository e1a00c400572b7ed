"""How many times faster figures of agreement with clustered intervals are than bootstrapping the usual libraries.

A million judgments: 100,000 units × 10 raters, 5 labels, 2,000 people, 500 prompts; the libraries are resampled 1,000 times. They
are timed on a few resamples and scaled up; the label counts and the drawing of units are done for them beforehand and not timed.
Then the same with every unit a person of its own. Run with `python speed/agreement.py`; it needs statsmodels, krippendorff and
scikit-learn.
"""

import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import combinations

import krippendorff
import numpy as np
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import fleiss_kappa

from personafit.statistics import agreement
from personafit.statistics.agreement import Floats, Ints
from personafit.statistics.agreement_intervals import TableFigure, pair_agreement, table_agreement

UNITS, RATERS, LABELS, RESAMPLES, TIMED = 100_000, 10, 5, 1000, 5
BAR = 20.0
PROMPTS = np.random.default_rng(1).integers(0, 500, UNITS)


def judgments(people: int, seed: int = 0) -> tuple[Ints, Ints]:
    rng = np.random.default_rng(seed)
    person = rng.integers(0, people, UNITS)
    truth = rng.integers(0, LABELS, (UNITS, 1))
    skill = rng.uniform(0.3, 0.9, people)[person][:, None]
    codes = np.where(rng.random((UNITS, RATERS)) < skill, truth, rng.integers(0, LABELS, (UNITS, RATERS)))
    return codes, person


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def looped(figure: Callable[[Ints], Floats], rows: Ints, person: Ints) -> float:
    """Seconds for all resamples, scaled up from a few."""
    rng = np.random.default_rng(0)
    count = int(person.max()) + 1
    order = np.argsort(person, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(person, minlength=count))[:-1])
    took = 0.0
    for _ in range(TIMED):
        drawn = np.concatenate([parts[p] for p in rng.integers(0, count, count)])
        took += seconds(partial(_of_drawn, figure, rows, drawn))
    return took * RESAMPLES / TIMED


def _of_drawn(figure: Callable[[Ints], Floats], rows: Ints, drawn: Ints) -> Floats:
    return figure(rows[drawn])


def fleiss(counts: Ints) -> Floats:
    return np.array([fleiss_kappa(counts)])


def nominal(counts: Ints) -> Floats:
    return np.array([krippendorff.alpha(value_counts=counts, level_of_measurement="nominal")])


def ordinal(counts: Ints) -> Floats:
    return np.array([krippendorff.alpha(value_counts=counts, level_of_measurement="ordinal")])


def pairwise(codes: Ints) -> Floats:
    pairs = combinations(range(RATERS), 2)
    return np.array([cohen_kappa_score(codes[:, i], codes[:, j]) for i, j in pairs])


def table(figure: TableFigure, codes: Ints, person: Ints) -> Floats:
    return np.array([table_agreement(codes, person, PROMPTS, figure).value])


def pairs(codes: Ints, person: Ints) -> Floats:
    found = pair_agreement(codes, person, PROMPTS, "kappa")
    return np.array([found.interval(pair).value for pair in range(len(found.pairs))])


def race(people: int) -> float:
    """The worst ratio of four figures, 0 if one differs from the library's."""
    codes, person = judgments(people)
    if people == UNITS:
        person = np.arange(UNITS)
    counts = agreement.label_counts(codes)
    races: list[tuple[str, Callable[[Ints], Floats], Ints, Callable[[Ints, Ints], Floats]]] = [
        ("Fleiss' kappa (statsmodels)", fleiss, counts, partial(table, "fleiss")),
        ("Krippendorff, nominal", nominal, counts, partial(table, "nominal")),
        ("Krippendorff, ordinal", ordinal, counts, partial(table, "ordinal")),
        ("45 pairwise kappas (sklearn)", pairwise, codes, pairs),
    ]
    print(f"{UNITS * RATERS:,} judgments, {RATERS} raters, {people:,} people, {RESAMPLES:,} resamples")
    worst = np.inf
    for name, theirs, rows, ours in races:
        their_seconds = looped(theirs, rows, person)
        our_seconds = seconds(partial(ours, codes, person))
        apart = float(np.abs(ours(codes, person) - theirs(rows)).max())
        ratio = their_seconds / our_seconds
        worst = min(worst, ratio if apart < 1e-9 else 0.0)
        print(
            f"  {name:28} {our_seconds:6.2f} s  against {their_seconds:6.0f} s: {ratio:5.0f}×, apart {apart:.0e}"
        )
    return worst


def main() -> int:
    worst = min(race(2_000), race(UNITS))
    print(f"worst ratio {worst:.0f}×, asked for {BAR:.0f}×")
    return 0 if worst >= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
