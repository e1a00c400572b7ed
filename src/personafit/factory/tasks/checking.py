"""Whether a text may stand in a benchmark: a history shows every preference and goes against none; a wish gives none away.

The rules are those that count in dialogues, so what is held inferable here is what they find there.
"""

import re

from personafit.factory.asking import Unfit
from personafit.factory.tasks.ontology import Ontology, Profile, TaskTemplate
from personafit.raters.counting import Preference, Said, mark_turns, preferences_of
from personafit.raters.counting.mentions import find_mentions
from personafit.raters.text import stems

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


def history_faults(text: str, preferences: tuple[Preference, ...]) -> list[tuple[str, str]]:
    """What of the preferences a history does not show, and what it says against them, in English and Chinese."""
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
    """A model's summary, if it does."""
    text = re.sub(r"\s*\n\s*", " ", reply.strip())
    _check_form(text, reply, profile.language, WORDS)
    if faults := history_faults(text, preferences)[:3]:
        raise Unfit("; ".join(en for en, _ in faults), "；".join(zh for _, zh in faults))
    return text


def read_wish(reply: str, profile: Profile, definition: TaskTemplate, ontology: Ontology) -> str:
    """A model's wording of a wish, if it is about the same thing and gives no preference away."""
    text = reply.strip().strip('"“”「」').strip()
    _check_form(text, text, profile.language, WISH_WORDS)
    told = set(find_leaks(text, profile, definition, ontology))
    if told:
        raise Unfit(f"it gives a preference away: {min(told)}", f"说出了偏好：{min(told)}")
    words = definition.wording(profile.language)
    about = {stem for stem in stems(f"{words.wish} {words.about}") if len(stem) > 3 or _CHINESE.match(stem)}
    if len(about & set(stems(text))) < SHARED[profile.language]:
        raise Unfit(f"it is not about this any more: {words.wish}", f"说的已经不是这件事：{words.wish}")
    return text


def find_leaks(text: str, profile: Profile, definition: TaskTemplate, ontology: Ontology) -> list[str]:
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
        raise Unfit("it is not in the language that was asked for", "语言不对，请用中文")
    if _MARKUP.search(raw):
        raise Unfit(
            "it holds a list, a heading or brackets; plain sentences are wanted",
            "含有列表、标题或括号，只要普通的句子",
        )
    if _ABOUT_ITSELF.search(text):
        raise Unfit("it speaks about itself instead of about the person", "在谈论这段文字本身，而不是这个人")
    if not bounds[0] <= words <= bounds[1]:
        raise Unfit(
            f"it has {words} words, and {bounds[0]} to {bounds[1]} are wanted",
            f"现在约{2 * words}个字，应为{2 * bounds[0]}到{2 * bounds[1]}个字",
        )
    if not _CUT.search(text):
        raise Unfit("it ends in the middle of a sentence", "最后一句没有写完")
