"""What a rater is shown in one ask, and the interface of questions: prompt, parser, and conversion of scores to answers.

A question serves every sort of rater. A model gets `messages` and its reply goes through `read`; a rule, a reward model or a fitted model
scores `units` and `decide` turns the scores into answers; a function's return value goes through `accept`; a person picks one of `choices`
or writes an answer, which goes through `said`.
"""

import json
import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from types import MappingProxyType
from typing import Any, ClassVar

from personafit._hashing import draw
from personafit._versions import fingerprint_of, own_version
from personafit.contexts import Context
from personafit.engine.ask import Exchange
from personafit.models import ChatReply, Message
from personafit.store import TIE, Status


@cache
def _file() -> dict[str, Any]:
    return tomllib.loads((files(__package__) / "wordings.toml").read_text(encoding="utf-8"))


def words_of(section: str) -> dict[str, str]:
    """Return the texts of one question by name; `section` is its table in wordings.toml, such as `relevance.pair`."""
    found = _file()
    for name in section.split("."):
        found = found[name]
    return found


def expression(lines: str, flags: int = re.IGNORECASE) -> re.Pattern[str]:
    """Compile a pattern whose alternatives are the lines of a data file."""
    return re.compile("|".join(lines.strip("\n").split("\n")), flags)


_MATERIAL = words_of("relevance")["material"]


def _sentences(text: str) -> list[str]:
    return re.split(r"(?<=[.?]) ", text)


NOTHING = Context("none", "", (), None)
PLACES = "0123456789abcdefghij"  # symbols for the answers' indices in the name of an order
SHORT_REPLY = 16  # tokens


@dataclass(frozen=True, slots=True)
class Part:
    """One thing that gets an answer of its own: the item, a target inside it, or one of several items shown together."""

    item: str
    target: str = ""
    text: str = ""
    note: str | None = None
    """Additional information, such as why an attribute was inferred."""
    content: str = ""
    """The item's content hash."""
    skip: str | None = None
    """Why the part is skipped, if it is."""


@dataclass(frozen=True, slots=True)
class PartAnswer:
    """A rater's answer about one part."""

    part: Part
    label: str | None = None
    value: float | None = None
    scores: Sequence[float] = ()
    """The scores behind the value, if there are several."""
    letters: Mapping[str, float] | None = None
    """Log-probabilities of the options, if the model returns them."""
    status: Status | None = None
    """Status of this part, if it differs from that of the whole ask."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The parsed answers of a reply; some parts may be missing."""

    answers: tuple[PartAnswer, ...]
    remark: str | None = None


@dataclass(slots=True)
class Verdict(Exchange):
    """A rater's answers to one ask, with its cost."""

    calls: int = 1
    answers: list[PartAnswer] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Unit:
    """One thing that a scorer scores: a text, or two answers compared."""

    text: str
    prompt: str
    context: Context
    answers: tuple[str, ...] = ()
    """For a pair: the answer whose lead is scored, then the other."""
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """Everything a rater is shown in one ask: question, person, answers."""

    question: "Question"
    about: str
    """Id of the item or list that it is about."""
    content: str
    """Hash of everything that is shown, as in job keys."""
    person: str
    """Id of the person."""
    prompt: str
    """The person's prompt."""
    parts: tuple[Part, ...]
    """The parts that get an answer: one for a choice, one for each attribute of a list."""
    texts: tuple[str, ...] = ()
    """The answers to be judged, in the item's own order."""
    context: Context = NOTHING
    """The context: what the rater is shown about the person."""
    context_id: str | None = None
    """The context in the job key; None if its name identifies it."""
    order: tuple[int, ...] = ()
    place: str = ""
    """The stored order: that of the answers, or which part of a long list it is."""
    sample: int = 0
    material: Any = None
    """Further material of the question, such as a dialogue."""

    @property
    def order_name(self) -> str:
        """The order as it is stored: '01' shows the first answer first."""
        return "".join(PLACES[place] for place in self.order)

    @property
    def answers(self) -> tuple[str, ...]:
        """The answers, in the order they are shown."""
        return tuple(self.texts[place] for place in self.order)

    @property
    def attributes(self) -> list[str]:
        """The texts of the parts, i.e. the attributes."""
        return [part.text for part in self.parts]


