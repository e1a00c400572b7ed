"""Rules that see how an answer treats a person: much of the profile, none of it, by name, intrusive, refused, against the profile.

The rules are deliberately narrow, in English and Chinese, and each says what it saw, so that a count can be checked by reading;
docs/measurements/failure-modes.md says what they find on real data and how far they can be trusted. What they look for is data:
failure_rules.toml. Heavy use of a profile and naming are descriptions: people often prefer such answers.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.resources import files
from itertools import chain
from operator import add
from statistics import median
from typing import Any

from personafit._hashing import hash_text
from personafit.contexts import People
from personafit.people import Person, facet_values, names_of

MODES = ("heavy profile use", "generic", "named", "intrusive", "refusal", "contradiction")

STRANGERS = 9  # other people whose profiles say how much any profile would overlap
COMMON = 0.05  # what this share of profiles says is no mark of one person
HEAVY, FAR_ABOVE = 0.12, 2.0  # own terms among the answer's, and how many times the other answer's
FACTS = 3  # statements of the profile that an answer takes up before its use is called heavy
ENOUGH = 40  # terms an answer must bring along before their absence from the profile says anything

# Of text in lower case; ı and ſ have none of their own and are what `re.IGNORECASE` takes for i and s, at twice the time.
_WORD = re.compile(r"[a-zıſ][a-z0-9ıſ'’-]{2,}")
_CHINESE = re.compile(r"[\u4e00-\u9fff]{2,}")
_SENTENCE = re.compile(r"[^。！？!?；;\n.]*[。！？!?；;\n.]?")
_STATEMENT = re.compile(r"[。！？!?；;\n.，,]+")


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
_INCOME = _compiled(rf"(?:{_any(_SAID['incomes'])})[^，。；,.;]{{0,8}}?(\d[\d,.]{{2,}}\d)")
_OF_READER = {language: re.compile(_any(said)) for language, said in _SAID["of_reader"].items()}
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
    facts: Sequence[frozenset[str]]
    """The own terms of each statement of the profile that has two or more."""
    names: Sequence[str]
    age: str | None
    illnesses: frozenset[str]
    income: frozenset[str]
    avoided: frozenset[str]

    @cached_property
    def others(self) -> frozenset[str]:
        """The terms of all strangers together."""
        return frozenset().union(*self.strangers)


def portraits(people: People, wanted: Collection[str], seed: int = 0) -> dict[str, Portrait]:
    """A portrait of everyone wanted; strangers are those who follow in a seeded order of the people of the same language."""
    found: dict[str, Portrait] = {}
    for language in {person.language for person in people.values()}:
        ids = sorted(
            people.of_language(language), key=lambda person: hash_text("stranger", person, str(seed))
        )
        texts = {person: "\n".join(facet_values(people[person].facets)) for person in ids}
        said = {person: terms(text) for person, text in texts.items()}
        counts = Counter(chain.from_iterable(said.values()))
        most = max(1, int(COMMON * len(ids)))
        own = [frozenset(t for t in said[person] if counts[t] <= most) for person in ids]
        ring, strangers = own * 2, min(STRANGERS, len(ids) - 1)
        for place, person in enumerate(ids):
            if person in wanted:
                others = ring[place + 1 : place + 1 + strangers]
                found[person] = _portrait(people[person], texts[person], own[place], others)
    return found


def _portrait(known: Person, text: str, own: frozenset[str], strangers: Sequence[frozenset[str]]) -> Portrait:
    leaves = {path.split(".")[-1].lower(): str(value) for path, value in known.facets.items()}
    statements = (terms(part) & own for part in _STATEMENT.split(text))
    avoided = {match.lower() for cue in _AVOIDANCE for match in cue.findall(text)}
    avoided.update(food for diet, foods in _DIETS if diet.search(text) for food in foods)
    return Portrait(
        own=own,
        strangers=strangers,
        facts=[fact for fact in statements if len(fact) > 1],
        names=names_of(known.facets),
        age=leaves.get("age"),
        illnesses=frozenset(word.lower() for word in _ILLNESS.findall(text)),
        income=frozenset(_INCOME.findall(text)),
        avoided=frozenset(avoided),
    )


def failures(portrait: Portrait, question: str, answer: str, other: str) -> Failures:
    """The failure modes the rules see in an answer, each with what gave it away; `other` is the answer beside it."""
    found = {
        "heavy profile use": _heavy(portrait, question, answer, other),
        "generic": _generic(portrait, question, answer),
        "named": _named(portrait, question, answer),
        "intrusive": _intrusive(portrait, question, answer),
        "refusal": _refusal(answer),
        "contradiction": _contradiction(portrait, question, answer),
    }
    return {mode: seen for mode, seen in found.items() if seen}


def _heavy(portrait: Portrait, question: str, answer: str, other: str) -> str:
    said = _said(answer, question)
    facts = sum(len(fact & said) > 1 for fact in portrait.facts)
    if facts < FACTS:
        return ""
    shares = [len(one & portrait.own) / max(1, len(one)) for one in (said, _said(other, question))]
    if shares[0] < HEAVY or shares[0] < FAR_ABOVE * shares[1]:
        return ""
    return (
        f"takes up {facts} statements of the profile; {shares[0]:.0%} of its terms are the profile's own, "
        f"{shares[1]:.0%} of the other answer's"
    )


def _generic(portrait: Portrait, question: str, answer: str) -> str:
    said = _said(answer, question)
    if len(said) < ENOUGH or not portrait.strangers:
        return ""
    own, shared = len(said & portrait.own), said & portrait.others
    usual = median(len(shared & stranger) for stranger in portrait.strangers)
    if own > usual or _speaks_to_reader(answer.lower()):
        return ""
    if abs(_chinese(said) - _chinese(portrait.own)) > 0.5:
        return ""  # in another script than the profile nothing could overlap
    return f"{own} of the profile's own terms, a stranger's gives {usual:g}"


def _speaks_to_reader(lowered: str) -> bool:
    chinese = not lowered.isascii() and _OF_READER["zh"].search(lowered)
    return bool(chinese or _OF_READER["en"].search(lowered))


@lru_cache(16)
def _said(text: str, question: str) -> frozenset[str]:
    """What a text brings in that the question did not."""
    return terms(text) - terms(question)


@lru_cache(256)
def _chinese(said: frozenset[str]) -> float:
    if "".join(said).isascii():
        return 0.0
    return sum(map("\u4e00".__le__, said)) / max(1, len(said))


def _named(portrait: Portrait, question: str, answer: str) -> str:
    for name in portrait.names:
        pattern = rf"\b{re.escape(name)}\b" if name.isascii() else re.escape(name)
        if re.search(pattern, answer) and not re.search(pattern, question, re.IGNORECASE):
            return f"names the person: {name}"
    return ""


def _intrusive(portrait: Portrait, question: str, answer: str) -> str:
    users = "用户" in answer or "user" in answer.casefold()  # most answers speak of none
    if (
        users
        and (match := _THIRD_PERSON.search(answer))
        and not re.search(r"用户|\busers?\b", question, re.IGNORECASE)
    ):
        return f"speaks about the person: {match[0]}"
    age = rf"(?<!\d){re.escape(portrait.age or '')}\s?(?:岁|years? old|-year-old)"
    if portrait.age and portrait.age not in question and (match := re.search(age, answer)):
        return f"quotes the age: {match[0]}"
    for kind, facts in (("an illness", portrait.illnesses), ("an income", portrait.income)):
        for fact in sorted(facts):
            if fact in answer.lower() and fact not in question.lower():
                return f"quotes {kind}: {fact}"
    return ""


def _refusal(answer: str) -> str:
    match = _REFUSAL.search(answer)
    return f"refuses: {match[0].strip()}" if match else ""


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
