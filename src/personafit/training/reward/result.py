"""What a training run leaves: weights for plain transformers, personafit.json, and a card for people."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from personafit.factory.pairs.layout import NOT_PERSONAL
from personafit.statistics import Estimate
from personafit.training.quality import QualityReport, quality
from personafit.training.reward.pairs import RewardPair

FACTS = "personafit.json"
FORMAT = 1


@dataclass(frozen=True)
class TrainedReward:
    """A trained reward model: its folder and what is known of it."""

    folder: Path
    facts: dict[str, Any]
    card: str


def figures(pairs: Sequence[RewardPair], margins: npt.NDArray[np.float64]) -> dict[str, float]:
    """Loss and accuracy by tier of margins, a tie counting half, by the names that loggers show."""
    won = np.where(margins > 0, 1.0, np.where(margins < 0, 0.0, 0.5))
    tiers = np.array([pair.tier for pair in pairs])
    personal = tiers != NOT_PERSONAL
    found = {}
    if personal.any():
        found["eval_loss"] = float(np.logaddexp(0, -margins[personal]).mean())
        found["eval_accuracy"] = float(won[personal].mean())
    for tier in sorted({str(tier) for tier in tiers if tier}):
        found[f"eval_accuracy_{tier.replace(' ', '_')}"] = float(won[tiers == tier].mean())
    return found


def held_out_quality(
    pairs: Sequence[RewardPair], margins: npt.NDArray[np.float64]
) -> dict[str, QualityReport]:
    """Personal and general pairs apart, each with intervals over people or prompts."""
    kinds: dict[str, list[int]] = {"personal": [], "general": []}
    for index, pair in enumerate(pairs):
        kinds["personal" if pair.person else "general"].append(index)
    return {
        kind: quality([pairs[index].choice() for index in rows], margins[rows])
        for kind, rows in kinds.items()
        if rows
    }


def write_facts(folder: Path, facts: dict[str, Any], card: str) -> None:
    """Write card.md, then personafit.json in one move: where it is, the run is done."""
    (folder / "card.md").write_text(card, encoding="utf-8")
    partial = folder / f".{FACTS}.partial"
    partial.write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(partial, folder / FACTS)


def card_of(facts: dict[str, Any], reports: dict[str, QualityReport]) -> str:
    """What the model is, how it was trained and what it is worth on people it was not trained on."""
    settings = facts["settings"]
    lines = [
        "# A persona-conditioned reward model",
        "",
        f"Base: `{facts['base']}`. {_training(facts)} Up to {settings['max_tokens']:,} tokens, seed {settings['seed']}, preset "
        f"`{settings['preset']}`.",
        "",
        "It reads the person, then the question, then the answer, and gives the answer one number; numbers of one question "
        f"and one person can be compared. Rendering `{facts['rendering']}`; another rendering gives scores that mean "
        "something else.",
    ]
    for kind, report in reports.items():
        who = "people" if kind == "personal" else "prompts"
        lines += ["", f"## {kind.capitalize()} pairs of {who} held out", "", *_table(report)]
    if not reports:
        lines += ["", "Nobody was held out, so nothing is known of its quality."]
    if facts["notes"]:
        lines += ["", "## Said on the way", "", *(f"- {note}" for note in facts["notes"])]
    return "\n".join(lines) + "\n"


def _training(facts: dict[str, Any]) -> str:
    if not facts["steps"]:
        return "Nothing was trained: where the base had no score head, it is as drawn."
    settings, data = facts["settings"], facts["data"]
    how = "an adapter of low rank" if settings["lora"] else "all weights"
    return (
        f"Trained ({how}) on {data['personal']:,} personal pairs (people: {data['people']:,}) and {data['general']:,} general "
        f"ones{_swapped(data)}: Bradley–Terry loss, epochs {settings['epochs']:g}, steps {facts['steps']:,}, batches of "
        f"{settings['batch']} pairs, rate {settings['rate']:g}."
    )


def _swapped(data: dict[str, Any]) -> str:
    return f", and {data['swapped']:,} pairs of one answer before two people" if data["swapped"] else ""


def _table(report: QualityReport) -> list[str]:
    lines = [
        "95 % intervals are clustered by person (a general pair's prompt) and, where questions recur, by question. Pairs of like length and pairs whose shorter answer "
        "was chosen stand beside the rest: a model that learned length fails there.",
        "",
        "| pairs | n | accuracy | gain over the overlap rule |",
        "|---|---|---|---|",
    ]
    for name, estimate in report.accuracy.items():
        gain = _show(report.gain_over_overlap[name], "+.1f")
        lines.append(f"| {name} | {estimate.n:,} | {_show(estimate)} | {gain} |")
    return [
        *lines,
        "",
        f"Baselines on all of them: overlap {_show(report.overlap)}, length {_show(report.length)}. Log loss {report.log_loss:.3f}.",
    ]


def _show(estimate: Estimate, form: str = ".1f") -> str:
    if estimate.value is None:
        return "–"
    text = format(100 * estimate.value, form)
    if estimate.low is None or estimate.high is None:
        return text
    return f"{text} ({format(100 * estimate.low, form)} to {format(100 * estimate.high, form)})"
