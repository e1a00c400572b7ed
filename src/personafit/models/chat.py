"""What every model looks like from outside: messages in, a reply with its letter scores and costs out.

Failures come in three sorts, and the engine treats each its own way: `Transient` is tried again, `Unanswerable`
belongs to this one request, `Unusable` means that no request to this model can succeed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from personafit._errors import printable

Message = dict[str, Any]
"""`role` and `content`, both texts, as chat models take them; where functions are called also `tool_calls` and `tool_call_id`."""
Tool = Mapping[str, Any]
"""A function that a model may call: `name`, `description` and `parameters`, a JSON schema."""

MOST_TOKENS = 2**31  # more is a mistake of whoever counted, and too much for a database's column
LIKELIHOOD = "likelihood"
"""Among the scores of a reply: the mean log-probability of a weighed reply's tokens."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A function that a model asks to be called, as the model wrote it: nothing is checked yet."""

    id: str
    """What its result is sent back under."""
    name: str
    arguments: str
    """JSON, if the model keeps to it."""

    @property
    def message(self) -> dict[str, Any]:
        """The call as it stands in the message of the assistant that made it."""
        return {
            "id": self.id,
            "type": "function",
            "function": {"name": self.name, "arguments": self.arguments},
        }


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One call: the messages, and the option letters whose scores are wanted, if any."""

    messages: tuple[Message, ...]
    max_tokens: int = 512
    temperature: float = 0.0
    letters: tuple[str, ...] = ()
    seed: int | None = None
    weighed: str = ""  # a reply whose likelihood is wanted, in place of one of the model's own
    key: str = ""  # names the request for replay and for callables that want to know
    context: dict[str, str] | None = None  # of the person and task, for callables that take it apart
    tools: tuple[Tool, ...] = ()  # functions that the model may call


@dataclass(slots=True)
class ChatReply:
    """The model's reply: text, reasoning, calls of functions, scores of the option letters, token counts and cost."""

    text: str
    reasoning: str | None = None
    letter_scores: dict[str, float] | None = None  # log-probabilities, where the model tells
    refused: bool = False
    cut: bool = False  # the token limit ended it
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_reasoning: int = 0
    cost: float = 0.0
    extra: dict[str, Any] = field(default_factory=dict)
    tool_calls: tuple[ToolCall, ...] = ()


class Model(Protocol):
    """Whatever answers."""

    @property
    def name(self) -> str:
        """How reports call it."""

    @property
    def settings(self) -> dict[str, Any]:
        """Everything about it that can change an answer; part of every fingerprint."""

    @property
    def endpoint(self) -> str:
        """Calls to one endpoint share a limit on how many run at once."""

    @property
    def max_concurrency(self) -> int:
        """The most calls it may get at once."""

    @property
    def price(self) -> tuple[float, float] | None:
        """USD per million tokens in and out; None when unknown."""

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Answer one request."""

    async def close(self) -> None:
        """Release connections, threads and memory."""


class ModelError(Exception):
    """A call that brought no reply; the message is one sentence."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


class Transient(ModelError):
    """Worth another try: the endpoint is busy, slow or briefly down."""

    def __init__(
        self,
        message: str,
        retry_after: float | None = None,
        overloaded: bool = False,
        sent: bool = False,
    ) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.overloaded = overloaded
        self.sent = sent
        """Whether the request was sent and its reply was lost, so that it may have been billed."""


class Unanswerable(ModelError):
    """This request will not be answered, others may be."""


class Unusable(ModelError):
    """No request will be answered: wrong key, wrong address, no such model."""


def one_line(error: BaseException) -> str:
    """What an error says, short enough for a sentence and without a full stop."""
    return " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__


THINKING = 4096  # tokens beside those of the answer


def reasoned(reply: ChatReply) -> bool:
    """Whether the model reasoned before it answered; some endpoints hide the text and only count its tokens."""
    return reply.reasoning is not None or reply.tokens_reasoning > 0


def only_thought(reply: ChatReply) -> bool:
    """Whether a reply ended before its first word or call: cut off, or with nothing but reasoning."""
    said = reply.text.strip() or reply.tool_calls or reply.refused
    return not said and (reply.cut or reasoned(reply))
