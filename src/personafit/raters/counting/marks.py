"""What is counted in the turns of a dialogue, without a judge: each mark names a turn, a preference and a place in the text.

An assistant's turn *covers* a preference when it states, applies or proposes a value the person has, before or after the
user said it; it *contradicts* one when it settles on or proposes another value of the same list that nobody asked for; it
*re-asks* one when it asks for what its context or the user has already told; it *invents* a memory when it claims to know
from the past what is in no history. A user's turn *states* a value that was asked for or proposed, *leaks* one that nobody asked
for, and *strays* where it is against the person's own profile.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from personafit.items.dialogue import Dialogue
from personafit.people import Person
from personafit.raters.counting.preferences import (
    INDIFFERENT,
    LEXICON,
    SIGNS,
    Mention,
    Preference,
    find_mentions,
    preferences_of,
    says,
)
from personafit.raters.text import Span, sentences, stems

# -- memories in no history ---------------------------------------------------------------------------------------------

ENOUGH = 0.5  # the share of a claim's telling words that must have been told

_UNTELLING = frozenset(stems(LEXICON["untelling"]))


def invented_memories(text: str, system_context: str, heard: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where a text claims to remember what is neither in its context nor in what the user said."""
    told = frozenset(stems(system_context)).union(*(stems(one) for one in heard))
    for span in sentences(text):
        sentence = text[span.start : span.end]
        match = SIGNS["claim"].search(sentence)
        if match is None or _asks(sentence):
            continue
        claim = _claim(sentence, match)
        telling = [word for word in stems(claim) if word not in _UNTELLING]
        if not telling and told:
            continue
        known = sum(word in told for word in telling)
        if known < ENOUGH * len(telling) or not told:
            yield span.start + match.start(), span.start + len(sentence.rstrip())


def _claim(sentence: str, match: re.Match[str]) -> str:
    """The part of a sentence that is claimed: what follows from it is the assistant's own business."""
    end = SIGNS["consequence"].search(sentence, match.end())
    head = sentence[: match.start()]
    start = SIGNS["consequence"].search(head)
    return sentence[start.end() if start else 0 : end.start() if end else len(sentence)]


def _asks(sentence: str) -> bool:
    """Whether the claim is a question of its own, such as what the user usually does."""
    opener = re.match(r"\W*(?:what|which|how|when|where|do|did|have|are)\b", sentence, re.IGNORECASE)
    return bool(opener) and sentence.rstrip(" \"'”’)\n").endswith(("?", "？"))


# -- marks --------------------------------------------------------------------------------------------------------------

RULES = "counting-2"  # changes whenever a rule or a list of words does

When = Literal["before", "after", ""]
BEFORE: When = "before"
AFTER: When = "after"
Kind = Literal["covers", "contradicts", "reasks", "invents", "states", "leaks", "strays"]