def answered(shown: Shown, said: Iterable[tuple[str | None, float]]) -> list[PartAnswer]:
    """Build the answers about the parts shown from a label and a number for each."""
    return [PartAnswer(part, label, value) for part, (label, value) in zip(shown.parts, said, strict=True)]


def marks(numbers: Iterable[int]) -> list[tuple[str | None, float]]:
    """Convert whole ratings to labels and numbers."""
    return [(str(number), float(number)) for number in numbers]


class Question:
    """A versioned question: wording, scale and parser."""

    name: str
    """Its name in asks and judgments."""
    reading: ClassVar[str] = "1"
    """Version of the parser; part of a model's fingerprint."""
    order_matters: ClassVar[bool] = False
    """Whether raters see the order of the answers, so that both orders are asked."""
    most_parts: ClassVar[int | None] = None
    """Most parts in one ask; None for any number."""
    scored_by: ClassVar[tuple[str, ...]] = ()
    """Sorts of unit whose scores answer it, the best suited first: `answer`, `attribute`, `pair`, `choice`."""
    sought: ClassVar[str] = "what is asked"
    """What it asks for, as worded in the message that a rater cannot answer it."""

    words: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """The texts of its prompt by name, from wordings.toml."""

    @property
    def instruction(self) -> list[list[str]]:
        """The instruction of the prompt as paragraphs of sentences, which people are shown too.

        It omits what only a model needs: that material stands between tags, and the format of a reply.
        """
        paragraphs = [_sentences(line) for line in self.words["task"].splitlines()]
        paragraphs.append([one for one in _sentences(self.words["closing"]) if one.endswith("?")])
        told = [[one for one in sentences if one != _MATERIAL] for sentences in paragraphs]
        return [sentences for sentences in told if sentences]

    @property
    def heading(self) -> str:
        """The sentence of the instruction that asks: its question, or else the last one before the scale."""
        last = self.instruction[-1][-1]
        return last if last.endswith("?") else self.instruction[0][-1]

    @cached_property
    def fingerprint(self) -> str:
        """Hash of name and version, part of a model's fingerprint."""
        return fingerprint_of(self.name, own_version(self))

    @property
    def instrument(self) -> str:
        """Identity of the question in job keys."""
        return self.fingerprint

    def messages(self, shown: Shown) -> tuple[Message, ...]:
        """Return the prompt; what many asks share comes first, for prompt caches."""
        return ({"role": "user", "content": "\n\n".join(self._prompt(shown))},)

    def _prompt(self, shown: Shown) -> list[str]:
        """Return the paragraphs of the prompt."""
        return []

    def again(self, shown: Shown) -> str:
        """Return the follow-up message after a reply that cannot be parsed."""
        return self.words.get("reminder", "")

    def read(self, reply: ChatReply, shown: Shown) -> Reading | None:
        """Parse a reply; return None if nothing can be parsed."""
        return None

    def options(self, shown: Shown) -> tuple[str, ...]:
        """Return the one-token words whose scores are an answer, if the model returns them."""
        return ()

    def choices(self, shown: Shown) -> tuple[str, ...]:
        """Return the options a person can choose from, one button each; empty if answers are written, which `said` reads."""
        found: dict[str | None, str] = {}
        for option in self.options(shown):
            said = self.said(shown, option)
            if said is not None:
                found.setdefault(said.label, option)  # several spellings of an answer are one choice
        return tuple(found.values())

    def said(self, shown: Shown, answer: str) -> PartAnswer | None:
        """Read a person's answer about the one part shown; None if it cannot be parsed. By default as a reply is read."""
        reading = self.read(ChatReply(answer), shown)
        return reading.answers[0] if reading is not None and reading.answers else None

    def reply_tokens(self, shown: Shown) -> int:
        """Return the token limit of a reply."""
        return SHORT_REPLY

    def recorded_as(self, shown: Shown) -> str:
        """Return the request's key in recordings."""
        return replay_key(shown.about, shown.context.name, shown.place, shown.sample)

    def foregone(self, shown: Shown) -> Verdict | None:
        """Return the verdict that needs no rater, such as a tie of identical answers; None if a rater must be asked."""
        return None

    def units(self, shown: Shown, unit: str) -> list[Unit]:
        """Return the units of one sort that a scoring rater scores."""
        return [Unit(part.text, shown.prompt, shown.context, note=part.note) for part in shown.parts]

    def decide(
        self, shown: Shown, scores: Sequence[float], unit: str, threshold: float | None, on_scale: bool
    ) -> list[PartAnswer]:
        """Return answers from one score per unit. `threshold` is where yes begins; `on_scale` scores are already ratings."""
        return answered(shown, [(None, score) for score in scores])

    def accept(self, shown: Shown, returned: Any, threshold: float | None = None) -> list[PartAnswer] | None:
        """Return answers from a function's return value; None if the scale does not allow it."""
        numbers = numbers_for(shown.parts, by_part(shown, returned))
        return None if numbers is None else answered(shown, [(None, number) for number in numbers])

    def expected(self, shown: Shown) -> str:
        """Describe what a function has to return."""
        return "a finite number" if len(shown.parts) == 1 else f"{len(shown.parts)} finite numbers"

    def drawn_order(self, shown: Shown) -> tuple[int, ...]:
        """Return a random order of the answers for a function that is asked once, since a folder may list the right one first."""
        return tuple(sorted(shown.order, key=lambda index: draw("shown", shown.about, index, among=2**63)))


