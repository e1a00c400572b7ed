"""The models' part of an error flow: matching and answering once for every way the stages before can be done.

All asks go through the engine, so the same command goes on where it was interrupted, and nothing is asked twice.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.extract.error_flow import Arm, AttributeLabel, Flow
from personafit.extract.merging import Floats, match_known
from personafit.extract.prompting import Wish, answer, keep, last_judgments, match
from personafit.extract.records import AttributeMatch, PromptAnswer
from personafit.extract.session import Session
from personafit.items.preference import CONTEXT, MIDDLE, PREFERENCES, shown_content
from personafit.items.reading import Part, Shown
from personafit.models import Model
from personafit.models.embeddings import Embedder
from personafit.people import Attribute, Person
from personafit.raters import Rater, make_rater, rating_job
from personafit.raters.rater import rater_lane
from personafit.store import Status, Store

BY_PEOPLE, BY_MODEL = False, True
Answers = Mapping[tuple[str, str, Literal["generic", "personalized"]], PromptAnswer]
Words = Callable[[AttributeLabel], str | None]
"""A judged attribute in the words of whoever did the first stage; None where they did not find it."""


async def run_flow(
    session: Session,
    pairs: Sequence[AttributeLabel],
    found: Mapping[str, Sequence[str]],
    languages: Mapping[str, str],
    matcher: str,
    embedder: Embedder,
    model: Model | None = None,
    judge: str = "",
) -> Flow:
    """Everything an error flow is computed from.

    `found` are the attributes an extractor gave each person. Without `model` no responses are made and the flow ends with
    what is relevant; `judge` is who says what a response serves.
    """
    gone = session.store.forgotten({pair.person for pair in pairs})
    pairs = [pair for pair in pairs if pair.person not in gone]
    if not pairs:
        raise UserError(
            "Everyone whose attributes were judged was forgotten (personafit data forget); nothing is left to follow."
        )
    same = _said_again(pairs, found, embedder)
    words: dict[bool, Words] = {
        BY_PEOPLE: lambda pair: pair.attribute,
        BY_MODEL: lambda pair: same.get((pair.person, pair.attribute)),
    }
    people = {arm: _people(pairs, found if arm else None, languages) for arm in words}
    wishes = {arm: _wishes(pairs, people[arm]) for arm in words}
    # Before anything is asked: forgetting finds asks by whose items they are about.
    datasets = {arm: keep(session.store, people[arm], wishes[arm]) for arm in words}
    matched = {arm: await match(session, matcher, people[arm], wishes[arm]) for arm in words}
    picked = {arm: _picked(matched[arm], people[arm]) for arm in words}
    reached = np.array([(pair.person, pair.attribute) in same for pair in pairs], dtype=bool)
    said = {}
    for arm in words:
        chosen = [(picked[arm][pair.person, pair.prompt], words[arm](pair)) for pair in pairs]
        said[arm] = np.array([np.nan if texts is None else float(text in texts) for texts, text in chosen])
    served: dict[Arm, Floats] = {}
    if model is not None:
        for arm in words:
            by_labels = _by_labels(pairs, matched[arm], people[arm], words[arm])
            for by_matcher, rows in ((BY_PEOPLE, by_labels), (BY_MODEL, matched[arm])):
                answers = await answer(session, model, datasets[arm], people[arm], wishes[arm], rows)
                served[arm, by_matcher] = await _served(session, pairs, list(answers), judge)
    return Flow(pairs, reached, said, served)


def _said_again(
    pairs: Sequence[AttributeLabel], found: Mapping[str, Sequence[str]], embedder: Embedder
) -> dict[tuple[str, str], str]:
    """By person and judged attribute, the found one that says the same."""
    same = {}
    for person in dict.fromkeys(pair.person for pair in pairs):
        judged = list(dict.fromkeys(pair.attribute for pair in pairs if pair.person == person))
        texts = list(found.get(person, ()))
        for text, place in zip(texts, match_known(texts, judged, embedder), strict=True):
            if place is not None:
                same[person, judged[place]] = text
    return same


def _people(
    pairs: Sequence[AttributeLabel], found: Mapping[str, Sequence[str]] | None, languages: Mapping[str, str]
) -> dict[str, Person]:
    """Everyone who asks, with what is believed of them: by people, or by the extractor."""
    people = {}
    for person in dict.fromkeys(pair.person for pair in pairs):
        judged = [pair.attribute for pair in pairs if pair.person == person]
        texts = dict.fromkeys(judged if found is None else found.get(person, ()))
        attributes = [Attribute(id=f"{person}-{number}", text=text) for number, text in enumerate(texts)]
        people[person] = Person(id=person, language=languages.get(person, "en"), attributes=attributes)
    return people


def _wishes(pairs: Sequence[AttributeLabel], people: Mapping[str, Person]) -> list[Wish]:
    asked = dict.fromkeys((pair.person, pair.prompt) for pair in pairs)
    return [
        Wish(
            f"{prompt}@{person}", prompt, person, prompt, tuple(one.text for one in people[person].attributes)
        )
        for person, prompt in asked
    ]


def _picked(
    matched: Sequence[AttributeMatch], people: Mapping[str, Person]
) -> dict[tuple[str, str], set[str] | None]:
    """By person and prompt the texts the matcher picked; None where it gave no answer."""
    picked: dict[tuple[str, str], set[str] | None] = {}
    for row in matched:
        texts = {one.id: one.text for one in people[row.person].attributes}
        answered = row.status in (Status.OK, Status.SKIPPED)  # skipped: there was nothing to pick from
        picked[row.person, row.prompt] = {texts[name] for name in row.attributes} if answered else None
    return picked


def _by_labels(
    pairs: Sequence[AttributeLabel],
    matched: Sequence[AttributeMatch],
    people: Mapping[str, Person],
    words: Words,
) -> list[AttributeMatch]:
    """The same rows with what people call relevant in place of what the matcher does."""
    wanted: dict[tuple[str, str], set[str | None]] = {}
    for pair in pairs:
        if pair.relevant:
            wanted.setdefault((pair.person, pair.prompt), set()).add(words(pair))
    rows = []
    for row in matched:
        relevant = wanted.get((row.person, row.prompt), set())
        chosen = [one.id for one in people[row.person].attributes if one.text in relevant]
        rows.append(row.model_copy(update={"attributes": chosen, "scores": {}, "status": Status.OK}))
    return rows


async def _served(
    session: Session, pairs: Sequence[AttributeLabel], answers: Sequence[PromptAnswer], judge: str
) -> Floats:
    """Whether the personalized response serves each judged attribute better than the generic one does."""
    texts = {(one.person, one.prompt, one.given): one for one in answers}
    rater = make_rater(judge, PREFERENCES)
    try:
        session.store.add_raters([rater.record])
        shown = _compared(pairs, texts, rater)
        judged = [Wish(one.about, one.prompt, one.person, one.prompt, ()) for one in shown.values()]
        keep(session.store, {}, judged)
        asked = {}
        for one in shown.values():
            for order in [(0, 1), (1, 0)] if rater.order_matters else [(0, 1)]:
                turned = replace(one, order=order)
                turned = replace(turned, place=turned.order_name if rater.order_matters else "")
                asked[rating_job(rater, turned).key] = turned
        lane = rater_lane(rater, asked.values(), len(asked))
        await session.carry([replace(lane, name=f"{rater.record.name} judges responses")])
        marks = _marks(session.store, list(asked))
    finally:
        await rater.close()
    return np.array([_better(pair, texts, shown, marks) for pair in pairs])


def _compared(pairs: Sequence[AttributeLabel], texts: Answers, rater: Rater) -> dict[tuple[str, str], Shown]:
    """What the judge is shown: the two responses, and every attribute that people judged."""
    shown = {}
    for person, prompt in dict.fromkeys((pair.person, pair.prompt) for pair in pairs):
        generic, personal = (texts[person, prompt, given] for given in ("generic", "personalized"))
        if generic.text is None or personal.text is None:
            continue
        # A list may hold the same words twice; a judge is asked about them once.
        judged = dict.fromkeys(one.attribute for one in pairs if (one.person, one.prompt) == (person, prompt))
        content = hash_text(person, prompt, generic.text, personal.text)
        answers = (generic.text, personal.text)
        parts = tuple(Part(f"flow/{content}", hash_text(person, text), text) for text in judged)
        shown[person, prompt] = Shown(
            question=rater.questions[0],
            about=f"flow/{content}",
            content=shown_content(content, prompt, answers, parts),
            person=person,
            prompt=prompt,
            parts=parts,
            texts=answers,
            context=CONTEXT,
        )
    return shown


def _marks(store: Store, keys: Sequence[str]) -> dict[tuple[str, str], list[float]]:
    """By item and attribute the marks beyond the middle, or the differences of scores."""
    found: dict[tuple[str, str], list[float]] = {}
    for row in last_judgments(store, keys):
        beyond = float(row.label) - MIDDLE if row.label is not None else float(row.value)
        found.setdefault((row.item, row.target), []).append(beyond)
    return found


def _better(
    pair: AttributeLabel,
    texts: Answers,
    shown: Mapping[tuple[str, str], Shown],
    marks: Mapping[tuple[str, str], list[float]],
) -> float:
    if texts[pair.person, pair.prompt, "personalized"].status == Status.SKIPPED:
        return 0.0  # nothing was chosen, so the generic response stands and serves nobody in particular
    compared = shown.get((pair.person, pair.prompt))
    beyond = marks.get((compared.about, hash_text(pair.person, pair.attribute))) if compared else None
    return float(np.mean(beyond) > 0) if beyond else float("nan")
