"""Filtering of real logs for extraction: named steps, each of which excludes people or conversations with a reason.

Real logs contain bots, one-off visitors and accounts that are not used as an assistant. Each step counts what came in and what was
left; excluded conversations stay in conversations.jsonl with the step's name and a sentence. People are selected by a model's score
of how far they use it as an assistant, and by how much they differ from each other.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.extract.asking import (
    VERSION,
    Session,
    StageAsks,
    StagePrompt,
    StageQuestion,
    nonce,
    read_json,
    tagged,
    wording,
)
from personafit.extract.corpus import ConversationCorpus, ConversationEntry, user_texts
from personafit.extract.merging import unit
from personafit.models import Model
from personafit.models.embeddings import Embedder, Vectors

STEPS = {
    "language": "language=CODE keeps conversations in one language",
    "scripted": "leaves out accounts that send the same template over and over",
    "minimum": "leaves out people with fewer than 3 conversations or 15 messages",
    "assistant": "leaves out accounts that do not use it as an assistant, by the model's score",
    "diverse": "diverse=N keeps N people who differ from each other",
}
ALL = ("scripted", "minimum", "assistant")
LEAST_CONVERSATIONS, LEAST_MESSAGES = 3, 15

WINDOW, STRIDE = 120, 60  # characters of a template; a third for syllabic or logographic scripts
WIDE_WINDOW, WIDE_STRIDE = 40, 20
REPEATED, REPEATED_SHARE, REPEATED_ALWAYS = 5, 0.4, 8
TURNS_LOOKED_AT = 2_000  # messages read per person: enough to detect a script
_BLANK = re.compile(r"\s+")
_DIGIT = re.compile(r"\d+")


def parse_steps(text: str | None) -> dict[str, str]:
    """Parse the steps of `--prepare` with their values, in execution order: cheap ones first."""
    wanted: dict[str, str] = {}
    for part in text.split(",") if text else ():
        name, _, value = part.strip().partition("=")
        if part.strip() == "all":
            wanted |= dict.fromkeys(ALL, "")
        elif name not in STEPS:
            raise UserError(
                f"--prepare {text}: there is no step '{name}'; there are {', '.join(STEPS)} and all."
            )
        elif (name in ("language", "diverse")) != bool(value):
            what = f"{name} takes no value" if value else f"write {STEPS[name].split()[0]}"
            raise UserError(f"--prepare {text}: {what}.")
        elif name == "diverse" and not (value.isdecimal() and int(value)):
            raise UserError(f"--prepare {text}: write diverse=N with N the number of people to keep.")
        else:
            wanted[name] = value
    return {name: wanted[name] for name in STEPS if name in wanted}


async def prepare(
    session: Session,
    model: Model,
    embedder: Embedder,
    corpus: ConversationCorpus,
    steps: Mapping[str, str],
    limit: int | None,
    seed: int,
) -> list[dict[str, Any]]:
    """Run every step and return the counts before and after each; forgotten people are removed first."""
    forgotten = session.store.forgotten({entry.person for entry in corpus.entries})
    taken = {"forgotten": ""} if forgotten else {}
    taken |= {**steps} | ({} if limit is None else {"limit": str(limit)})
    counts = []
    for name, value in taken.items():
        before, note = _size(corpus), ""
        match name:
            case "forgotten":  # nothing of them is written
                corpus.entries = [entry for entry in corpus.entries if entry.person not in forgotten]
            case "language":
                others = [entry for entry in corpus.entries if entry.used and entry.language != value]
                for entry in others:
                    entry.leave_out(name, f"The user writes in {entry.language}, not in {value}.")
            case "scripted":
                drop_scripted(corpus)
            case "minimum":
                drop_small(corpus)
            case "assistant":
                note = await drop_other_uses(session, model, corpus, seed)
            case "diverse":
                keep_diverse(corpus, int(value), embedder, seed)
            case "limit":
                used = [entry for entry in corpus.entries if entry.used]
                drawn = sorted(used, key=lambda entry: hash_text("limit", entry.id, str(seed)))
                _leave_out(drawn[int(value) :], name, f"Only {value} conversations were asked for.")
        after = _size(corpus)
        counts.append(
            {
                "name": name,
                "people_in": before[0],
                "people_out": after[0],
                "conversations_in": before[1],
                "conversations_out": after[1],
                "note": note,
            }
        )
    return counts


def _size(corpus: ConversationCorpus) -> tuple[int, int]:
    used = [entry for entry in corpus.entries if entry.used]
    return len({entry.person for entry in used}), len(used)


def drop_scripted(corpus: ConversationCorpus) -> None:
    """Exclude accounts that send templates."""
    for entries in corpus.by_person().values():
        if (found := _template(corpus, entries)) is not None:
            why = f"The account looks scripted: {found[0]} of {found[1]} messages hold the same text."
            _leave_out(entries, "scripted", why)


def drop_small(corpus: ConversationCorpus) -> None:
    """Exclude people with too few conversations or messages."""
    for entries in corpus.by_person().values():
        messages = sum(entry.messages for entry in entries)
        if len(entries) < LEAST_CONVERSATIONS or messages < LEAST_MESSAGES:
            why = (
                f"The person has {len(entries)} conversations and {messages} messages; {LEAST_CONVERSATIONS} and "
                f"{LEAST_MESSAGES} are needed."
            )
            _leave_out(entries, "minimum", why)


def _leave_out(entries: Iterable[ConversationEntry], step: str, reason: str) -> None:
    for entry in entries:
        entry.leave_out(step, reason)


def _template(corpus: ConversationCorpus, entries: Sequence[ConversationEntry]) -> tuple[int, int] | None:
    """Return how many messages share a text window and the total, if the account looks scripted; None otherwise."""
    messages = (text for entry in entries for text in user_texts(corpus.read(entry)))
    counts: Counter[int] = Counter()
    total = 0
    for text in islice(messages, TURNS_LOOKED_AT):
        total += 1
        counts.update(set(_windows(text)))
    most = max(counts.values(), default=0)
    scripted = most >= REPEATED_ALWAYS or (most >= REPEATED and most > REPEATED_SHARE * total)
    return (most, total) if scripted else None


def _windows(text: str) -> Iterator[int]:
    """Yield hashes of a message and its overlapping windows, ignoring whitespace, case and numbers; none for short messages."""
    plain = _DIGIT.sub("0", _BLANK.sub(" ", text.strip().lower()))
    wide = sum(character > "⺀" for character in plain[:500]) > len(plain[:500]) / 3
    size, step = (WIDE_WINDOW, WIDE_STRIDE) if wide else (WINDOW, STRIDE)
    if len(plain) >= size // 2:
        yield int(hash_text(plain)[:16], 16)
    for start in range(0, min(len(plain) - size + 1, 100 * step), step):
        yield int(hash_text(plain[start : start + size])[:16], 16)


LEAST_SCORE = 0.6
SHOWN, SHOWN_LETTERS = 12, 300  # messages per account that are scored, and characters of each
LOOKED_AT = 17  # messages per person that represent their topics
BINS = 5  # from people with one topic to people with the widest range


def read_score(reply: str) -> float | None:
    """Return the score of a reply; None unless it is a number from 0 to 1."""
    value = read_json(reply)
    score = value.get("score") if isinstance(value, dict) else None
    if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1:
        return None
    return float(score)


ASSISTANT_USE = StageQuestion("assistant-use", VERSION, read_score)


async def drop_other_uses(session: Session, model: Model, corpus: ConversationCorpus, seed: int) -> str:
    """Exclude accounts scored below the threshold; those without a score are kept and counted."""
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
            _leave_out(people[prompt.person], "assistant", why)
    return f"{unscored} could not be scored and stay" if unscored else ""


def _prompt(
    corpus: ConversationCorpus, person: str, entries: Sequence[ConversationEntry], seed: int
) -> StagePrompt:
    words = wording(corpus.language(person))
    texts = [text[:SHOWN_LETTERS] for text in _drawn(corpus, entries, SHOWN, seed)]
    mark = nonce(texts)
    material = "\n".join(tagged("message", mark, text) for text in texts)
    parts = (words.assistant_use, material, words.assistant_close)
    return StagePrompt(person, person, material, parts, 32, words.again)


def _drawn(
    corpus: ConversationCorpus, entries: Sequence[ConversationEntry], count: int, seed: int
) -> list[str]:
    """Return a sample of a person's messages, drawn by hash from a sample of their conversations."""
    drawn = sorted(entries, key=lambda entry: hash_text("conversation", entry.id, str(seed)))[:count]
    texts = [text for entry in drawn for text in user_texts(corpus.read(entry))]
    return sorted(texts, key=lambda text: hash_text("message", text, str(seed)))[:count]