@dataclass(frozen=True)
class QuestionSet:
    """The questions about items of one kind: `openai:M` asks the plain question, `list:openai:M` one with a prefix."""

    kind: str
    asked: tuple[Question, ...]
    """The questions for models and functions."""
    prefixed: Mapping[str, Question] = field(default_factory=dict)
    """Variants of the question, by prefix."""
    scored: Question | None = None
    """The question that scores answer; None for the first of `asked`."""

    @property
    def by_score(self) -> Question:
        """The question that rules, reward models and fitted models answer."""
        return self.scored or self.asked[0]


class Tags:
    """The tags around a question's material. No text can open or close one of them."""

    def __init__(self, *names: str) -> None:
        self._opening = re.compile(rf"<(?=[\s/]*(?:{'|'.join(names)}))", re.IGNORECASE)

    def inert(self, text: str) -> str:
        """Return the text with its tags disarmed."""
        return self._opening.sub("‹", text)

    def tagged(self, name: str, text: str) -> str:
        return f"<{name}>\n{self.inert(text)}\n</{name}>"


def json_values(reply: str, **how: Any) -> Iterator[Any]:
    """Iterate over the JSON values in a reply: all of it, without a code fence, then its last line."""
    text = re.sub(r"^```\w*\s*|\s*```$", "", reply.strip())
    for candidate in (text, next(reversed(text.splitlines()), "")):
        try:
            yield json.loads(candidate, **how)
        except (ValueError, RecursionError):
            continue


def json_numbers(reply: str) -> list[int] | None:
    """Return the whole numbers of a JSON list, the whole reply or its last line; None if there is no such list."""
    for value in json_values(reply):
        if isinstance(value, list) and all(type(number) is int for number in value):
            return value
    return None


def replay_key(item: str, context: str, order: str, sample: int) -> str:
    """Return a request's key in recordings."""
    return f"{item}|{context}|{order}|{sample}"


def order_places(name: str) -> list[int]:
    """Parse the stored name of an order."""
    return [PLACES.index(place) for place in name]


def choice_of(scores: Sequence[float]) -> tuple[str, float]:
    """Return label and margin of a choice: the best answer's index or a tie; the margin is answer 0's lead."""
    best = max(scores)
    leaders = [index for index, score in enumerate(scores) if score == best]
    margin = scores[0] - max(scores[1:]) if len(scores) > 1 else 0.0
    return (str(leaders[0]) if len(leaders) == 1 else TIE), margin


def by_part(shown: Shown, returned: Any) -> Any:
    """Return what a function returned about each part, where it may return a bare value about the only part."""
    return [returned] if len(shown.parts) == 1 and not isinstance(returned, Iterable) else returned


def numbers_for(wanted: Sized, returned: Any) -> list[float] | None:
    """Return the finite numbers that a function returned, if it is a sequence with one for each wanted; else None."""
    if isinstance(returned, str | bytes | Mapping | set | frozenset):
        return None  # characters of a text and keys of a mapping could be read as numbers
    try:
        numbers = [float(one) for one in returned]
    except (TypeError, ValueError, OverflowError):
        return None
    return numbers if len(numbers) == len(wanted) and all(map(math.isfinite, numbers)) else None
