"""The last two stages: which attributes are relevant to a prompt, and a personalized answer beside a generic one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlalchemy import Row, select

from personafit._errors import UserError, located
from personafit._hashing import content_hash, hash_text
from personafit.contexts import AttributesContext, People, make_context
from personafit.engine import Lane, check_budget
from personafit.extract.asking import Session
from personafit.extract.reading import read_objects
from personafit.extract.records import AttributeMatch, PromptAnswer
from personafit.items.reading import Part, Shown
from personafit.items.relevance import ATTRIBUTES, CONTEXTS, EMPTY, RELEVANT_GRADES, YES, list_asks
from personafit.models import Model
from personafit.people import Person
from personafit.people.redaction import redacted
from personafit.raters import Rater, make_rater, rating_job
from personafit.raters.rater import rater_lane
from personafit.simulate import Answering
from personafit.store import Item, Status, Store
from personafit.store import tables as t

GIVEN = "attributes:matched"
_FIELDS = ("prompt", "question", "text")


@dataclass(frozen=True)
class PromptLine:
    """A prompt of the prompts file; one without a person is asked for everyone."""

    id: str
    text: str
    person: str | None


@dataclass(frozen=True)
class Wish:
    """A prompt asked by one person, with the person's attributes."""

    id: str
    prompt_id: str
    person: str
    prompt: str
    known: tuple[str, ...]


def read_prompts(path: Path, redacting: bool) -> list[PromptLine]:
    """Read the prompts of a JSONL file; id and person are optional."""
    found: dict[str, PromptLine] = {}
    for number, row in enumerate(read_objects(path), 1):
        text = next((row[name] for name in _FIELDS if isinstance(row.get(name), str)), "").strip()
        if not text:
            raise UserError(f"{located(path, number, 'prompt')} is missing or empty; write what is asked.")
        name, person = str(row.get("id") or f"prompt-{number}"), row.get("person")
        if name in found:
            raise UserError(f"{located(path, number, 'id')}: {name} is taken; ids of prompts must differ.")
        text = redacted(text) if redacting else text
        found[name] = PromptLine(name, text, None if person is None else str(person))
    if not found:
        raise UserError(f"{path} holds no prompts; write one JSON object with a prompt on each line.")
    return list(found.values())


def wishes(prompts: Sequence[PromptLine], people: Mapping[str, Person]) -> list[Wish]:
    """Return every prompt for each person who asks it."""
    known = {
        name: tuple(dict.fromkeys(one.text for one in person.attributes)) for name, person in people.items()
    }
    return [
        Wish(f"{asked.id}@{name}", asked.id, name, asked.text, known[name])
        for asked in prompts
        for name in people
        if asked.person in (None, name)
    ]


def keep(store: Store, people: Mapping[str, Person], wanted: Sequence[Wish]) -> str:
    """Store people and prompts as a data set, so that answering and forgetting find them; return its name."""
    hashed = content_hash([[p.version for p in people.values()], [[w.id, w.prompt] for w in wanted]])
    dataset = f"stages@{hashed[:12]}"
    if not store.has_dataset(dataset):
        store.begin_dataset(dataset, "stages", {"name": "stages", "notes": [], "forgotten": 0})
        store.add_people(dataset, people.values())
        items = [Item(id=w.id, kind="prompt", person=w.person, prompt=w.prompt, products=[]) for w in wanted]
        store.add_items(dataset, enumerate(items))
        store.finish_dataset(dataset)
    return dataset


async def match(
    session: Session, spec: str, people: Mapping[str, Person], wanted: Sequence[Wish]
) -> list[AttributeMatch]:
    """Ask a relevance rater which attributes are relevant to each prompt."""
    rater = make_rater(spec, ATTRIBUTES, people)
    check_budget(session.budget, [(spec, rater)])
    try:
        session.store.add_raters([rater.record])
        matching = Matching(session.store, rater, wanted)
        await session.carry([matching.lane()])
        picked = matching.picked()
    finally:
        await rater.close()
    return [_matched(wish, people[wish.person], spec, picked.get(wish.id)) for wish in wanted]


def _matched(
    wish: Wish, person: Person, spec: str, picked: Mapping[str, float | None] | None
) -> AttributeMatch:
    row = AttributeMatch(person=wish.person, prompt=wish.prompt_id, question=wish.prompt, matcher=spec)
    if not wish.known:
        row.status, row.reason = Status.SKIPPED, "Nothing is known of the person."
    elif picked is None:
        row.status = Status.UNPARSED
        row.reason = (
            "The matcher gave no answer that could be read; failed asks are tried again by the same command."
        )
    else:
        ids = {one.text: one.id for one in person.attributes}
        chosen = [text for text in wish.known if text in picked]
        row.attributes = [ids[text] for text in chosen]
        row.scores = {ids[text]: score for text in chosen if (score := picked[text]) is not None}
    return row