_QUESTION = re.compile(r"[?？][\"'”’)\s]*$")
_SPLIT_CHOICE = re.compile(r"\bor (?:is|are|would|should|do|does|shall) ", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Said:
    """One turn: role and text."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class Mark:
    """One finding in a turn: its kind, preference and place."""

    turn: int
    kind: Kind
    path: str  # the preference; empty for an invented memory
    value: str
    start: int
    end: int
    when: When = ""  # of a coverage: before or after the user said it


@dataclass
class _Known:
    """What a dialogue has said and asked before one turn."""

    system_context: str
    said: set[tuple[str, str]] = field(default_factory=set)  # (path, value) the user has named
    heard: list[str] = field(default_factory=list)  # what the user has said so far
    asked: set[str] = field(default_factory=set)  # paths the assistant's last turn asked about or touched
    focus: str = ""  # the domain spoken of last


def mark_turns(turns: Sequence[Said], preferences: Sequence[Preference], system_context: str) -> list[Mark]:
    """All marks of a dialogue, in order."""
    known = _Known(system_context)
    marks: list[Mark] = []
    for index, turn in enumerate(turns):
        mentions = _in_focus(turn.text, find_mentions(turn.text, preferences), known)
        if turn.role == "user":
            marks += _user_marks(index, turn.text, mentions, known)
            known.said |= {
                (m.preference.path, m.value) for m in mentions if m.negated == m.preference.avoided
            }
            known.heard.append(turn.text)
        else:
            marks += _assistant_marks(index, turn.text, mentions, preferences, known)
    return marks


def _in_focus(text: str, mentions: list[Mention], known: _Known) -> list[Mention]:
    """Of mentions that could belong to several domains, those of the domain the sentence, or the talk, is about."""
    kept: list[Mention] = []
    for span in sentences(text):
        here = [one for one in mentions if span.holds(one.start)]
        words = set(stems(text[span.start : span.end]))
        domains = {one.preference.domain: one.preference.domain_words for one in here}
        named = [domain for domain in domains if words & domains[domain]]
        sure = [one.preference.domain for one in here if not _rivals(one, here)]
        about = named or sure[-1:] or ([known.focus] if known.focus else [])
        for one in here:
            elsewhere = bool(about) and one.preference.domain not in about
            rivalled = any(rival.preference.domain in about for rival in _rivals(one, here))
            if not (elsewhere and (one.implied or rivalled)):
                kept.append(one)
        if about:
            known.focus = about[-1]
    return kept


def _rivals(one: Mention, others: list[Mention]) -> list[Mention]:
    """Mentions of the same words for a preference in another domain."""
    same_words = [other for other in others if other.start < one.end and one.start < other.end]
    return [other for other in same_words if other.preference.domain != one.preference.domain]


def _assistant_marks(
    index: int, text: str, mentions: list[Mention], preferences: Sequence[Preference], known: _Known
) -> Iterator[Mark]:
    asked: set[str] = set()
    covered: dict[str, Mention] = {}
    against: dict[str, list[Mention]] = {}
    for span in sentences(text):
        sentence = text[span.start : span.end]
        here = [one for one in mentions if span.holds(one.start)]
        asks = _asked_about(sentence, here, preferences, known.focus)
        for path in asks - asked:
            preference = next(one for one in preferences if one.path == path)
            if _is_known(preference, known):
                yield Mark(index, "reasks", path, "", *_trimmed(text, span))
        asked |= asks
        for path in dict.fromkeys(one.preference.path for one in here):
            if path in asks or (path in asked and _QUESTION.search(sentence)):
                continue
            of_path = [one for one in here if one.preference.path == path]
            if _to_choose_from(text, of_path, sentence):
                continue
            good = [one for one in of_path if one.own and one.negated == one.preference.avoided]
            for one in good:
                if f"{path}={one.value}" not in covered:
                    covered[f"{path}={one.value}"] = one
                    when = AFTER if (path, one.value) in known.said else BEFORE
                    yield Mark(index, "covers", path, one.value, one.start, one.end, when)
            bad = [one for one in of_path if _is_against(one, known)]
            if bad and not good and not SIGNS["hypothetical"].search(sentence):
                against.setdefault(path, []).extend(bad)
    for path, bad in against.items():
        preference = bad[0].preference
        # Of several values one is enough: a further one beside it is an addition, not a contradiction.
        one_is_enough = preference.several and not preference.avoided
        if one_is_enough and any(m.preference.path == path for m in covered.values()):
            continue
        yield Mark(index, "contradicts", path, bad[0].value, bad[0].start, bad[0].end)
    for start, end in invented_memories(text, known.system_context, known.heard):
        yield Mark(index, "invents", "", "", start, end)
    known.asked = asked | {one.preference.path for one in mentions}


def _to_choose_from(text: str, of_path: list[Mention], sentence: str) -> bool:
    """Whether the person's own value stands among others to choose from: neither for nor against it."""
    named = [one for one in of_path if not one.negated]
    if {one.own for one in named} != {True, False}:
        return False
    between = text[named[0].end : named[-1].start]
    return bool(SIGNS["choice"].search(between) or SIGNS["open_list"].search(sentence))


def _is_against(one: Mention, known: _Known) -> bool:
    if one.preference.avoided:
        return one.own and not one.negated
    return not one.own and not one.negated and (one.preference.path, one.value) not in known.said


def _asked_about(
    sentence: str, here: list[Mention], preferences: Sequence[Preference], focus: str
) -> set[str]:
    """The preferences a sentence asks for: by name, or by a choice between values."""
    question = bool(_QUESTION.search(sentence))
    if not question and not SIGNS["request"].search(sentence):
        return set()
    opener = bool(SIGNS["opener"].search(sentence)) or not question
    offer = bool(SIGNS["offer"].search(sentence))
    choice = SIGNS["choice"].search(sentence) and not SIGNS["proposal"].search(sentence)
    choosing = choice and (opener or _SPLIT_CHOICE.search(sentence))
    asked: set[str] = set()
    for preference in preferences:
        own = {one.value for one in here if one.preference is preference and one.own and not one.negated}
        other = {one.value for one in here if one.preference is preference and not one.own}
        between_values = bool(other) and (bool(own) or len(other) > 1)
        by_name = opener and not offer and preference.cue and preference.cue.search(sentence)
        if between_values or (choosing if own or other else by_name):
            asked.add(preference.path)
    return _of_domain(sentence, asked, preferences, focus)


def _of_domain(sentence: str, asked: set[str], preferences: Sequence[Preference], focus: str) -> set[str]:
    """Of attributes alike in several domains, those of the domain the question is about."""
    theirs = [one for one in preferences if one.path in asked]
    if len({one.domain for one in theirs}) < 2:
        return asked
    words = set(stems(sentence))
    named = {one.domain for one in theirs if words & one.domain_words}
    about = named or ({focus} if focus in {one.domain for one in theirs} else set())
    return {one.path for one in theirs if one.domain in about} if about else asked


def _is_known(preference: Preference, known: _Known) -> bool:
    if any(path == preference.path for path, _ in known.said):
        return True
    return any(says(known.system_context, value) for value in preference.values)


def _user_marks(index: int, text: str, mentions: list[Mention], known: _Known) -> Iterator[Mark]:
    for one in mentions:
        path = one.preference.path
        fresh = (path, one.value) not in known.said
        if one.own and one.negated == one.preference.avoided:
            kind: Kind = "leaks" if fresh and path not in known.asked else "states"
            yield Mark(index, kind, path, one.value, one.start, one.end)
        elif one.own or (
            not one.negated and not one.preference.several and not _beside_own(text, one, mentions)
        ):
            yield Mark(index, "strays", path, one.value, one.start, one.end)


def _beside_own(text: str, one: Mention, mentions: list[Mention]) -> bool:
    """Whether the person's own value is named in the same sentence, or the sentence is a question."""
    span = next(span for span in sentences(text) if span.holds(one.start))
    if _QUESTION.search(text[span.start : span.end]):
        return True
    return any(m.own and m.preference is one.preference and span.holds(m.start) for m in mentions)


def _trimmed(text: str, span: Span) -> tuple[int, int]:
    said = text[span.start : span.end]
    return span.start + len(said) - len(said.lstrip()), span.start + len(said.rstrip())


# -- one dialogue counted ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Counted:
    """The marks of one dialogue, and the figures derived from them."""

    dialogue: Dialogue
    preferences: tuple[Preference, ...]
    marks: tuple[Mark, ...]
    switches: tuple[int, ...]  # turns at which the dialogue moved to another domain

    def of(self, *kinds: str) -> list[Mark]:
        return [mark for mark in self.marks if mark.kind in kinds]

    def coverage(self, when: str | None = None, domain: str | None = None) -> float | None:
        """The share of preferences the assistant brought in at all, or before or after the user did."""
        asked = [one.path for one in self.preferences if domain in (None, one.domain)]
        if not asked:
            return None
        first = [self.first(path) for path in asked]
        return sum(one is not None and when in (None, one) for one in first) / len(asked)

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
            named = [one.turn for one in self.of("states", "leaks", "covers") if one.path == mark.path]
            earlier = [turn for turn in named if turn < mark.turn]
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
    dialogue: Dialogue, person: Person, closed: Mapping[str, Sequence[str]], system_context: str
) -> Counted:
    """Count everything in one dialogue; `system_context` is the text the assistant was told."""
    preferences = preferences_of(person.facets, dialogue.task.preferences, closed)
    turns = [Said(turn.role, turn.text) for turn in dialogue.turns]
    marks = mark_turns(turns, preferences, system_context)
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
    if SIGNS["role"].search(turns[index].text):
        return True
    if index == 0:
        return False
    said, before = stems(turns[index].text), set(stems(turns[index - 1].text))
    return len(said) >= ECHO_WORDS and sum(word in before for word in said) >= ECHO_SHARE * len(said)


def _is_courtesy(text: str) -> bool:
    return len(stems(text)) <= 12 and "?" not in text and bool(SIGNS["courtesy"].search(text))
