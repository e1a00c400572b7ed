"""One dialogue counted: its marks summed up per preference, before and after the user spoke, and across domains; what an assistant would
cover that always says what most people prefer; and where the simulated user, not the assistant, spoilt the dialogue.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from personafit.items.dialogue import Dialogue
from personafit.people import Person
from personafit.raters.counting.marks import Mark, Said, mark_turns
from personafit.raters.counting.preferences import INDIFFERENT, Preference, preferences_of
from personafit.raters.text import stems


@dataclass(frozen=True)
class Counted:
    """What was counted in one dialogue."""

    dialogue: Dialogue
    preferences: tuple[Preference, ...]
    marks: tuple[Mark, ...]
    switches: tuple[int, ...]
    """Turns at which the dialogue moved to another domain."""

    def of(self, *kinds: str) -> list[Mark]:
        """The marks of some kinds."""
        return [mark for mark in self.marks if mark.kind in kinds]

    def coverage(self, when: str | None = None, domain: str | None = None) -> float | None:
        """The share of preferences the assistant brought in at all, or before or after the user did."""
        asked = [one.path for one in self.preferences if domain in (None, one.domain)]
        if not asked:
            return None
        return sum(self.first(path) is not None and when in (None, self.first(path)) for path in asked) / len(
            asked
        )

    def first(self, path: str) -> str | None:
        """Whether the assistant brought a preference in before or after the user; None if it never did."""
        covered = [mark.turn for mark in self.of("covers") if mark.path == path]
        if not covered:
            return None
        said = [mark.turn for mark in self.of("states", "leaks") if mark.path == path]
        return "before" if not said or covered[0] < said[0] else "after"

    def value_coverage(self) -> float | None:
        """The share of all values of these preferences that the assistant brought in."""
        values = {(one.path, value) for one in self.preferences for value in one.values}
        covered = {(mark.path, mark.value) for mark in self.of("covers")}
        return len(covered & values) / len(values) if values else None

    def stated_by_user(self, opening_only: bool = False) -> float | None:
        """The share of preferences the user told unasked, anywhere or in the opening turn."""
        if not self.preferences:
            return None
        told = {mark.path for mark in self.of("leaks") if mark.turn == 0 or not opening_only}
        return len(told) / len(self.preferences)

    def lost(self) -> list[Mark]:
        """What had been said, and was asked for again or gone against after the dialogue moved to another domain."""
        found = []
        for mark in self.of("reasks", "contradicts"):
            earlier = [
                m.turn
                for m in self.of("states", "leaks", "covers")
                if m.path == mark.path and m.turn < mark.turn
            ]
            if earlier and any(earlier[0] < switch <= mark.turn for switch in self.switches):
                found.append(mark)
        return found

    def carried(self) -> list[Mark]:
        """Another domain's preference applied where it is wrong, after the dialogue moved there."""
        found = []
        for mark in self.of("contradicts"):
            domain = mark.path.partition(".")[0]
            elsewhere = {
                stems(value) for one in self.preferences if one.domain != domain for value in one.values
            }
            if stems(mark.value) in elsewhere and any(switch <= mark.turn for switch in self.switches):
                found.append(mark)
        return found


def count_dialogue(
    dialogue: Dialogue, person: Person, closed: Mapping[str, Sequence[str]], given: str
) -> Counted:
    """Count everything in one dialogue; `given` is the text the assistant was told."""
    preferences = preferences_of(person.facets, dialogue.task.preferences, closed)
    turns = [Said(turn.role, turn.text) for turn in dialogue.turns]
    marks = mark_turns(turns, preferences, given)
    return Counted(dialogue, preferences, tuple(marks), _switches(turns, preferences, marks))


def _switches(
    turns: Sequence[Said], preferences: Sequence[Preference], marks: Sequence[Mark]
) -> tuple[int, ...]:
    domains = {one.domain: one.domain_words for one in preferences}
    if len(domains) < 2:
        return ()
    found, current = [], ""
    for index, turn in enumerate(turns):
        weights = dict.fromkeys(domains, 0)
        for word in stems(turn.text):
            for domain, words in domains.items():
                weights[domain] += word in words
        for mark in marks:
            if mark.turn == index and mark.path:
                weights[mark.path.partition(".")[0]] += 2
        best = max(weights, key=lambda domain: (weights[domain], domain == current))
        if weights[best] and best != current:
            if current:
                found.append(index)
            current = best
    return tuple(found)


