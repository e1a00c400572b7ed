"""Histories, and checks on the texts of tasks: a history shows every preference and contradicts none; a wish reveals none.

The rules are those that score dialogues, so whatever a history shows here is found there too.
"""

import re
from functools import partial
from typing import NamedTuple

from personafit._hashing import draw
from personafit.build.asking import WIDE, Target, Unfit, check_prose, unfit
from personafit.build.prompts import PROMPTS, WORDINGS
from personafit.build.tasks.ontology import Ontology, Profile, TaskTemplate
from personafit.people import render_facets
from personafit.raters.counting import Preference, Said, mark_turns, preferences_of
from personafit.raters.counting.preferences import find_mentions

WORDS = (30, 260)  # accepted length of a history; two Chinese characters count as a word
WISH_WORDS = (3, 45)
_MARKUP = re.compile(r"^[^\S\n]*(?:[-*#•]|\d+[.)])\s|\*\*|\[|\]|<|>|【|】", re.MULTILINE)
_ABOUT_ITSELF = re.compile(
    r"\b(?:here is|here's|this summary|summary of|user profile|preference list|as an ai)\b|以下是|这份总结|本摘要|用户画像",
    re.IGNORECASE,
)
_CUT = re.compile(r"[.!?。！？”\"’')）]\s*$")


def domain_preferences(profile: Profile, domain: str, ontology: Ontology) -> tuple[Preference, ...]:
    """Return a person's preferences in a domain, in the form the counting rules take."""
    facets = profile.preference_facets(ontology, domain)
    closed = {path: ontology.closed(profile.language)[path] for path in facets}
    return preferences_of(facets, list(facets), closed)


def history_faults(text: str, preferences: tuple[Preference, ...]) -> list[tuple[str, str]]:
    """Return the preferences a history does not show and those it contradicts, as sentences in English and Chinese."""
    marks = mark_turns([Said("assistant", text)], preferences, "")
    shown = {(mark.path, mark.value) for mark in marks if mark.kind == "covers"}
    faults = [
        (f"it does not show {one.name}: {value}", f"没有体现{value}")
        for one in preferences
        for value in one.values
        if (one.path, value) not in shown
    ]
    for mark in marks:
        if mark.kind == "contradicts":
            against = f"it names '{mark.value}', which goes against {mark.path.partition('.')[2]}"
            faults.append((against, f"提到了“{mark.value}”，与这个人的偏好相反"))
    return faults


def read_history(reply: str, profile: Profile, preferences: tuple[Preference, ...]) -> str:
    """Return a model's summary; raise Unfit if it fails a check."""
    text = re.sub(r"\s*\n\s*", " ", reply.strip())
    _check_form(text, reply, profile.language, WORDS)
    if faults := history_faults(text, preferences)[:3]:
        raise Unfit("; ".join(en for en, _ in faults), "；".join(zh for _, zh in faults))
    return text


def read_wish(reply: str, profile: Profile, definition: TaskTemplate, ontology: Ontology) -> str:
    """Return a model's wording of a wish; raise Unfit if it reveals a preference or fails a check."""
    text = reply.strip().strip('"“”「」').strip()
    _check_form(text, text, profile.language, WISH_WORDS)
    told = set(find_leaks(text, profile, definition, ontology))
    if told:
        raise unfit("preference-told", min(told))
    return text


def find_leaks(text: str, profile: Profile, definition: TaskTemplate, ontology: Ontology) -> list[str]:
    """Return the person's values that a text mentions, in the task's domains."""
    return [
        mention.value
        for domain in definition.domains
        for mention in find_mentions(text, domain_preferences(profile, domain, ontology))
        if mention.own and not mention.implied
    ]


def _check_form(text: str, raw: str, language: str, bounds: tuple[int, int]) -> None:
    words = len(WIDE.findall(text)) // 2 if language == "zh" else len(text.split())
    check_prose(text, language)
    if _MARKUP.search(raw):
        raise unfit("markup")
    if _ABOUT_ITSELF.search(text):
        raise unfit("about-itself")
    if not bounds[0] <= words <= bounds[1]:
        raise unfit("words", words, bounds[0], bounds[1], 2 * words, 2 * bounds[0], 2 * bounds[1])
    if not _CUT.search(text):
        raise unfit("breaks-off")


HISTORY = PROMPTS["task-history"]
MONTHS: dict[str, list[str]] = WORDINGS["history"]["months"]
ONCE: dict[str, list[str]] = WORDINGS["history"]["once"]
TWICE: dict[str, list[str]] = WORDINGS["history"]["twice"]


class Interaction(NamedTuple):
    """A preference as it showed in earlier conversations."""

    path: str
    months: list[str]
    shown: str
    """What the person did, as a phrase."""


def interactions(profile: Profile, domain: str, ontology: Ontology, seed: int) -> list[Interaction]:
    """Return the interactions of a person in a domain, in an order drawn per person."""
    found, names = [], MONTHS[profile.language]
    for attribute, values in profile.of(domain).items():
        path = f"{domain}.{attribute}"
        months = [draw(seed, profile.id, path, "month", among=12)]
        if draw(seed, profile.id, path, "twice", among=2):
            months.append((months[0] + 1 + draw(seed, profile.id, path, "later", among=11)) % 12)
        shown = ontology.attribute(path).shown(tuple(values), profile.language)
        found.append(Interaction(path, [names[month] for month in sorted(months)], shown))
    return sorted(found, key=lambda one: draw(seed, profile.id, one.path, "order", among=2**32))


def from_template(profile: Profile, domain: str, ontology: Ontology, seed: int) -> str:
    """Return the template summary of a domain: one sentence per interaction."""
    sentences = []
    for one in interactions(profile, domain, ontology, seed):
        frames = (ONCE if len(one.months) == 1 else TWICE)[profile.language]
        frame = frames[draw(seed, profile.id, one.path, "frame", among=len(frames))]
        sentences.append(frame.format(first=one.months[0], last=one.months[-1], shown=one.shown))
    return ("" if profile.language == "zh" else " ").join(sentences)


LENGTHS = {
    "en": (60, 160),
    "zh": (100, 280),
}  # requested words or characters; WORDS is what is accepted


def history_target(profile: Profile, domain: str, ontology: Ontology, seed: int, parent: str) -> Target:
    """Return the target for a summary; its stand-in is the template summary."""
    language = profile.language
    low, high = LENGTHS[language]
    notes = [
        f"- {' / '.join(one.months)}: {one.shown}" for one in interactions(profile, domain, ontology, seed)
    ]
    preferences = domain_preferences(profile, domain, ontology)
    return Target(
        f"{profile.id}/{domain}",
        HISTORY,
        language,
        {
            "domain": ontology.domains[domain].zh if language == "zh" else domain.lower(),
            "person": render_facets(profile.facets),
            "notes": "\n".join(notes),
            "low": low,
            "high": high,
        },
        kind="summary",
        read=partial(read_history, profile=profile, preferences=preferences),
        about=profile.id,
        parents=(parent,),
        max_tokens=3 * WORDS[1],
        stand_in=from_template(profile, domain, ontology, seed),
    )
