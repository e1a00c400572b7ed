"""What had to be put right while reading, and what could not be: counted by kind, with the people concerned."""

from collections.abc import Callable
from typing import Any

from personafit._errors import UserError

Complain = Callable[[str], None]
"""Where faults go, which are not put right: raises the sentence as an error, or keeps it."""

KINDS = {
    "interest name": "names in the interest mask carried stray marks, which were removed",
    "domain order": "profiles list their domains in another order than the ontology, whose order is used",
    "reference changed": "tasks name other attributes than their definition, which is followed",
    "reference spelling": "attribute names were spelt otherwise than in the ontology and were found there",
    "reference suffix": "attribute names carried their domain in brackets and were found in that domain",
    "reference shared": "attribute names exist in several of the task's domains and stand for each of them",
    "reference unknown": "attribute names exist in none of the task's domains; they are left out, not guessed",
    "domain unused": "domains of a task have no attribute among those it names",
    "value missing": "demographics are not known or not told; they are left out",
    "value empty": "preferences are empty lists; they are left out",
    "value case": "values differ from the ontology in capitals only and are written as there",
    "value foreign": "values of closed lists are not in the ontology; they are kept",
    "preference empty": "references of tasks point to an empty preference; they are left out",
    "situation brackets": "situations stood in brackets, which were removed",
    "situation placeholder": "situations hold a placeholder instead of a value; they are left out",
    "situation wording": "times of day, days or devices were worded otherwise and are written in the usual way",
    "situation unclear": "times of day or days cannot be put in the usual way; they are kept",
    "preamble": "summaries open with their generator's own words, which were removed",
    "summary placeholder": "summaries hold a placeholder in brackets; they are kept",
}
NAMED = 12  # people named in a sentence; the JSON names all


class Repairs:
    """Counts repairs; the same place read twice counts once, for reading starts afresh."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._users: dict[str, dict[str, None]] = {}

    def note(self, kind: str, user: str, count: int = 1) -> None:
        """Something of that kind was met in that user's files."""
        assert kind in KINDS
        self._counts[kind] = self._counts.get(kind, 0) + count
        self._users.setdefault(kind, {})[user] = None

    def rows(self) -> list[dict[str, Any]]:
        """Each kind that occurred: what it is, how often, and with whom."""
        return [
            {"kind": kind, "what": KINDS[kind], "count": self._counts[kind], "users": list(self._users[kind])}
            for kind in KINDS
            if kind in self._counts
        ]

    def sentences(self) -> list[str]:
        """The same in words."""
        said = []
        for row in self.rows():
            users = row["users"]
            named = ", ".join(users[:NAMED]) + (f" and {len(users) - NAMED:,} more" if users[NAMED:] else "")
            said.append(f"{row['kind']}: {row['count']:,} {row['what']} ({named}).")
        return said


def refuse(sentence: str) -> None:
    """Take the first fault as an error."""
    raise UserError(sentence)
