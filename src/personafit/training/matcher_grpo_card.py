"""What a model trained to say which attributes matter is worth on prompts held out, and the card that says so."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from personafit._errors import UserError
from personafit.items.reading import Part, Shown
from personafit.items.relevance import ATTRIBUTES, NO, PAIR, YES
from personafit.models import Unanswerable, Unusable
from personafit.raters import make_rater
from personafit.raters.fitted.model import Rows
from personafit.statistics import Estimate
from personafit.statistics.detection import Metric, detection, detection_difference
from personafit.training.cards import QualityMetric, card_table, show_estimate
from personafit.training.cross_fitting import Bools
from personafit.training.matcher import JudgedPairs
from personafit.training.matcher_quality import BY_PROMPT, METRICS

BASE, ALWAYS_YES = "base", "always-yes"
GAIN = "f1_gain_over_base"
_ROWS = {None: "trained", BASE: "its base", ALWAYS_YES: "always yes"}

Said = NDArray[np.float64]
"""1 for yes, 0 for no, nan where the reply could not be read."""


def measure(judged: JudgedPairs, rows: Rows, trained: str, base: str) -> list[QualityMetric]:
    """Ask the trained model and its base about the held-out pairs, in the way that a run asks raters."""
    pairs = [
        Shown(
            question=PAIR,
            about=str(row),
            content="",
            person=judged.people[row],
            prompt=judged.prompts[row],
            parts=(Part(str(row), "", judged.attributes[row]),),
        )
        for row in map(int, rows)
    ]
    said = {None: asyncio.run(_ask(trained, pairs)), BASE: asyncio.run(_ask(base, pairs))}
    said[ALWAYS_YES] = np.ones(len(rows))
    figures = []
    for control, answers in said.items():
        figures += [
            QualityMetric(metric, BY_PROMPT, _figure(judged, rows, answers, metric), control)
            for metric in METRICS
        ]
        coverage = float(np.isfinite(answers).mean())
        people = len({judged.people[row] for row in rows})
        figures.append(
            QualityMetric(
                "coverage", BY_PROMPT, Estimate(coverage, None, None, len(rows), people, None), control
            )
        )
    both = np.isfinite(said[None]) & np.isfinite(said[BASE])
    gain = detection_difference(
        said[None][both] == 1, said[BASE][both] == 1, *_columns(judged, rows[both], "f1")
    )
    return [*figures, QualityMetric(GAIN, BY_PROMPT, gain)]


async def _ask(spec: str, pairs: Sequence[Shown]) -> Said:
    rater = make_rater(spec, ATTRIBUTES)
    worth = {YES: 1.0, NO: 0.0, None: np.nan}
    said = np.full(len(pairs), np.nan)
    try:
        for place, pair in enumerate(pairs):
            with suppress(Unanswerable):
                said[place] = worth[(await rater.rate(pair)).answers[0].label]
    except Unusable as error:
        raise UserError(str(error)) from error
    finally:
        await rater.close()
    return said


def _figure(judged: JudgedPairs, rows: Rows, answers: Said, metric: Metric) -> Estimate:
    read = np.isfinite(answers)
    return detection(answers[read] == 1, *_columns(judged, rows[read], metric))


def _columns(judged: JudgedPairs, rows: Rows, metric: Metric) -> tuple[Bools, Metric, list[str], list[str]]:
    people, prompts = ([names[row] for row in rows] for names in (judged.people, judged.prompts))
    return judged.relevant[rows], metric, people, prompts


def card(facts: dict[str, Any], figures: Sequence[QualityMetric]) -> str:
    """What the model is, what it was rewarded for, and what it is worth."""
    settings, weights = facts["settings"], facts["weights"]
    found = {(figure.control, figure.metric): figure.estimate for figure in figures}
    held = found[None, "coverage"]
    metrics = (*METRICS, "coverage")
    how = "an adapter of low rank, merged" if settings["lora"] else "all weights"
    lines = [
        "# A language model that says which attributes matter",
        "",
        f"Base: `{settings['base']}`. Trained ({how}) by GRPO on {facts['pairs']:,} pairs of a prompt and an attribute from "
        f"{facts['source']}, of {facts['prompts']:,} prompts: {settings['steps']:,} steps of {settings['batch']} questions with "
        f"{settings['generations']} replies each, rate {settings['rate']:g}, seed {settings['seed']}. As a rater: "
        f"`{facts['rater']}`.",
        "",
        f"A reply that agrees with the majority earned +w, another −w, one that could not be read −2w, with w = "
        f"{weights[YES]:.2f} where most people said yes and {weights[NO]:.2f} where they said no: a constant answer earns 0.",
        "",
        f"On {held.n:,} pairs of {held.people:,} people, of prompts it was not trained on; the people may be the same. 95 % "
        "intervals are clustered by person and prompt; what could not be read lowers coverage and is in no other figure.",
        "",
        *card_table(
            ("", *metrics),
            [
                (name, *(show_estimate(found[control, metric]) for metric in metrics))
                for control, name in _ROWS.items()
            ],
        ),
        "",
        f"F1 gained over its base, paired: {show_estimate(found[None, GAIN], '+.3f')}.",
    ]
    return "\n".join(lines) + "\n"
