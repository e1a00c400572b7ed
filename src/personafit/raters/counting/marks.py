"""What is counted in the turns of a dialogue, without a judge: each mark names a turn, a preference and a place in the text.

An assistant's turn *covers* a preference when it states, applies or proposes a value the person has, before or after the
user said it; it *contradicts* one when it settles on or proposes another value of the same list that nobody asked for; it
*re-asks* one when it asks for what its context or the user has already told; it *invents* a memory when it claims to know
from the past what is in no history. A user's turn *states* a value that was asked for or proposed, *leaks* one that nobody asked
for, and *strays* where it is against the person's own profile.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from personafit.raters.counting.mentions import Mention, find_mentions, says
from personafit.raters.counting.preferences import LEXICON, Preference
from personafit.raters.text import Span, sentences, stems

# -- memories in no history ---------------------------------------------------------------------------------------------

ENOUGH = 0.5  # the share of a claim's telling words that must have been told

_CLAIM = re.compile(
    r"\b(?:as|like) you (?:told|said|mentioned|asked|did)\b"
    r"|\byou(?:'ve| have)? (?:told me|mentioned|said)\b"
    r"|\bwhich you (?:told|mentioned)\b"
    r"|\bi (?:still )?(?:remember|recall)\b"
    r"|\b(?:last|previous) (?:time|week|month|year|night|summer|winter|spring|autumn|monday|tuesday|wednesday|thursday|friday|saturday|sunday|"
    r"booking|order|trip|visit|conversation|chat)\b"
    r"|\byou (?:usually|always|often|normally|typically|generally|tend to|regularly)\b"
    r"|\b(?:as|like|than) (?:usual|always|before|in the past)\b|\bas i have\b"
    r"|\byour (?:usual|past|previous|earlier|recent|last|other)\b"
    r"|\b(?:on|from|given|considering) your (?:\w+ )?(?:trip|history|habits|record|purchases|bookings|orders)\b"
    r"|\byou(?:'ve| have)? (?:already )?(?:bought|went|missed|loved|liked|enjoyed|disliked|hated|finished|ate|eaten|ordered|stayed|visited|booked|"
    r"watched|been coming|been going|had)\b"
    r"|\bsince (?:our last|your)\b|\bour last\b|\bas a (?:season|regular|long-standing|long-time|member|frequent)\b"
    r"|\byour \w+ trips are\b"
    r"|上次|上个月|上周|去年|您(?:曾|之前|以前|说过|提过|总是|一向)|我记得",
    re.IGNORECASE,
)
_CONSEQUENCE = re.compile(
    r",?\s+(?:so|therefore|hence)\b|，(?=那|所以|这次)|\s[–—-]\s|,\s(?=(?:i|i've|i'd|let's|here|how|should|shall|would|try)\b)",
    re.IGNORECASE,
)
_UNTELLING = frozenset(stems(LEXICON["untelling"]))


def invented_memories(text: str, given: str, heard: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where a text claims to remember what is neither in its context nor in what the user said."""
    told = frozenset(stems(given)).union(*(stems(one) for one in heard))
    for span in sentences(text):
        sentence = text[span.start : span.end]
        match = _CLAIM.search(sentence)
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
    end = _CONSEQUENCE.search(sentence, match.end())
    head = sentence[: match.start()]
    start = _CONSEQUENCE.search(head)
    return sentence[start.end() if start else 0 : end.start() if end else len(sentence)]


def _asks(sentence: str) -> bool:
    """Whether the claim is a question of its own, such as what the user usually does."""
    opener = re.match(r"\W*(?:what|which|how|when|where|do|did|have|are)\b", sentence, re.IGNORECASE)
    return bool(opener) and sentence.rstrip(" \"'”’)\n").endswith(("?", "？"))


# -- marks --------------------------------------------------------------------------------------------------------------

RULES = "counting-2"
"""Changes whenever a rule or a list of words does."""

Kind = Literal["covers", "contradicts", "reasks", "invents", "states", "leaks", "strays"]