class MajorityGuess:
    """The most usual values per preference, counted over people; a person's own are left out of their own guess."""

    def __init__(self, people: Mapping[str, Person]) -> None:
        self._counts: dict[str, Counter[str]] = {}
        for person in people.values():
            for path in person.facets:
                self._counts.setdefault(path, Counter()).update(_values(person, path))

    def guess(self, person: Person, path: str) -> str | None:
        """What most other people have there; of equals the first in the alphabet; None where nobody has anything."""
        others = self._counts.get(path, Counter()) - Counter(_values(person, path))
        return min(others, key=lambda value: (-others[value], value)) if others else None

    def coverage(self, person: Person, paths: Sequence[str]) -> float | None:
        """The share of a person's preferences that the guess would hit."""
        asked = [path for path in paths if _values(person, path)]
        if not asked:
            return None
        return sum(self.guess(person, path) in _values(person, path) for path in asked) / len(asked)


def _values(person: Person, path: str) -> list[str]:
    value = person.facets.get(path, [])
    values = value if isinstance(value, list) else [str(value)]
    return [one for one in dict.fromkeys(values) if one.strip().lower() not in INDIFFERENT]


ECHO_WORDS = 8  # shorter turns repeat each other by nature
ECHO_SHARE = 0.8
DRAGGING = 2  # courtesies in a row after which nothing more was wanted

_ROLE = re.compile(
    r"\b(?:how (?:can|may) i (?:help|assist)|i(?:'d| would) be (?:happy|glad) to (?:help|assist)|is there anything else i can|"
    r"as an ai|i(?:'ve| have) (?:booked|reserved|scheduled|added|set) (?:it|that|this|your))\b",
    re.IGNORECASE,
)
_COURTESY = re.compile(
    r"\b(?:thanks?|thank you|great|perfect|bye|goodbye|have a (?:nice|good|great)|you too)\b", re.IGNORECASE
)


@dataclass(frozen=True)
class UserFaults:
    """What the user did wrong, by kind, with the turns it was done in."""

    found: dict[str, list[int]] = field(default_factory=dict)

    @property
    def helped(self) -> bool:
        """Whether the user made it easier: told what nobody had asked for in the opening turn."""
        return "leaked" in self.found

    @property
    def hurt(self) -> bool:
        """Whether the user made it harder: spoke against the profile, in the wrong role, or left too soon."""
        return any(kind in self.found for kind in ("contradicted", "echoed", "early"))


def user_faults(counted: Counted, completed: float | None) -> UserFaults:
    """The faults of one dialogue's user; `completed` is the judges' mean verdict, None where there is none."""
    dialogue = counted.dialogue
    users = [turn for turn in dialogue.turns if turn.role == "user"]
    found: dict[str, list[int]] = {}
    if strays := [mark.turn for mark in counted.of("strays")]:
        found["contradicted"] = strays
    if leaks := [mark.turn for mark in counted.of("leaks") if mark.turn == 0]:
        found["leaked"] = leaks[:1]
    echoes = [turn.index for turn in users if _echoes(counted, turn.index)]
    if echoes:
        found["echoed"] = echoes
    last = users[-1].index if users else 0
    if dialogue.stop == "satisfied" and completed is not None and completed < 0.5:
        found["early"] = [last]
    courtesies = 0
    for turn in reversed(users):
        if not _is_courtesy(turn.text):
            break
        courtesies += 1
    if courtesies >= DRAGGING or (dialogue.stop == "cap" and completed is not None and completed > 0.5):
        found["late"] = [last]
    return UserFaults(found)


def _echoes(counted: Counted, index: int) -> bool:
    turns = counted.dialogue.turns
    if _ROLE.search(turns[index].text):
        return True
    if index == 0:
        return False
    said, before = stems(turns[index].text), set(stems(turns[index - 1].text))
    return len(said) >= ECHO_WORDS and sum(word in before for word in said) >= ECHO_SHARE * len(said)


def _is_courtesy(text: str) -> bool:
    return len(stems(text)) <= 12 and "?" not in text and bool(_COURTESY.search(text))
