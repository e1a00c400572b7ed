"""The interface of every model: messages in, a reply with option scores and cost out.

Errors come in three kinds, each handled differently by the engine: `Transient` is retried, `Unanswerable`
concerns this one request, `Unusable` means that no request to this model can succeed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from personafit._errors import printable

Message = dict[str, Any]
"""A chat message with `role` and `content`, both texts; with function calls also `tool_calls` and `tool_call_id`."""
Tool = Mapping[str, Any]
"""A function that a model may call: `name`, `description` and `parameters`, a JSON schema."""

MOST_TOKENS = 2**31  # larger counts are errors, and too large for a database column
LIKELIHOOD = "likelihood"
"""Key in a reply's scores: the mean log-probability of the tokens of a scored reply."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A function call requested by the model, as the model wrote it and unchecked."""

    id: str
    """Id under which the result is sent back."""
    name: str
    arguments: str
    """JSON, if the model complies."""

    @property
    def message(self) -> dict[str, Any]:
        """Return the call in the form of an assistant message's `tool_calls`."""
        return {
            "id": self.id,
            "type": "function",
            "function": {"name": self.name, "arguments": self.arguments},
        }


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A model call: messages and settings, and the option letters to score, if any."""

    messages: tuple[Message, ...]
    max_tokens: int = 512
    temperature: float = 0.0
    letters: tuple[str, ...] = ()
    seed: int | None = None
    weighed: str = ""  # a reply to score by its likelihood instead of generating one
    key: str = ""  # identifies the request for replay and for callables
    context: dict[str, str] | None = None  # of the person and task, for callables
    tools: tuple[Tool, ...] = ()  # functions that the model may call


@dataclass(slots=True)
class ChatReply:
    """The model's reply: text, reasoning, calls of functions, scores of the option letters, token counts and cost."""

    text: str
    reasoning: str | None = None
    letter_scores: dict[str, float] | None = None  # log-probabilities, if the model reports them
    refused: bool = False
    cut: bool = False  # whether the token limit ended the reply
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_reasoning: int = 0
    cost: float = 0.0
    extra: dict[str, Any] = field(default_factory=dict)
    tool_calls: tuple[ToolCall, ...] = ()


class Model(Protocol):
    """A chat model of any kind."""

    @property
    def name(self) -> str:
        """The model's name in reports."""

    @property
    def settings(self) -> dict[str, Any]:
        """Everything that can change a reply; part of every fingerprint."""

    @property
    def endpoint(self) -> str:
        """Name of the endpoint; calls to one endpoint share a concurrency limit."""

    @property
    def max_concurrency(self) -> int:
        """Largest number of concurrent calls."""

    @property
    def price(self) -> tuple[float, float] | None:
        """USD per million tokens in and out; None when unknown."""

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Answer one request."""

    async def close(self) -> None:
        """Release connections, threads and memory."""


class ModelError(Exception):
    """Raised when a call has no reply; the message is one sentence."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


class Transient(ModelError):
    """Raised when a retry may succeed: the endpoint is busy, slow or briefly down."""

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
    """Raised when this request cannot be answered, though others may be."""


class Unusable(ModelError):
    """Raised when no request can succeed: wrong key, wrong address, no such model."""


def one_line(error: BaseException) -> str:
    """Return an error's message, shortened to fit in a sentence and without a full stop."""
    return " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__


THINKING = 4096  # tokens allowed for reasoning, besides those of the answer


def reasoned(reply: ChatReply) -> bool:
    """Return whether the model reasoned before it answered; some endpoints hide the text and only count its tokens."""
    return reply.reasoning is not None or reply.tokens_reasoning > 0


def only_thought(reply: ChatReply) -> bool:
    """Return whether a reply has no answer or call: cut off before it, or only reasoning."""
    said = reply.text.strip() or reply.tool_calls or reply.refused
    return not said and (reply.cut or reasoned(reply))
