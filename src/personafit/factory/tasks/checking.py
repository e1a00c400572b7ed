"""Whether a text may stand in a benchmark: a history shows every preference and goes against none; a wish gives none away.

The rules are those that count in dialogues, so what is held inferable here is what they find there.
"""

import re

from personafit.factory.asking import Unfit
from personafit.factory.tasks.definitions import Definition
from personafit.factory.tasks.ontology import Ontology
from personafit.factory.tasks.profile import Profile
from personafit.raters.dialogues.counting import Preference, Said, mark_turns, preferences_of
from personafit.raters.dialogues.counting.mentions import find_mentions
from personafit.raters.dialogues.counting.words import stems

WORDS = (30, 260)  # of a history; Chinese characters count half
WISH_WORDS = (3, 45)
_MARKUP = re.compile(r"^\s*(?:[-*#•]|\d+[.)])\s|\*\*|\[|\]|<|>|【|】", re.MULTILINE)
_ABOUT_ITSELF = re.compile(
    r"\b(?:here is|here's|this summary|summary of|user profile|preference list|as an ai)\b|以下是|这份总结|本摘要|用户画像",
    re.IGNORECASE,
)
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_CUT = re.compile(r"[.!?。！？”\"’')）]\s*$")
SHARED = {"en": 1, "zh": 2}  # telling words, or characters, a wish has in common with what it words anew


def domain_preferences(profile: Profile, domain: str, ontology: Ontology) -> tuple[Preference, ...]:
    """A person's preferences in a domain, as the counting rules take them."""
    facets = profile.preference_facets(ontology, domain)
    closed = {path: ontology.closed(profile.language)[path] for path in facets}
    return preferences_of(facets, list(facets), closed)


def history_faults(text: str, preferences: tuple[Preference, ...]) -> list[str]:
    """What of the preferences a history does not show, and what it says against them."""
    marks = mark_turns([Said("assistant", text)], preferences, "")
    shown = {(mark.path, mark.value) for mark in marks if mark.kind == "covers"}
    faults = [
        f"it does not show {one.name}: {value}"
        for one in preferences
        for value in one.values
        if (one.path, value) not in shown
    ]
    for mark in marks:
        if mark.kind == "contradicts":
            faults.append(f"it names '{mark.value}', which goes against {mark.path.partition('.')[2]}")
    return faults


def read_history(reply: str, profile: Profile, preferences: tuple[Preference, ...]) -> str:
    """A model's summary, if it does."""
    text = re.sub(r"\s*\n\s*", " ", reply.strip())
    _check_form(text, reply, profile.language, WORDS)
    if faults := history_faults(text, preferences):
        raise Unfit("; ".join(faults[:3]))
    return text


def read_wish(reply: str, profile: Profile, definition: Definition, ontology: Ontology) -> str:
    """A model's wording of a wish, if it is about the same thing and gives no preference away."""
    text = reply.strip().strip('"“”「」').strip()
    _check_form(text, text, profile.language, WISH_WORDS)
    told = set(find_leaks(text, profile, definition, ontology))
    if told:
        raise Unfit(f"it gives a preference away: {min(told)}")
    words = definition.wording(profile.language)
    about = {stem for stem in stems(f"{words.wish} {words.about}") if len(stem) > 3 or _CHINESE.match(stem)}
    if len(about & set(stems(text))) < SHARED[profile.language]:
        raise Unfit(f"it is not about this any more: {words.wish}")
    return text


def find_leaks(text: str, profile: Profile, definition: Definition, ontology: Ontology) -> list[str]:
    """The values of the person that a text names, in the task's domains."""
    return [
        mention.value
        for domain in definition.domains
        for mention in find_mentions(text, domain_preferences(profile, domain, ontology))
        if mention.own and not mention.implied
    ]


def _check_form(text: str, raw: str, language: str, bounds: tuple[int, int]) -> None:
    chinese = len(_CHINESE.findall(text))
    words = chinese // 2 if language == "zh" else len(text.split())
    if (chinese > len(text) // 3) != (language == "zh"):
        raise Unfit("it is not in the language that was asked for")
    if _MARKUP.search(raw):
        raise Unfit("it holds a list, a heading or brackets; plain sentences are wanted")
    if _ABOUT_ITSELF.search(text):
        raise Unfit("it speaks about itself instead of about the person")
    if not bounds[0] <= words <= bounds[1]:
        raise Unfit(f"it has {words} words, and {bounds[0]} to {bounds[1]} are wanted")
    if not _CUT.search(text):
        raise Unfit("it ends in the middle of a sentence")
