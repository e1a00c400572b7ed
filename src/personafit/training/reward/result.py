"""What a training run leaves in its folder: personafit.json and a card for people; and whether the folder is free, its own, or finished."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from personafit._errors import UserError
from personafit.factory.pairs.step import NOT_PERSONAL
from personafit.training.pairwise_quality import QualityReport, accuracy_table, quality, show_share
from personafit.training.reward.pairs import RewardPair

FACTS = "personafit.json"
FORMAT = 1
STARTED = "started.json"


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


def claim(out: Path, asked: dict[str, Any]) -> TrainedReward | None:
    """Make sure the folder is for this run; what it holds when the run is done already."""
    started = out / STARTED
    try:
        if int(os.environ.get("RANK", "0")) == 0:  # of several processes the first one looks after the folder
            out.mkdir(parents=True, exist_ok=True)
            _claim(out, started, asked)
        if (out / FACTS).is_file():
            facts = json.loads((out / FACTS).read_text(encoding="utf-8"))
            return TrainedReward(out, facts, (out / "card.md").read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{out} cannot be written ({error.strerror}); choose another with --out.") from error
    except json.JSONDecodeError as error:
        raise UserError(f"{out} holds a damaged file ({error}); choose another --out.") from error
    return None


def _claim(out: Path, started: Path, asked: dict[str, Any]) -> None:
    partial = out / f".{STARTED}.partial"
    if all(path in (started, partial) or _is_empty_folder(path) for path in out.iterdir()):
        # Empty, or of a run that was refused or ended before anything came of it.
        partial.write_text(json.dumps(asked, indent=1) + "\n", encoding="utf-8")
        os.replace(partial, started)
        return
    if not started.is_file():
        raise UserError(f"{out} is not empty and holds no training run; choose another --out.")
    before = json.loads(started.read_text(encoding="utf-8"))
    if differ := [name for name in asked if before.get(name) != asked[name]]:
        raise UserError(
            f"{out} holds a run with another {', '.join(differ)}; repeat its command or choose another --out."
        )


def _is_empty_folder(path: Path) -> bool:
    return path.is_dir() and not any(path.iterdir())


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
    return [
        "95 % intervals are clustered by person (a general pair's prompt) and, where questions recur, by question. Pairs of like length and pairs whose shorter answer "
        "was chosen stand beside the rest: a model that learned length fails there.",
        "",
        *accuracy_table(report),
        "",
        f"Baselines on all of them: overlap {show_share(report.overlap)}, length {show_share(report.length)}. "
        f"Log loss {report.log_loss:.3f}.",
    ]
