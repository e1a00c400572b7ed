"""Rules that see how an answer falls short of a person: too much of the profile, none of it, intrusive, unhelpful, against it.

The rules are deliberately narrow, in English and Chinese, and each says what it saw, so that a count can be checked by reading;
docs/measurements/failure-modes.md says what they find on real data and how far they can be trusted. What they look for is data:
failure_rules.toml.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.resources import files
from itertools import chain
from operator import add
from statistics import median
from typing import Any

from personafit._hashing import hash_text
from personafit.contexts import People
from personafit.people import Person, facet_values

MODES = ("over-personalization", "generic", "uncomfortable", "unhelpful", "contradiction")

STRANGERS = 9  # other people whose profiles say how much any profile would overlap
COMMON = 0.05  # what this share of profiles says is no mark of one person
STUFFED, FAR_ABOVE = 0.12, 2.0  # own terms among the answer's, and how many times the other answer's
SHORT = 60  # columns: as many Latin letters, half as many Chinese characters

# Of text in lower case; ı and ſ have none of their own and are what `re.IGNORECASE` takes for i and s, at twice the time.
_WORD = re.compile(r"[a-zıſ][a-z0-9ıſ'’-]{2,}")
_CHINESE = re.compile(r"[\u4e00-\u9fff]{2,}")
_SENTENCE = re.compile(r"[^。！？!?；;\n.]*[。！？!?；;\n.]?")


def _words() -> dict[str, Any]:
    return tomllib.loads((files(__package__) / "failure_rules.toml").read_text(encoding="utf-8"))


def _any(words: Sequence[str]) -> str:
    return "|".join(words)


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_SAID = _words()
_THIRD_PERSON = _compiled(_any(_SAID["third_person"]))
_REFUSAL = _compiled(rf"^\W*(?:{_any(_SAID['refusals'])})")
_ILLNESS = _compiled(_any(_SAID["illnesses"]))
_INCOME = _compiled(rf"(?:{_any(_SAID['incomes'])})[^，。；,.;]{{0,8}}?(\d[\d,.]*)")
_POLITE = re.compile(_any(_SAID["no_negations"]))
_NEGATED = _compiled(_any(_SAID["negations"]))
_DIETS = [(_compiled(_any(diet["signs"])), diet["foods"]) for diet in _SAID["diets"]]


def _avoidance() -> tuple[re.Pattern[str], ...]:
    """What a profile says the person will not have: the object after (or, in Chinese, before) the cue, cut at the next turn."""
    zh = {name: _any(words) for name, words in _SAID["avoids"]["zh"].items()}
    en = {name: _any(words) for name, words in _SAID["avoids"]["en"].items()}
    han = r"[\u4e00-\u9fff]"
    end = rf"(?={zh['ends']}|[^\u4e00-\u9fff]|$)"
    return (
        # Two characters are mostly verbs, such as 互动.
        re.compile(rf"(?:{zh['cues']})(?:{zh['verbs']})?+(?:{zh['determiners']})?+({han}{{3,8}}?){end}"),
        re.compile(rf"(?:{zh['food_cues']})(?:{zh['food_verbs']})({han}{{2,6}}?){end}"),
        re.compile(rf"对({han}{{2,8}}?)(?:{zh['degrees']})?(?:{zh['aversions']})"),
        _compiled(
            rf"\b(?:{en['cues']})\s+(?:{en['determiners']})?([a-z'’-]+(?: [a-z'’-]+)?)"
            rf"(?=[^a-z' -]|$| (?:{en['ends']})\b)"
        ),
    )


_AVOIDANCE = _avoidance()

Failures = dict[str, str]
"""Failure mode to what the rule saw."""


@lru_cache(64)  # the rules look at an item's texts again and again
def terms(text: str) -> frozenset[str]:
    """What texts are compared by: words of three letters or more, and pairs of neighbouring Chinese characters."""
    lowered = text.lower()
    words = _WORD.findall(lowered)
    if lowered.isascii():
        return frozenset(words)
    return frozenset(chain(words, *(map(add, run, run[1:]) for run in _CHINESE.findall(lowered))))


@dataclass(frozen=True)
class Portrait:
    """What the rules need to know of one person."""

    own: frozenset[str]
    """Terms of the profile that few others' profiles have."""
    strangers: Sequence[frozenset[str]]
    """The same of some other people."""
    name: str | None
    age: str | None
    illnesses: frozenset[str]
    income: frozenset[str]
    avoided: frozenset[str]

    @cached_property
    def others(self) -> frozenset[str]:
        """The terms of all strangers together."""
        return frozenset().union(*self.strangers)


def portraits(people: People, seed: int = 0) -> dict[str, Portrait]:
    """A portrait of everyone; strangers are drawn by seed among people of the same language."""
    texts = {person: "\n".join(facet_values(people[person].facets)) for person in people}
    own: dict[str, frozenset[str]] = {}
    for language in {person.language for person in people.values()}:
        ids = people.of_language(language)
        said = {person: terms(texts[person]) for person in ids}
        counts = Counter(term for person in ids for term in said[person])
        most = max(1, int(COMMON * len(ids)))
        own |= {person: frozenset(t for t in said[person] if counts[t] <= most) for person in ids}
    return {person: _portrait(people, person, own, texts[person], seed) for person in people}


