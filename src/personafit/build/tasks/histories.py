"""Whether a text may stand in a benchmark: a history shows every preference and goes against none; a wish gives none away.

The rules are those that count in dialogues, so what is held inferable here is what they find there.
"""

import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from personafit._hashing import draw
from personafit.build.asking import Target, Unfit
from personafit.build.bench import Bench, RequestBatch
from personafit.build.prompts import PROMPTS, WORDINGS
from personafit.build.quota import ask_after_trial
from personafit.build.sections import open_ontology
from personafit.build.step import ExpectedAsks
from personafit.build.tasks.ontology import Ontology, Profile, TaskTemplate
from personafit.build.tasks.profiles import StepOfTasks, draws_of, expected_domains
from personafit.people import render_facets
from personafit.raters.counting import Preference, Said, mark_turns, preferences_of
from personafit.raters.counting.preferences import find_mentions
from personafit.raters.text import stems
from personafit.store import Product

WORDS = (30, 260)  # of a history; Chinese characters count half
WISH_WORDS = (3, 45)
_MARKUP = re.compile(r"^[^\S\n]*(?:[-*#•]|\d+[.)])\s|\*\*|\[|\]|<|>|【|】", re.MULTILINE)
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


HISTORY = PROMPTS["task-history"]
TEMPLATE = "template:history-1"
MONTHS: dict[str, list[str]] = WORDINGS["history"]["months"]
ONCE: dict[str, list[str]] = WORDINGS["history"]["once"]
TWICE: dict[str, list[str]] = WORDINGS["history"]["twice"]


class Interaction(NamedTuple):
    """One preference as it showed in earlier conversations."""

    path: str
    months: list[str]
    """One month or two."""
    shown: str
    """What the person did, in words."""


def interactions(profile: Profile, domain: str, ontology: Ontology, seed: int) -> list[Interaction]:
    """The interactions of a person in a domain, in an order of its own for each person."""
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
    """The summary of a domain without a model: a sentence for each interaction."""
    sentences = []
    for one in interactions(profile, domain, ontology, seed):
        frames = (ONCE if len(one.months) == 1 else TWICE)[profile.language]
        frame = frames[draw(seed, profile.id, one.path, "frame", among=len(frames))]
        sentences.append(frame.format(first=one.months[0], last=one.months[-1], shown=one.shown))
    return ("" if profile.language == "zh" else " ").join(sentences)


LENGTHS = {
    "en": (60, 160),
    "zh": (100, 280),
}  # words or characters that are asked for; WORDS is what is accepted


class HistoriesStep(StepOfTasks):
    """A summary for each person and domain."""

    name = "histories"
    after = ("profiles",)
    prompts = (HISTORY,)

    def expected(self, bench: Bench) -> Iterator[ExpectedAsks]:
        """One ask for each person and domain."""
        yield ExpectedAsks("histories", bench.model(), expected_domains(bench), 350, 170)

    async def make(self, bench: Bench) -> None:
        """Write them, person after person."""
        ontology = open_ontology(bench.config)
        total = sum(1 for _ in _all(bench))

        def wanted() -> Iterator[Target]:
            return (_wanted(bench, ontology, *one) for one in _all(bench))

        answers = await ask_after_trial(bench, RequestBatch(bench.model(), wanted, total, "histories"))
        for (profile, domain, parent), answer in zip(_all(bench), answers, strict=True):
            if answer.text is None:
                bench.reject_reply(answer)
                self._write_template(bench, profile, domain, parent, ontology)
                continue
            product = Product(
                id=answer.product,
                kind="summary",
                text=answer.text,
                maker=answer.maker,
                about=profile.id,
                parents=[parent],
            )
            _write(bench, profile, domain, product)

    def _write_template(
        self, bench: Bench, profile: Profile, domain: str, parent: str, ontology: Ontology
    ) -> None:
        text = from_template(profile, domain, ontology, draws_of(bench))
        for fault, _ in history_faults(text, domain_preferences(profile, domain, ontology)):
            # Only with a user's own ontology: its phrases say something the rules read otherwise.
            bench.reject(f"{profile.id}/{domain}/template", fault, text, about=profile.id, by="rule:counting")
        product = Product(kind="summary", text=text, maker=TEMPLATE, about=profile.id, parents=[parent])
        bench.add(product)
        _write(bench, profile, domain, product)

    def card(self, bench: Bench) -> str:
        """Who wrote how many."""
        makers = Counter(row["maker"] == TEMPLATE for row in bench.read_rows("histories"))
        total = makers.total()
        return (
            f"## Histories\n\n{total:,} summaries of past conversations, one for each person and domain: {makers[False]:,} "
            f"written by a model from sampled interactions, {makers[True]:,} by a template. The counting rules find every "
            "preference in each and none gone against."
        )


def _all(bench: Bench) -> Iterator[tuple[Profile, str, str]]:
    """Every person with every domain they care about, and the id of the profile as a product."""
    rows = bench.read_rows("profiles", "lineage")
    for profile, row in zip(bench.read("profiles", Profile), rows, strict=True):
        for domain in profile.domains:
            yield profile, domain, row["profile"]


def _wanted(bench: Bench, ontology: Ontology, profile: Profile, domain: str, parent: str) -> Target:
    language = profile.language
    notes = [
        f"- {' / '.join(one.months)}: {one.shown}"
        for one in interactions(profile, domain, ontology, draws_of(bench))
    ]
    low, high = LENGTHS[language]
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
        read=partial(
            read_history, profile=profile, preferences=domain_preferences(profile, domain, ontology)
        ),
        about=profile.id,
        parents=(parent,),
        max_tokens=3 * WORDS[1],
    )


def _write(bench: Bench, profile: Profile, domain: str, product: Product) -> None:
    bench.write(product, "products")
    row = {"person": profile.id, "domain": domain, "text": product.text}
    bench.write({**row, "product": product.id, "maker": product.maker})