def keep_diverse(corpus: ConversationCorpus, count: int, embedder: Embedder, seed: int) -> None:
    """Keep `count` people: equally many from each fifth by breadth of topics, and in each those farthest apart."""
    people = corpus.by_person()
    if len(people) <= count:
        return
    names = list(people)
    centres, breadth = [], []
    for name in names:
        vectors = embedder.embed(_drawn(corpus, people[name], LOOKED_AT, seed))
        centres.append(unit(vectors.mean(axis=0)))
        breadth.append(_spread(vectors))
    kept = {names[place] for place in _diverse(np.stack(centres), breadth, count)}
    for name in set(names) - kept:
        _leave_out(people[name], "diverse", f"It is not among the {count} people drawn for diversity.")


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
    """Select greedily: first the member farthest from the centre, then the one farthest from those chosen."""
    if count <= 0 or not members:
        return []
    likeness = centres[members] @ unit(centres[members].mean(axis=0))
    chosen: list[int] = []
    while len(chosen) < min(count, len(members)):
        place = int(np.argmin(np.round(likeness, 5)))
        chosen.append(place)
        nearest = centres[members] @ centres[members[place]]
        likeness = nearest if len(chosen) == 1 else np.maximum(likeness, nearest)
        likeness[chosen] = np.inf
    return [members[place] for place in chosen]


def _spread(vectors: Vectors) -> float:
    """Return the mean cosine distance between pairs of vectors."""
    count = len(vectors)
    likeness = vectors @ vectors.T
    return float(1.0 - (likeness.sum() - np.trace(likeness)) / (count * (count - 1))) if count > 1 else 0.0