def _portrait(people: People, person: str, own: dict[str, frozenset[str]], text: str, seed: int) -> Portrait:
    known: Person = people[person]
    others = [other for other in people.of_language(known.language) if other != person]
    ranked = sorted(others, key=lambda other: hash_text("stranger", person, other, str(seed)))
    leaves = {path.split(".")[-1].lower(): str(value) for path, value in known.facets.items()}
    avoided = {match.lower() for cue in _AVOIDANCE for match in cue.findall(text)}
    avoided.update(food for diet, foods in _DIETS if diet.search(text) for food in foods)
    return Portrait(
        own=own[person],
        strangers=[own[other] for other in ranked[:STRANGERS]],
        name=leaves.get("name"),
        age=leaves.get("age"),
        illnesses=frozenset(word.lower() for word in _ILLNESS.findall(text)),
        income=frozenset(_INCOME.findall(text)),
        avoided=frozenset(avoided),
    )


def failures(portrait: Portrait, question: str, answer: str, other: str) -> Failures:
    """The failure modes the rules see in an answer, each with what gave it away; `other` is the answer beside it."""
    found = {
        "over-personalization": _stuffed(portrait, question, answer, other),
        "generic": _generic(portrait, question, answer),
        "uncomfortable": _uncomfortable(portrait, question, answer),
        "unhelpful": _unhelpful(answer),
        "contradiction": _contradiction(portrait, question, answer),
    }
    return {mode: seen for mode, seen in found.items() if seen}


def _stuffed(portrait: Portrait, question: str, answer: str, other: str) -> str:
    shares = []
    for text in (answer, other):
        said = _said(text, question)
        shares.append(len(said & portrait.own) / max(1, len(said)))
    if shares[0] < STUFFED or shares[0] < FAR_ABOVE * shares[1]:
        return ""
    return f"{shares[0]:.0%} of its terms are the profile's own, {shares[1]:.0%} of the other answer's"


def _generic(portrait: Portrait, question: str, answer: str) -> str:
    said = _said(answer, question)
    if not portrait.strangers or abs(_chinese(said) - _chinese(portrait.own)) > 0.5:
        return ""  # in another script than the profile nothing could overlap
    own, shared = len(said & portrait.own), said & portrait.others
    usual = median(len(shared & stranger) for stranger in portrait.strangers)
    return f"{own} of the profile's own terms, a stranger's gives {usual:g}" if own <= usual else ""


@lru_cache(16)
def _said(text: str, question: str) -> frozenset[str]:
    """What a text brings in that the question did not."""
    return terms(text) - terms(question)


@lru_cache(256)
def _chinese(said: frozenset[str]) -> float:
    if "".join(said).isascii():
        return 0.0
    return sum(map("\u4e00".__le__, said)) / max(1, len(said))


def _uncomfortable(portrait: Portrait, question: str, answer: str) -> str:
    users = (
        "用户" in answer or "user" in answer.casefold()
    )  # most answers speak of none, and this is seen at once
    if (
        users
        and (match := _THIRD_PERSON.search(answer))
        and not re.search(r"用户|\busers?\b", question, re.IGNORECASE)
    ):
        return f"speaks about the person: {match[0]}"
    if portrait.name and len(portrait.name) > 1 and portrait.name not in question:
        name = rf"\b{re.escape(portrait.name)}\b" if portrait.name.isascii() else re.escape(portrait.name)
        if re.search(name, answer):
            addressed = re.search(
                rf"{name}\s*[，,！!：:。]", answer
            )  # "Ann, you …" is meant kindly; reports tell it apart
            return f"{'addresses' if addressed else 'speaks of'} the person by name: {portrait.name}"
    age = rf"(?<!\d){re.escape(portrait.age or '')}\s?(?:岁|years? old|-year-old)"
    if portrait.age and portrait.age not in question and (match := re.search(age, answer)):
        return f"quotes the age: {match[0]}"
    for kind, facts in (("an illness", portrait.illnesses), ("an income", portrait.income)):
        for fact in sorted(facts):
            if fact in answer.lower() and fact not in question.lower():
                return f"quotes {kind}: {fact}"
    return ""


def _unhelpful(answer: str) -> str:
    plain = answer.strip()
    if len(plain) < SHORT and sum(2 if character > "⺀" else 1 for character in plain) < SHORT:
        return "very short"
    if match := _REFUSAL.search(answer):
        return f"refuses: {match[0].strip()}"
    sentences = (sentence for match in _SENTENCE.finditer(answer) if (sentence := match[0].strip()))
    return "only questions" if all(sentence.endswith(("?", "？")) for sentence in sentences) else ""


def _contradiction(portrait: Portrait, question: str, answer: str) -> str:
    lowered = answer.lower()
    for thing in sorted(portrait.avoided):
        if thing not in lowered or thing in question.lower():
            continue
        pattern = rf"\b{re.escape(thing)}" if thing.isascii() else re.escape(thing)
        for sentence in _SENTENCE.findall(answer):
            if re.search(pattern, sentence, re.IGNORECASE) and not _NEGATED.search(_POLITE.sub("", sentence)):
                return f"the profile rules out {thing}; the answer says: {sentence.strip()[:120]}"
    return ""
