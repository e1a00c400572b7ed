"""A dialogue between a simulated user and an assistant, as something that can be judged.

How dialogues are kept in the store is told in `simulate.records`; raters and reports get them whole.
"""

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Literal

from personafit._hashing import content_hash
from personafit.people import Task
from personafit.store import Item

Role = Literal["user", "assistant"]
"""Who speaks."""


class StopReason(StrEnum):
    """Why a dialogue ended."""

    SATISFIED = "satisfied"
    """The user has what they came for."""
    CAP = "cap"
    """The most exchanges a dialogue may have were used up and the user would have gone on."""
    GAVE_UP = "gave-up"
    """The user gave up."""
    EMPTY = "empty"
    """Somebody said nothing usable, and nothing usable when asked again: no words, far too many, a bare tool call."""
    REFUSED = "refused"
    """A model refused its turn."""
    FAILED = "failed"
    """A call failed for good; the same command tries that turn again."""

    @property
    def whole(self) -> bool:
        """Whether the dialogue ran to an end of its own and can be judged."""
        return self in (StopReason.SATISFIED, StopReason.CAP, StopReason.GAVE_UP)


@dataclass(frozen=True, slots=True)
class DialogueTurn:
    """One thing somebody said."""

    role: Role
    text: str
    index: int
    """Place in the dialogue, from 0; even places are the user's."""
    ask: str
    """Id of the ask it came from."""
    product: str
    """Id of the turn as a product."""
    thought: str | None = None
    """What a chain-of-thought user thought before speaking."""


@dataclass(frozen=True)
class Dialogue:
    """One dialogue, from the user's request to its end. A whole one ends with an assistant's turn."""

    id: str
    slot: str
    dataset: str
    person: str
    task: Task
    system: str
    """Fingerprint of the assistant: its model, prompt and settings."""
    system_name: str
    user: str
    """Fingerprint of the user agent."""
    user_name: str
    given: str
    """Name of the context the assistant was given, such as `D+I+S` or `wrong:I`."""
    context: str
    """Id of that context as a product."""
    brief: str
    """Id of what the user agent was told, as a product."""
    seed: int
    sample: int
    turns: tuple[DialogueTurn, ...]
    stop: StopReason
    closing: str = ""
    """What the user said at the end and nobody had to answer."""
    detail: str | None = None
    """The sentence that says what went wrong, if anything did."""

    @property
    def exchanges(self) -> int:
        """How often the assistant spoke."""
        return sum(turn.role == "assistant" for turn in self.turns)

    @property
    def item(self) -> Item:
        """The dialogue as something to be judged; dialogues about one task of one person share a group."""
        return Item(
            id=self.id,
            kind="dialogue",
            person=self.person,
            prompt=self.task.intent,
            products=[turn.product for turn in self.turns],
            group=f"{self.person}/{self.task.id}",
            slices={"tasks": self.task.kind, "domain": " + ".join(self.task.domains)},
        )

    @cached_property
    def content(self) -> str:
        """Hash of what was said, for job keys of judgments."""
        return content_hash([[turn.role, turn.text] for turn in self.turns] + [["closing", self.closing]])
