"""How parts that are no runs were made: studies, audits, extraction, error flows, training."""

import shlex
from collections.abc import Mapping
from typing import Any

from personafit.reporting.whole.collected import Collected
from personafit.reporting.whole.content import Instrument, Piece
from personafit.reporting.whole.curves import Training

# Options of `train reward` that its settings hold under the same name.
OPTIONS = (
    "base",
    "data",
    "preset",
    "pack",
    "epochs",
    "batch",
    "rate",
    "max_tokens",
    "seed",
    "limit",
    "held_out",
)
FLAGS = ("lora", "adapter")
UNKNOWN = "The command was not kept with it."
EXPORTED = "What raters were told and asked, and every answer, is what personafit label export writes."


def other_instruments(given: Collected) -> dict[str, list[Piece]]:
    """The instrument of every part that no run stands behind."""
    parts: dict[str, list[Piece]] = {}
    for name, study in given.studies.items():
        parts[name] = [Instrument(None, _study_facts(study), notes=[EXPORTED])]
    for name, audit in given.audits.items():
        parts[name] = [_kept(audit.command, {"audit of": audit.benchmark})]
    for name in (*given.flows, *given.extractions):
        parts[name] = [_kept(given.commands.get(name), {"folder": name})]
    for name, training in given.trainings.items():
        parts[name] = [Instrument(training_command(training), _training_facts(training))]
    for name, rater in given.fitted.items():
        parts[name] = [_kept(None, {"rater": rater.title, "folder": name})]
    return parts


def _kept(command: str | None, facts: Mapping[str, str]) -> Instrument:
    return Instrument(command, facts, notes=() if command else [UNKNOWN])


def _study_facts(study: Mapping[str, Any]) -> dict[str, str]:
    return {
        "study": study["study"],
        "asked about": study["source"],
        "question": study["form"],
        "pages": f"{study['pages']:,}",
        "state": study["state"],
        "raters are": "simulated" if study["simulated"] else "people",
    }


def training_command(training: Training) -> str | None:
    """The command that trains the same again, all of its settings said; None where they were not kept."""
    settings = training.settings
    if not {"base", "data"} <= set(settings):
        return None
    words = ["personafit", "train", "reward"]
    for name in OPTIONS:
        if settings.get(name) is not None:
            words += [f"--{name.replace('_', '-')}", f"{settings[name]}"]
    if settings.get("mix") is not None:
        path, ratio = settings["mix"]
        words += ["--mix", str(path) if ratio is None else f"{path}={ratio}"]
    words += [f"--{name}" for name in FLAGS if settings.get(name)]
    return shlex.join([*words, "--out", str(training.folder)])


def _training_facts(training: Training) -> dict[str, str]:
    data = training.facts.get("data", {})
    facts = {
        "base": str(training.settings.get("base", "not known")),
        "pairs": str(data.get("personal", "not known")),
        "people": str(data.get("people", "not known")),
        "people held out": str(data.get("people_held_out", "not known")),
        "fingerprint of the pairs": str(
            data.get("fingerprint") or training.settings.get("pairs", "not known")
        ),
        "steps": str(training.facts.get("steps", "not finished")),
    }
    return {name: value for name, value in facts.items() if value != "not known"}
