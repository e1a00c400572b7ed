"""Making a corpus of real logs fit for extraction: named steps, each of which leaves out people or conversations and says why.

Real logs hold bots, one-off visitors and accounts that nobody uses as an assistant. Each step counts who came in and who was
left; what it leaves out keeps its place in conversations.jsonl with the step's name and a sentence.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.stages.corpus import ConversationCorpus, ConversationEntry, user_texts

STEPS = {
    "language": "language=CODE keeps conversations in one language",
    "scripted": "leaves out accounts that send the same template over and over",
    "minimum": "leaves out people with fewer than 3 conversations or 15 messages",
    "assistant": "leaves out accounts that do not use it as an assistant, by the model's score",
    "diverse": "diverse=N keeps N people who differ from each other",
}
ALL = ("scripted", "minimum", "assistant")
LEAST_CONVERSATIONS, LEAST_MESSAGES = 3, 15

WINDOW, STRIDE = 120, 60  # letters of a template; a third where each sign is a syllable or a word
WIDE_WINDOW, WIDE_STRIDE = 40, 20
REPEATED, REPEATED_SHARE, REPEATED_ALWAYS = 5, 0.4, 8
TURNS_LOOKED_AT = 2_000  # of one person: a script shows itself long before
_BLANK = re.compile(r"\s+")
_DIGIT = re.compile(r"\d+")


@dataclass(frozen=True)
class PreparingStep:
    """A step as asked for."""

    name: str
    argument: str = ""


@dataclass(frozen=True)
class StepCount:
    """What a step did."""

    name: str
    people_in: int
    people_out: int
    conversations_in: int
    conversations_out: int
    note: str = ""


def parse_steps(text: str | None) -> list[PreparingStep]:
    """The steps that `--prepare` names, in the order they are taken: cheap ones first."""
    if not text:
        return []
    wanted: dict[str, PreparingStep] = {}
    for part in text.split(","):
        name, _, argument = part.strip().partition("=")
        if name == "all" and not argument:
            wanted |= {one: PreparingStep(one) for one in ALL if one not in wanted}
            continue
        if name not in STEPS:
            raise UserError(
                f"--prepare {text}: there is no step '{name}'; there are {', '.join(STEPS)} and all."
            )
        if (name in ("language", "diverse")) != bool(argument):
            raise UserError(
                f"--prepare {text}: write {STEPS[name].split()[0]}."
                if not argument
                else f"--prepare {text}: {name} takes no value."
            )
        if name == "diverse" and not (argument.isdecimal() and int(argument)):
            raise UserError(f"--prepare {text}: write diverse=N with N the number of people to keep.")
        wanted[name] = PreparingStep(name, argument)
    return [wanted[name] for name in STEPS if name in wanted]


class Counting:
    """Counts what a step leaves: make one before it, ask it after."""

    def __init__(self, corpus: ConversationCorpus) -> None:
        self._corpus = corpus
        self._before = _size(corpus)

    def count(self, name: str, note: str = "") -> StepCount:
        """The step's row."""
        people, conversations = _size(self._corpus)
        return StepCount(name, self._before[0], people, self._before[1], conversations, note)


def _size(corpus: ConversationCorpus) -> tuple[int, int]:
    used = [entry for entry in corpus.entries if entry.used]
    return len({entry.person for entry in used}), len(used)


def keep_language(corpus: ConversationCorpus, language: str) -> None:
    """Leave out conversations in other languages."""
    for entry in corpus.entries:
        if entry.used and entry.language != language:
            entry.leave_out("language", f"The user writes in {entry.language}, not in {language}.")


def drop_scripted(corpus: ConversationCorpus) -> None:
    """Leave out accounts that send templates."""
    for entries in corpus.by_person().values():
        if (found := _template(corpus, entries)) is not None:
            count, total = found
            _leave_out(
                entries,
                "scripted",
                f"The account looks scripted: {count} of {total} messages hold the same text.",
            )


def drop_small(corpus: ConversationCorpus) -> None:
    """Leave out people who said too little."""
    for entries in corpus.by_person().values():
        messages = sum(entry.messages for entry in entries)
        if len(entries) < LEAST_CONVERSATIONS or messages < LEAST_MESSAGES:
            _leave_out(
                entries,
                "minimum",
                f"The person has {len(entries)} conversations and {messages} messages; {LEAST_CONVERSATIONS} and "
                f"{LEAST_MESSAGES} are needed.",
            )


def limit_conversations(corpus: ConversationCorpus, most: int, seed: int) -> None:
    """Leave so many conversations, drawn by hash."""
    used = [entry for entry in corpus.entries if entry.used]
    drawn = sorted(used, key=lambda entry: hash_text("limit", entry.id, str(seed)))
    _leave_out(drawn[most:], "limit", f"Only {most} conversations were asked for.")


def drop_people(corpus: ConversationCorpus, people: set[str], step: str, reason: str) -> None:
    """Leave out everything of some people."""
    _leave_out([entry for entry in corpus.entries if entry.used and entry.person in people], step, reason)


def _leave_out(entries: Sequence[ConversationEntry], step: str, reason: str) -> None:
    for entry in entries:
        entry.leave_out(step, reason)


def _template(corpus: ConversationCorpus, entries: Sequence[ConversationEntry]) -> tuple[int, int] | None:
    """How many messages share a piece of text and of how many, where that is no way for a person to write."""
    counts: Counter[int] = Counter()
    total = 0
    for text in _messages(corpus, entries):
        total += 1
        counts.update(set(_windows(text)))
    if not counts:
        return None
    most = max(counts.values())
    scripted = most >= REPEATED_ALWAYS or (most >= REPEATED and most > REPEATED_SHARE * total)
    return (most, total) if scripted else None


def _messages(corpus: ConversationCorpus, entries: Sequence[ConversationEntry]) -> Iterator[str]:
    seen = 0
    for entry in entries:
        for text in user_texts(corpus.read(entry)):
            if seen == TURNS_LOOKED_AT:
                return
            seen += 1
            yield text


def _windows(text: str) -> Iterator[int]:
    """Hashes of a message and of overlapping pieces of it, spaces, case and numbers apart; short messages have none."""
    plain = _DIGIT.sub("0", _BLANK.sub(" ", text.strip().lower()))
    wide = sum(character > "⺀" for character in plain[:500]) > len(plain[:500]) / 3
    size, step = (WIDE_WINDOW, WIDE_STRIDE) if wide else (WINDOW, STRIDE)
    if len(plain) >= size // 2:
        yield int(hash_text(plain)[:16], 16)
    for start in range(0, min(len(plain) - size + 1, 100 * step), step):
        yield int(hash_text(plain[start : start + size])[:16], 16)