async def answer(
    session: Session,
    model: Model,
    dataset: str,
    people: Mapping[str, Person],
    wanted: Sequence[Wish],
    matched: Sequence[AttributeMatch],
) -> Iterator[PromptAnswer]:
    """Answer every prompt generically, and with the relevant attributes if there are any."""
    texts = {one.id: one.text for person in people.values() for one in person.attributes}
    chosen = {
        wish.id: tuple(texts[name] for name in row.attributes)
        for wish, row in zip(wanted, matched, strict=True)
        if row.attributes
    }
    everyone = dict(people)
    generic = Answering(session.store, dataset, everyone, model, [make_context("none", People(everyone), 0)])
    personal = Answering(
        session.store, dataset, everyone, model, [AttributesContext(GIVEN, chosen)], frozenset(chosen)
    )
    lanes = [replace(generic.lane(), name=f"{model.name}: generic answers")]
    if chosen:
        lanes.append(replace(personal.lane(), name=f"{model.name}: personalized answers"))
    await session.carry(lanes)
    texts_of = {item.id: made.get("none") for item, made in generic.answers()}
    personal_of = {item.id: made.get(GIVEN) for item, made in personal.answers()} if chosen else {}
    return _answered(wanted, matched, texts_of, personal_of, model.name)


def _answered(
    wanted: Sequence[Wish],
    matched: Sequence[AttributeMatch],
    generic: Mapping[str, str | None],
    personal: Mapping[str, str | None],
    system: str,
) -> Iterator[PromptAnswer]:
    for wish, row in zip(wanted, matched, strict=True):
        said = {"person": wish.person, "prompt": wish.prompt_id, "question": wish.prompt, "system": system}
        plain = PromptAnswer(given="generic", text=generic.get(wish.id), **said)
        told = PromptAnswer(
            given="personalized", text=personal.get(wish.id), attributes=row.attributes, **said
        )
        if not row.attributes:
            told.status = Status.SKIPPED
            told.reason = row.reason or "Nothing known of the person matters here; the generic answer stands."
        for one in (plain, told):
            if one.text is None and one.status == Status.OK:
                one.status = Status.FAILED
                one.reason = "The model gave no answer; failed asks are tried again by the same command."
            yield one


class Matching:
    """A rater's selection of relevant attributes for many prompts."""

    def __init__(self, store: Store, rater: Rater, wanted: Sequence[Wish]) -> None:
        self._store = store
        self._rater = rater
        self._listings = {one.id: _listings(one, rater) for one in wanted}
        self._shown = [one for group in self._listings.values() for one in group]

    def lane(self) -> Lane:
        """Return the lane of all asks."""
        lane = rater_lane(self._rater, self._shown, len(self._shown))
        return replace(lane, name=f"{self._rater.record.name} matches")

    def picked(self) -> dict[str, dict[str, float | None]]:
        """Return the relevant attributes with their scores by prompt; a prompt without a complete answer is absent."""
        rows = last_judgments(self._store, [rating_job(self._rater, one).key for one in self._shown])
        said: dict[str, tuple[str | None, float | None]] = {row.item: (row.label, row.value) for row in rows}
        if any(label is None for label, _ in said.values()):
            raise UserError(
                f"{self._rater.record.name} gives scores and no answers, so nothing says what it picks; match with a rater that "
                "answers, such as list:openai:MODEL@URL or fitted:DIR."
            )
        chosen: dict[str, dict[str, float | None]] = {}
        for name, listings in self._listings.items():
            candidates = [one for listing in listings for one in listing.parts]
            if all(one.item in said for one in candidates):
                chosen[name] = {
                    one.text: said[one.item][1]
                    for one in candidates
                    if said[one.item][0] in (YES, *RELEVANT_GRADES)
                }
        return chosen


def last_judgments(store: Store, keys: Sequence[str]) -> list[Row[Any]]:
    """Return item, target, label and value of the judgments of each job's last ask."""
    asks = [hash_text(key, str(state.generation)) for key, state in store.job_states(keys).items()]
    judgment = t.judgments.c
    query = select(judgment.item, judgment.target, judgment.label, judgment.value)
    return store.rows_among(query.where(judgment.status == Status.OK), judgment.ask, asks)


def _listings(one: Wish, rater: Rater) -> list[Shown]:
    parts = tuple(
        Part(
            f"{one.id}#{number}", "", text, None, hash_text(one.prompt, text), None if text.strip() else EMPTY
        )
        for number, text in enumerate(one.known)
    )
    question = rater.questions[0]
    shown = Shown(question, one.id, "", one.person, one.prompt, parts, context=CONTEXTS["none"])
    return list_asks(shown, rater.most_parts)
