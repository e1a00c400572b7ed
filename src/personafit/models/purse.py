"""The budget: an amount is reserved before a call is sent, and the actual cost booked afterwards."""

import asyncio
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Self

import orjson

from personafit.models.chat import ChatReply, ChatRequest, Message, ModelError, Transient

WIDE = re.compile("[⺁-\U0010ffff]+")


def count_tokens(text: str) -> int:
    """Estimate the number of tokens without a tokenizer: four characters per token, one if the script is not alphabetic."""
    wide = 0 if text.isascii() else sum(map(len, WIDE.findall(text)))
    return wide + (len(text) - wide) // 4 + 1


def prompt_tokens(messages: Iterable[Message]) -> int:
    """Estimate the number of tokens of a prompt."""
    return sum(count_tokens(message["content"]) for message in messages)


def request_tokens(request: ChatRequest) -> int:
    """Estimate the number of tokens of a request: its messages, and the functions it offers."""
    tools = count_tokens(orjson.dumps(request.tools).decode()) if request.tools else 0
    return prompt_tokens(request.messages) + tools


NOTHING = 1e-12  # USD: rounding error of sums that cancel
PAUSE = 0.02  # seconds between checks whether reserved money is free again

Price = tuple[float, float] | None
"""USD per million tokens in and out; None if unknown."""


class OverBudget(ModelError):
    """Raised when the budget does not cover a call; nothing was sent."""


class Purse:
    """The budget of all calls within a block of `paying_from`, and the amount spent.

    Every call first reserves the cost of its prompt and token limit, so that concurrent calls never exceed the budget
    together. If a server bills more than that, later calls reserve more in the same proportion; to learn this in
    time, the first call runs alone.
    """

    def __init__(self, most: float | None) -> None:
        self.most = most
        self.spent = 0.0
        self._held = 0.0
        self._excess = 1.0
        self._billed = False

    async def hold(self, cost: float) -> float:
        """Reserve money for one call, waiting for the cost of running calls if needed; return the amount."""
        if self.most is None:
            return 0.0
        while self._must_wait(cost * self._excess):
            if self._held <= NOTHING or self.spent + cost * self._excess > self.most:
                raise OverBudget(
                    f"The budget of {self.most:g} USD is too small for another ask ({self.spent:.4f} spent); "
                    "what is judged is kept and the same command with a larger --budget goes on from there."
                )
            await asyncio.sleep(PAUSE)
        held = cost * self._excess
        self._held += held
        return held

    def _must_wait(self, cost: float) -> bool:
        alone = not self._billed and self._held > NOTHING
        return alone or self.spent + self._held + cost > (self.most or 0.0)

    def book(self, held: float, cost: float) -> None:
        """Release a call's reservation and book its cost."""
        self._held -= held
        self.spent += cost
        if held > NOTHING and cost > 0:
            self._billed = True
            self._excess = max(self._excess, self._excess * cost / held)


_PURSE: ContextVar[Purse | None] = ContextVar("purse", default=None)
_PAID: ContextVar[list[float] | None] = ContextVar("paid", default=None)


@contextmanager
def paying_from(purse: Purse) -> Iterator[None]:
    """Charge calls made within the block, including those of tasks started there, to this budget."""
    token = _PURSE.set(purse)
    try:
        yield
    finally:
        _PURSE.reset(token)


def note_calls() -> list[float]:
    """Return a list that collects the cost in USD of each further call of this task."""
    paid: list[float] = []
    _PAID.set(paid)
    return paid


class Payment:
    """Context manager of one call: reserves its cost, and books the actual one.

    A call that broke off after it was sent is booked at its expected cost, since the server may have answered and billed it.
    """

    __slots__ = ("_cost", "_expected", "_held")

    def __init__(self, expected: float) -> None:
        self._expected = expected
        self._held = 0.0
        self._cost: float | None = None

    @classmethod
    def for_request(cls, request: ChatRequest, price: Price) -> Self:
        """Return the payment of a chat request, which reserves the price of its prompt and token limit."""
        return cls(cost_of(request_tokens(request), request.max_tokens, price) if price else 0.0)

    async def __aenter__(self) -> Self:
        purse = _PURSE.get()
        if purse is not None and self._expected > 0:
            self._held = await purse.hold(self._expected)
        return self

    def pay(self, cost: float) -> float:
        """Record the cost of the call and return it."""
        self._cost = cost
        return cost

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        lost = self._expected if isinstance(error, Transient) and error.sent else 0.0
        cost = lost if self._cost is None else self._cost
        if (purse := _PURSE.get()) is not None:
            purse.book(self._held, cost)
        if cost and (paid := _PAID.get()) is not None:
            paid.append(cost)


def cost_of(tokens_in: int, tokens_out: int, price: Price) -> float:
    """Return the cost of tokens in USD; 0 if the price is unknown."""
    return 0.0 if price is None else (tokens_in * price[0] + tokens_out * price[1]) / 1e6


def reply_cost(request: ChatRequest, reply: ChatReply, price: Price) -> float:
    """Return the cost of a call in USD; token counts the server omits are estimated, or a budget would never run out."""
    if price is None:
        return 0.0
    tokens_in = reply.tokens_in or request_tokens(request)
    said = "".join([reply.reasoning or "", reply.text, *(call.arguments for call in reply.tool_calls)])
    return cost_of(tokens_in, reply.tokens_out or count_tokens(said), price)
