"""Whether an answer names an attribute: a rule, without any model.

An answer names an attribute when a sentence of it, which the generic answer does not have, speaks to or of the reader (since
you, as a, given your, for somebody who, 您) and shares a content word with the attribute that the question does not bring
along. How well the rule does is measured in docs/measurements/responses.md. A reply that quietly acts on an attribute names nothing.
"""

import re
from functools import lru_cache

NAMING_VERSION = "1"
"""Of the whole rule; whatever makes it say otherwise raises it."""

_SENTENCE = re.compile(r"(?<=[.!?。！？；])\s*|\n+")
_WORD = re.compile(r"[a-z][a-z'’-]+")
_HAN = re.compile(r"[\u4e00-\u9fff]+")
# What turns a sentence about a subject into one about the reader.
_ASCRIBES = re.compile(
    r"\b(?:since|given|because|as|knowing|considering)\b(?:\s+\w+){0,3}?\s+(?:you|your)\b"
    r"|\bas\s+(?:an?|someone|somebody)\b"
    r"|\b(?:for|to|like)\s+(?:someone|somebody|people|a\s+person)\b"
    r"|\b(?:for|as)\s+an?\s+(?:\w+\s+){0,3}?(?:fan|lover|user|person|student|learner|beginner|developer|parent|reader)\b"
    r"|\byou(?:['’]re|\s+are|\s+(?:likely|may|might|probably|already|clearly|do|also|seem\s+to|tend\s+to))?"
    r"\s*(?:value|like|love|enjoy|prefer|want|appreciate|care|work|have|live|wear|play|teach|study|practi[cs]e|know)\b"
    r"|\byou(?:['’]re|\s+are)\s+(?:likely\s+|probably\s+)?(?:an?|coming|interested|someone|familiar)\b"
    r"|\byou\s+(?:may|might)\s+be\s+an?\b"
    r"|\byour\s+(?:\S+\s+){0,3}?(?:background|interest|interests|experience|perspective|love|work|shift|condition|budget|style)\b"
    r"|\bwell\s+done\b|\btailored\s+(?:for|to)\b|\b\w+-conscious\b|\bwith\s+your\b",
    re.IGNORECASE,
)
_HAN_ASCRIBES = re.compile(
    "考虑到你|考虑到您|作为|你平时|您平时|既然[你您]|因为[你您]|[你您](?:每|有|是|喜欢|平时)|我(?:天天|每天|是)"
)
# Words that say nothing of what an attribute is about.
_EMPTY = frozenset(
    "user users likely value values valued interested interest interests about their them they this that with from have having "
    "been being more most some such than into over other others like likes liked prefer prefers preference preferences enjoy "
    "enjoys appreciate appreciates appreciating want wants willing open able may might possibly perhaps especially particularly "
    "individual person people someone somebody thing things information knowledge good well better important significant certain "
    "specific various related using used uses does keep keeps even without would could also only very own given need needs "
    "requests their when what which while where tend tends seems mere rather in-depth potential strong field".split()
)
_SHORTEST = 4
_STEM = 6
_FEWEST_HAN = 2


def names_attribute(attribute: str, prompt: str, generic: str, personalized: str) -> bool:
    """Whether the personalized answer names the attribute and the generic one does not."""
    known = _sentences(generic)
    own = [one for one in _sentences(personalized) if one not in known]
    if _HAN.search(attribute):
        wanted = _pairs(attribute) - _pairs(prompt) - _pairs("用户喜欢的时候自己")
        spoken = [one for one in own if _HAN_ASCRIBES.search(one)]
        return any(len(wanted & _pairs(one)) >= _FEWEST_HAN for one in spoken)
    wanted = _stems(attribute) - _stems(prompt)
    earlier = {stem for one in known if _ASCRIBES.search(one) for stem in _stems(one)}
    return any(wanted & _stems(one) - earlier for one in own if _ASCRIBES.search(one))


@lru_cache(64)
def _sentences(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.strip() for one in _SENTENCE.split(text) if one and one.strip()))


@lru_cache(4096)
def _stems(text: str) -> frozenset[str]:
    words = (part for word in _WORD.findall(text.lower()) for part in re.split(r"['’-]", word))
    return frozenset(
        _stem(word)
        for word in words
        if len(word) >= _SHORTEST and word not in _EMPTY and _stem(word) not in _EMPTY
    )


def _stem(word: str) -> str:
    plain = re.sub(r"(?:ies|ing|ed|es|s|ly)$", "", word)
    return (plain if len(plain) >= _SHORTEST else word)[:_STEM]


@lru_cache(4096)
def _pairs(text: str) -> frozenset[str]:
    return frozenset(run[i : i + 2] for run in _HAN.findall(text) for i in range(len(run) - 1))
