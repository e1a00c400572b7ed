"""Memories in no history: sentences that claim to know something of the user's past, held against what was really told."""

import re
from collections.abc import Iterator, Sequence

from personafit.raters.dialogues.counting.words import sentences, stems

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
_EMPTY = frozenset(
    stems(
        "a an the and or but so as of in on at to for from with by about into over than then that this these those it its is are was were be been "
        "being have has had having do does did done can could will would shall should may might must not no yes you your yours i me my we our us "
        "he she they them their her his who which what when where how why if because since given based considering like liked love loved enjoy "
        "enjoyed prefer preferred prefers usual usually always often normally typically generally tend regularly last time week month year night "
        "previous past earlier recent before told said mention mentioned ask asked remember recall still already again also too very much more "
        "most many some any all each every other another same similar new good great nice right well just only even really quite there here one "
        "go going went come take took took get got make made let look looked looking find found choose chose chosen pick picked keep kept add "
        "added know knew see saw think want wanted need needed try history preference preferences conversation chat talk spoke by way ve ll re s t d m "
        "friday monday tuesday wednesday thursday saturday sunday our as whenever while once twice times 上 次 个 月 您 说 我 记 得 的 了 过 在 就 那 这 是 请"
    )
)


def invented_memories(text: str, given: str, heard: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where a text claims to remember what is neither in its context nor in what the user said."""
    told = frozenset(stems(given)).union(*(stems(one) for one in heard))
    for span in sentences(text):
        sentence = text[span.start : span.end]
        match = _CLAIM.search(sentence)
        if match is None or _asks(sentence):
            continue
        claim = _claim(sentence, match)
        telling = [word for word in stems(claim) if word not in _EMPTY]
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
