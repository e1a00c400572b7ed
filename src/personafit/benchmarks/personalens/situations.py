"""Where and when a task takes place, in the usual words: brackets removed, placeholders left out, odd wordings kept."""

import re

from personafit.benchmarks.personalens.repairs import Repairs

TIMES = ("Morning", "Afternoon", "Evening", "Night")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
ENVIRONMENTS = ("Quiet", "Noisy")
USUAL = {"Time of Day": TIMES, "Day of the Week": DAYS, "Environment": ENVIRONMENTS}
_BRACKETED = re.compile(r"\[([^\[\]]*)\]")
_HEDGED = re.compile(r"\bor\b|\be\.g\.|/", re.IGNORECASE)


def usual_situation(raw: dict[str, str], user: str, repairs: Repairs) -> dict[str, str]:
    """The situation with everything put right that can be."""
    situation = {}
    for name, value in raw.items():
        value = value.strip()
        if match := _BRACKETED.fullmatch(value):
            if match[1] not in USUAL.get(name, ()):
                repairs.note("situation placeholder", user)
                continue
            repairs.note("situation brackets", user)
            value = match[1]
        elif _BRACKETED.search(value):
            repairs.note("situation placeholder", user)
            continue
        usual = _usual(name, value)
        if usual is None:
            repairs.note("situation unclear", user)
        elif usual != value:
            repairs.note("situation wording", user)
        situation[name] = value if usual is None else usual
    return situation


def _usual(name: str, value: str) -> str | None:
    """The value in the usual words; None when it has none."""
    if name == "Device":
        return " ".join(
            word.capitalize() if word.islower() and word.isalpha() else word for word in value.split()
        )
    if name not in USUAL or value in USUAL[name]:
        return value
    named = [word for word in USUAL[name] if re.search(rf"\b{word}\b", value, re.IGNORECASE)]
    return named[0] if len(named) == 1 and not _HEDGED.search(value) else None
