"""Choosing people: by how far they use an assistant as one, scored by a model, and by how much they differ from each other."""

from collections.abc import Iterator, Sequence

import numpy as np

from personafit._hashing import hash_text
from personafit.models import Model
from personafit.models.embeddings import Embedder, Vectors
from personafit.stages.asking import StageAsks, StagePrompt, StageQuestion, read_json
from personafit.stages.corpus import ConversationCorpus, ConversationEntry, user_texts
from personafit.stages.material import nonce, tagged
from personafit.stages.preparing import drop_people
from personafit.stages.profiles import language_of
from personafit.stages.session import Session
from personafit.stages.wording import VERSION, wording

LEAST_SCORE = 0.6
SHOWN, SHOWN_LETTERS = 12, 300  # messages of an account that are scored, and how much of each
LOOKED_AT = 17  # messages of a person that say what they talk about
BINS = 5  # from those who keep to one subject to those who talk about everything


def read_score(reply: str) -> float | None:
    """The score of a reply; None where there is none from 0 to 1."""
    value = read_json(reply)
    score = value.get("score") if isinstance(value, dict) else None
    if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1:
        return None
    return float(score)


ASSISTANT_USE = StageQuestion("assistant-use", VERSION, read_score)


async def drop_other_uses(session: Session, model: Model, corpus: ConversationCorpus, seed: int) -> str:
    """Leave out accounts scored below the bar; one that could not be scored stays, and is counted."""
    asker = StageAsks(session.store, model, ASSISTANT_USE)
    people = corpus.by_person()

    def prompts() -> Iterator[StagePrompt]:
        return (_prompt(corpus, person, entries, seed) for person, entries in people.items())

    await session.carry([asker.lane(prompts, len(people))])
    unscored = 0
    for prompt, answer in asker.answers(prompts()):
        if answer.value is None:
            unscored += 1
        elif answer.value < LEAST_SCORE:
            why = f"The account is used as an assistant to {answer.value:.2f} by {model.name}; {LEAST_SCORE} is needed."
            drop_people(corpus, {prompt.person}, "assistant", why)
    return f"{unscored} could not be scored and stay" if unscored else ""


def _prompt(
    corpus: ConversationCorpus, person: str, entries: Sequence[ConversationEntry], seed: int
) -> StagePrompt:
    words = wording(language_of(entries))
    texts = [text[:SHOWN_LETTERS] for text in _drawn(corpus, entries, SHOWN, seed)]
    mark = nonce(texts)
    material = "\n".join(tagged("message", mark, text) for text in texts)
    content = "\n\n".join([words.assistant_use, material, words.assistant_close])
    return StagePrompt(person, person, material, ({"role": "user", "content": content},), 32, words.again)


def _drawn(
    corpus: ConversationCorpus, entries: Sequence[ConversationEntry], count: int, seed: int
) -> list[str]:
    """Some messages of a person, drawn by hash from a few of their conversations."""
    drawn = sorted(entries, key=lambda entry: hash_text("conversation", entry.id, str(seed)))[:count]
    texts = [text for entry in drawn for text in user_texts(corpus.read(entry))]
    return sorted(texts, key=lambda text: hash_text("message", text, str(seed)))[:count]


def keep_diverse(corpus: ConversationCorpus, count: int, embedder: Embedder, seed: int) -> None:
    """Leave so many people: equally many of each fifth by how widely they range, in each the ones farthest apart."""
    people = corpus.by_person()
    if len(people) <= count:
        return
    names = list(people)
    centres, breadth = [], []
    for name in names:
        vectors = embedder.embed(_drawn(corpus, people[name], LOOKED_AT, seed))
        centres.append(_unit(vectors.mean(axis=0)))
        breadth.append(_spread(vectors))
    kept = {names[place] for place in _diverse(np.stack(centres), breadth, count)}
    drop_people(
        corpus, set(names) - kept, "diverse", f"It is not among the {count} people drawn for diversity."
    )


def _diverse(centres: Vectors, breadth: Sequence[float], count: int) -> list[int]:
    order = sorted(range(len(breadth)), key=lambda place: (round(breadth[place], 5), place))
    bins = [list(part) for part in np.array_split(order, min(BINS, count))]
    shares = [count // len(bins) + (number < count % len(bins)) for number in range(len(bins))]
    chosen: list[int] = []
    for members, share in zip(bins, shares, strict=True):
        chosen += _farthest(centres, members, share)
    rest = [place for place in order if place not in set(chosen)]
    return chosen + _farthest(centres, rest, count - len(chosen))


def _farthest(centres: Vectors, members: list[int], count: int) -> list[int]:
    """Greedy: begin with the one farthest from the middle, then always the one farthest from those chosen."""
    if count <= 0 or not members:
        return []
    likeness = centres[members] @ _unit(centres[members].mean(axis=0))
    chosen: list[int] = []
    while len(chosen) < min(count, len(members)):
        place = int(np.argmin(np.round(likeness, 5)))
        chosen.append(place)
        nearest = centres[members] @ centres[members[place]]
        likeness = nearest if len(chosen) == 1 else np.maximum(likeness, nearest)
        likeness[chosen] = np.inf
    return [members[place] for place in chosen]


def _spread(vectors: Vectors) -> float:
    """The mean cosine distance between two of the vectors."""
    count = len(vectors)
    if count < 2:
        return 0.0
    likeness = vectors @ vectors.T
    return float(1.0 - (likeness.sum() - np.trace(likeness)) / (count * (count - 1)))


def _unit(vector: Vectors) -> Vectors:
    length = float(np.linalg.norm(vector))
    return vector / length if length else vector
