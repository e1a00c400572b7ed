"""What every question about an item offers to whoever asks a model: the prompt, the re-ask, and how a reply is read."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from personafit.models import ChatReply, Message
from personafit.store import TIE, Status


class Sampled(Protocol):
    """What is put before a rater, once or several times."""

    @property
    def sample(self) -> int:
        """Which repetition it is, from 0."""


S = TypeVar("S", bound=Sampled, contravariant=True)


@dataclass(frozen=True, slots=True)
class Part:
    """One of several answers to one ask: about an aspect, an attribute, a turn, or another item of the same list."""

    target: str
    label: str | None = None
    value: float | None = None
    scores: list[float] = field(default_factory=list)
    item: str | None = None
    """The item it is about, where one ask shows several; None for the item asked about."""
    status: Status | None = None
    """How this part ended, where that differs from the whole."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reply says: an answer to the question as a whole, or its parts, of which some may be missing."""

    label: str | None = None
    value: float | None = None
    parts: tuple[Part, ...] = ()
    letter_scores: dict[str, float] | None = None
    remark: str | None = None


class Question(Protocol[S]):
    """Wording, scale and parser of one thing that can be asked."""

    @property
    def name(self) -> str:
        """What asks and judgments call it."""

    def messages(self, shown: S) -> tuple[Message, ...]:
        """The prompt."""

    def again(self, shown: S) -> str:
        """What is said after a reply that cannot be read."""

    def read(self, reply: ChatReply, shown: S) -> Reading | None:
        """What a reply says; None if nothing can be read."""

    def parts(self, shown: S) -> Sequence[Part]:
        """One part, still without an answer, for everything that is asked about; none where the answer is about the whole."""

    def options(self, shown: S) -> tuple[str, ...]:
        """Words of one token whose scores are an answer, where the model shows them."""

    def reply_tokens(self, shown: S) -> int:
        """How long a reply may be."""

    def recorded_as(self, shown: S) -> str:
        """The name of the request in recordings."""


def replay_key(item: str, view: str, order: str, sample: int) -> str:
    """The name of a request in recordings."""
    return f"{item}|{view}|{order}|{sample}"


def choice_of(scores: Sequence[float]) -> tuple[str, float]:
    """Label and margin of a choice by scores: the best product's index or a tie; the margin is product 0's lead."""
    best = max(scores)
    leaders = [index for index, score in enumerate(scores) if score == best]
    margin = scores[0] - max(scores[1:]) if len(scores) > 1 else 0.0
    return (str(leaders[0]) if len(leaders) == 1 else TIE), margin