_QUESTION = re.compile(r"[?？][\"'”’)\s]*$")
_REQUEST = re.compile(
    r"\b(?:let me know|please (?:tell|share|specify)|could you (?:tell|share)|tell me)\b", re.IGNORECASE
)
_OPENER = re.compile(
    r"\b(?:do|would|are|should|will|can|could) (?:you|it|there)\b|\b(?:which|what|how|when|where|any)\b|还是|吗|什么|几",
    re.IGNORECASE,
)
_CHOICE = re.compile(r"\bor\b|还是|或者", re.IGNORECASE)
_OPEN_LIST = re.compile(
    r"\bor (?:any|other|something|whatever)\b|\band (?:more|so on|others)\b|\betc\b", re.IGNORECASE
)
_PROPOSAL = re.compile(r"\b(?:how|what) about\b|\bsince you\b|怎么样", re.IGNORECASE)
_SPLIT_CHOICE = re.compile(r"\bor (?:is|are|would|should|do|does|shall) ", re.IGNORECASE)
_OFFER = re.compile(
    r"\b(?:would you like|do you want) me to\b|\bshall i\b|\bshould i (?:book|add|reserve|go ahead|proceed|confirm|send)\b",
    re.IGNORECASE,
)
_HYPOTHETICAL = re.compile(
    r"\bif (?:you|that|not)\b|\bunless\b|\balternatively\b|\bi (?:can|could) (?:also )?(?:switch|change|look)\b|\bnot your thing\b|\bother options\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Said:
    """One turn as the rules see it."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class Mark:
    """One thing counted."""

    turn: int
    kind: Kind
    path: str
    """The preference; empty for an invented memory."""
    value: str
    start: int
    end: int
    when: Literal["before", "after", ""] = ""
    """Of a coverage: before or after the user said it."""


@dataclass
class _Known:
    """What is on the table when a turn begins."""

    given: str
    said: set[tuple[str, str]] = field(default_factory=set)
    """(path, value) the user has named."""
    heard: list[str] = field(default_factory=list)
    """What the user has said so far."""
    asked: set[str] = field(default_factory=set)
    """Paths the assistant's last turn asked about or touched."""
    focus: str = ""
    """The domain spoken of last."""


def mark_turns(turns: Sequence[Said], preferences: Sequence[Preference], given: str) -> list[Mark]:
    """All marks of a dialogue, in order."""
    known = _Known(given)
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
        named = [
            d for d in dict.fromkeys(one.preference.domain for one in here) if words & _words_of(here, d)
        ]
        sure = [one.preference.domain for one in here if not _rivals(one, here)]
        about = named or sure[-1:] or ([known.focus] if known.focus else [])
        for one in here:
            rivals = _rivals(one, here)
            if one.implied and about and one.preference.domain not in about:
                continue
            if (
                not rivals
                or not about
                or one.preference.domain in about
                or not any(rival.preference.domain in about for rival in rivals)
            ):
                kept.append(one)
        if about:
            known.focus = about[-1]
    return kept


def _words_of(mentions: list[Mention], domain: str) -> frozenset[str]:
    return next(one.preference.domain_words for one in mentions if one.preference.domain == domain)


def _rivals(one: Mention, others: list[Mention]) -> list[Mention]:
    """Mentions of the same words for a preference in another domain."""
    return [
        other
        for other in others
        if other.preference.domain != one.preference.domain
        and other.start < one.end
        and one.start < other.end
    ]


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
                    when: Literal["before", "after"] = (
                        "after" if (path, one.value) in known.said else "before"
                    )
                    yield Mark(index, "covers", path, one.value, one.start, one.end, when)
            bad = [one for one in of_path if _is_against(one, known)]
            if bad and not good and not _HYPOTHETICAL.search(sentence):
                against.setdefault(path, []).extend(bad)
    for path, bad in against.items():
        preference = bad[0].preference
        # Of several values one is enough: a further one beside it is an addition, not a contradiction.
        if (
            preference.several
            and not preference.avoided
            and any(m.preference.path == path for m in covered.values())
        ):
            continue
        yield Mark(index, "contradicts", path, bad[0].value, bad[0].start, bad[0].end)
    for start, end in invented_memories(text, known.given, known.heard):
        yield Mark(index, "invents", "", "", start, end)
    known.asked = asked | {one.preference.path for one in mentions}


def _to_choose_from(text: str, of_path: list[Mention], sentence: str) -> bool:
    """Whether the person's own value stands among others to choose from: neither for nor against it."""
    named = [one for one in of_path if not one.negated]
    if {one.own for one in named} != {True, False}:
        return False
    between = text[named[0].end : named[-1].start]
    return bool(_CHOICE.search(between) or _OPEN_LIST.search(sentence))


def _is_against(one: Mention, known: _Known) -> bool:
    if one.preference.avoided:
        return one.own and not one.negated
    return not one.own and not one.negated and (one.preference.path, one.value) not in known.said


def _asked_about(
    sentence: str, here: list[Mention], preferences: Sequence[Preference], focus: str
) -> set[str]:
    """The preferences a sentence asks for: by name, or by a choice between values."""
    question = bool(_QUESTION.search(sentence))
    if not question and not _REQUEST.search(sentence):
        return set()
    opener = bool(_OPENER.search(sentence)) or not question
    offer = bool(_OFFER.search(sentence))
    choice = bool(_CHOICE.search(sentence))
    asked: set[str] = set()
    for preference in preferences:
        own = {one.value for one in here if one.preference is preference and one.own and not one.negated}
        other = {one.value for one in here if one.preference is preference and not one.own}
        choosing = choice and not _PROPOSAL.search(sentence) and (opener or _SPLIT_CHOICE.search(sentence))
        if (
            (other and (own or len(other) > 1))
            or (choosing and (own or other))
            or (
                not own
                and not other
                and opener
                and not offer
                and preference.cue
                and preference.cue.search(sentence)
            )
        ):
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
    return any(says(known.given, value) for value in preference.values)


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
