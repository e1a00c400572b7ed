"""One dialogue counted: its marks summed up per preference, before and after the user spoke, and across domains."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from personafit.items.dialogue import Dialogue
from personafit.people import Person
from personafit.raters.dialogues.counting.marks import Mark, Said, mark_turns
from personafit.raters.dialogues.counting.preferences import Preference, preferences_of
from personafit.raters.dialogues.counting.words import stems


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
