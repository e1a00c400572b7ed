"""Error flow: how much each stage between conversations and a response loses when a model does it instead of people.

The end result is whether a response serves the relevant attributes: the F1 of the attributes that the response serves against
those that people call relevant. With people at every stage, the first yields the true attributes, the second their labels of
relevance, the third a response that serves exactly what it was given, so F1 is 1 by construction. Then models take over the
stages one after the other, and the drop in F1 is what each stage loses.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.extract.asking import Session
from personafit.extract.merging import Floats, match_known
from personafit.extract.prompting import Wish, answer, keep, last_judgments, match
from personafit.extract.records import AttributeMatch, PromptAnswer
from personafit.items.preference import CONTEXT, MIDDLE, PREFERENCES, shown_content
from personafit.items.reading import Part, Shown
from personafit.models import Model
from personafit.models.embeddings import Embedder
from personafit.people import Attribute, Person
from personafit.raters import Rater, make_rater, rating_job
from personafit.raters.rater import rater_lane
from personafit.statistics import Estimate
from personafit.statistics.detection import detection, detection_difference
from personafit.store import Status, Store

STAGES = ("attributes", "relevance", "response")
Arm = tuple[bool, ...]
"""For each stage, whether a model does it."""


@dataclass(frozen=True)
class AttributeLabel:
    """People's label of whether an attribute of a person is relevant to a prompt."""

    person: str
    prompt: str
    attribute: str
    relevant: bool


@dataclass(frozen=True)
class Flow:
    """The outcome of every pair at every stage; nan if a model gave no answer."""

    pairs: Sequence[AttributeLabel]
    found: NDArray[np.bool_]
    """Whether the extractor found it."""
    said: Mapping[bool, Floats]
    """Whether the matcher calls it relevant, with the attributes from people (False) or the extractor (True)."""
    served: Mapping[Arm, Floats] = field(default_factory=dict)
    """Whether the response serves it, by who did the first two stages; empty if no responses were made."""

    @property
    def stages(self) -> tuple[str, ...]:
        """The stages that are evaluated."""
        return STAGES if self.served else STAGES[:2]

    def used(self, arm: Arm) -> Floats:
        """Return whether each attribute is used in the end: 1, 0, or nan."""
        by_extractor, by_matcher = arm[0], arm[1]
        if len(arm) > 2 and arm[2]:
            return np.asarray(self.served[by_extractor, by_matcher], dtype=np.float64)
        relevant = np.array([pair.relevant for pair in self.pairs], dtype=np.float64)
        chosen = self.said[by_extractor] if by_matcher else relevant
        # An attribute that was not found needs no answer.
        return np.where(self.found, chosen, 0.0) if by_extractor else np.asarray(chosen, dtype=np.float64)


@dataclass(frozen=True)
class FlowStep:
    """The end-to-end F1 with some stages done by models, and the change due to the last of them."""

    stage: str | None
    arm: Arm
    f1: Estimate
    change: Estimate | None


@dataclass(frozen=True)
class FlowFigures:
    """All results of an error flow."""

    steps: list[FlowStep]
    """From people at all stages to models at all stages, in pipeline order."""
    lost_alone: dict[str, Estimate]
    """F1 lost if a model does only this stage."""
    coverage: float
    """Share of pairs that have an answer at every stage; the others are excluded throughout."""


def trace(flow: Flow) -> FlowFigures:
    """Compute all results, on the pairs that have an answer in every arm."""
    count = len(flow.stages)
    used = {arm: flow.used(arm) for arm in product((False, True), repeat=count)}
    whole = np.all([np.isfinite(values) for values in used.values()], axis=0)
    kept = [pair for pair, keep in zip(flow.pairs, whole, strict=True) if keep]
    truth = np.array([pair.relevant for pair in kept], dtype=bool)
    people, prompts = [pair.person for pair in kept], [pair.prompt for pair in kept]
    said = {arm: values[whole] == 1 for arm, values in used.items()}

    def changed(before: Arm, after: Arm) -> Estimate:
        return detection_difference(said[after], said[before], truth, "f1", people, prompts)

    nobody = (False,) * count
    certain = Estimate(1.0, None, None, len(kept), len(set(people)), "1 by construction")
    arms = [tuple(place < done for place in range(count)) for done in range(count + 1)]
    steps = [
        FlowStep(
            flow.stages[done - 1] if done else None,
            arm,
            detection(said[arm], truth, "f1", people, prompts) if done else certain,
            changed(arms[done - 1], arm) if done else None,
        )
        for done, arm in enumerate(arms)
    ]
    only = {stage: tuple(one == stage for one in flow.stages) for stage in flow.stages}
    return FlowFigures(
        steps=steps,
        lost_alone={stage: changed(arm, nobody) for stage, arm in only.items()},
        coverage=float(whole.mean()) if len(whole) else 0.0,
    )


BY_PEOPLE, BY_MODEL = False, True
Answers = Mapping[tuple[str, str, Literal["generic", "personalized"]], PromptAnswer]
Words = Callable[[AttributeLabel], str | None]
"""Returns the wording of a judged attribute from whoever did the first stage; None if it was not found."""


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
    """Run every arm of an error flow and return its outcomes.

    `found` are the extracted attributes of each person. Without `model` no responses are made and the flow ends with
    relevance; `judge` is the rater of what a response serves.
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
    # Before any ask, since forgetting finds asks by the owners of their items.
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
    """Return the equivalent found attribute by person and judged attribute."""
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
    """Return the people who ask, with attributes from people's labels, or from the extractor if `found` is given."""
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
    """Return the texts the matcher picked by person and prompt; None if it gave no answer."""
    picked: dict[tuple[str, str], set[str] | None] = {}
    for row in matched:
        texts = {one.id: one.text for one in people[row.person].attributes}
        answered = row.status in (Status.OK, Status.SKIPPED)  # skipped: the person has no attributes
        picked[row.person, row.prompt] = {texts[name] for name in row.attributes} if answered else None
    return picked


def _by_labels(
    pairs: Sequence[AttributeLabel],
    matched: Sequence[AttributeMatch],
    people: Mapping[str, Person],
    words: Words,
) -> list[AttributeMatch]:
    """Return the matches with people's labels of relevance in place of the matcher's picks."""
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
    """Return whether the personalized response serves each judged attribute better than the generic one does."""
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
    """Return what the judge is shown: the two responses, and every attribute with a label."""
    shown = {}
    for person, prompt in dict.fromkeys((pair.person, pair.prompt) for pair in pairs):
        generic, personal = (texts[person, prompt, given] for given in ("generic", "personalized"))
        if generic.text is None or personal.text is None:
            continue
        # Duplicate attributes are judged once.
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
    """Return ratings relative to the middle of the scale, or differences of scores, by item and attribute."""
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
        return 0.0  # no attribute was chosen, so the generic response stands and serves none
    compared = shown.get((pair.person, pair.prompt))
    beyond = marks.get((compared.about, hash_text(pair.person, pair.attribute))) if compared else None
    return float(np.mean(beyond) > 0) if beyond else float("nan")
