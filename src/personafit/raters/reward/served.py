"""`reward:NAME@URL`: a reward model behind a server in the way of vLLM.

`/classify` and `/pooling` take messages and use the model's own chat template; they are tried in turn unless `,api=` names one.
"""

import asyncio
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from personafit._errors import UserError
from personafit._hashing import content_hash
from personafit.items.reading import QuestionSet, Shown, Unit, Verdict
from personafit.models import ChatRequest, Message, Spec, Transient, Unanswerable, Unusable
from personafit.models.openai import OpenAIModel
from personafit.models.purse import Payment, cost_of
from personafit.models.reward.rendering import KNOWN
from personafit.models.weights import switch
from personafit.people import RENDERING, render_facets
from personafit.raters.rater import ScoredRater
from personafit.raters.reward.reading import keep_scores, known, settings_for


def _pooled(payload: Any) -> Any:
    """One number, or one per token, of which the last counts."""
    numbers = payload["data"][0]["data"]
    while isinstance(numbers, list) and numbers and isinstance(numbers[0], list):
        numbers = numbers[-1]
    return numbers


APIS: dict[str, Callable[[Any], Any]] = {
    "classify": lambda payload: payload["data"][0]["probs"],
    "pooling": _pooled,
}
"""Addresses of a server, and where the score stands in its reply."""
SERVER_OPTIONS = ("price", "concurrency", "timeout", "key_env")
READING = "served-1"
# How a server says that this form is not for this model: no such address, no such ability, or other fields than it wants.
_UNKNOWN = re.compile(r"HTTP (?:404|405|422|501)|not support|numbers per text|input_ids")
_NO_MODEL = re.compile(
    r"invalid model|model [`'\"][^`'\"]*[`'\"] (?:not found|does not exist)", re.IGNORECASE
)


class ServedRewardRater(ScoredRater):
    """The scores of a server."""

    unit = "answer"

    def __init__(self, spec: Spec, asks: QuestionSet) -> None:
        spec.allow(("api", "system", *SERVER_OPTIONS))
        shared = {name: value for name, value in spec.options.items() if name in SERVER_OPTIONS}
        self._server = OpenAIModel(replace(spec, options=shared))
        self._root = self._server.url.removesuffix("/v1")  # these addresses stand beside /v1, not below it
        self._api = spec.options.get("api")
        if self._api not in (None, *APIS):
            raise UserError(f"{spec.text}: api is one of {', '.join(APIS)}, not '{self._api}'.")
        self._system = switch(spec, "system", default="yes")
        self._choosing = asyncio.Lock()
        self.endpoint = self._server.endpoint
        self.max_concurrency = self._server.max_concurrency
        self.price = self._server.price
        settings = {
            "url": self._server.url,
            "model": self._server.model,
            "api": self._api,
            "system": self._system,
            "rendering": content_hash([RENDERING, KNOWN, READING]),
        }
        self.judge_by(asks.by_score, spec.text, "reward", settings_for(asks, settings))

    async def scores(self, units: Sequence[Unit], verdict: Verdict) -> list[float]:
        """The score of each answer, each sent by itself."""
        payment = Payment.for_request(self._request(units), self.price) if self.price else Payment(0.0)
        async with payment:
            calls = [asyncio.ensure_future(self._score(unit)) for unit in units]
            try:
                scored = await asyncio.gather(*calls)
            finally:
                for call in calls:
                    call.cancel()
            verdict.calls = len(calls)
            verdict.tokens_in = sum(tokens for _, tokens in scored)
            verdict.cost = payment.pay(cost_of(verdict.tokens_in, 0, self.price))
        return keep_scores(verdict, [score for score, _ in scored], [])

    def request(self, shown: Shown) -> ChatRequest:
        return self._request(self.units(shown))

    def _request(self, units: Sequence[Unit]) -> ChatRequest:
        return ChatRequest(tuple(turn for unit in units for turn in self._turns(unit)), max_tokens=0)

    async def close(self) -> None:
        await self._server.close()

    async def _score(self, unit: Unit) -> tuple[float, int]:
        if self._api is None:
            async with self._choosing:  # the first ask finds out; the others wait for it
                if self._api is None:
                    return await self._first(unit)
        return await self._ask(self._api, unit)

    async def _first(self, unit: Unit) -> tuple[float, int]:
        """Try the forms in turn until the server knows one."""
        said: list[str] = []
        for api in APIS:
            try:
                found = await self._ask(api, unit)
            except (Unusable, Unanswerable) as error:
                if not _UNKNOWN.search(str(error)) or _NO_MODEL.search(str(error)):
                    raise
                said.append(str(error).rstrip("."))
                continue
            self._api = api
            return found
        raise Unusable(
            f"{self._server.url} offers '{self._server.model}' in no known way ({'; '.join(said)}); it must "
            f"answer as vLLM's /{' or /'.join(APIS)} does."
        )

    async def _ask(self, api: str, unit: Unit) -> tuple[float, int]:
        turns = self._turns(unit)
        try:
            return await self._send(api, turns)
        except Unanswerable as error:
            told = self._system and turns[0]["role"] == "system"
            if not told or "system" not in str(error).lower():
                raise
        self._system = False  # its chat template knows no system turn: the person is told in the question's
        return await self._send(api, self._turns(unit))

    async def _send(self, api: str, turns: list[Message]) -> tuple[float, int]:
        # A plain score: squeezed between 0 and 1, good answers would become equal.
        body = {
            "model": self._server.model,
            "use_activation": False,
            "messages": turns,
            "add_generation_prompt": False,
        }
        try:
            payload = await self._server.post(f"{self._root}/{api}", body, f"/{api}")
        except Unanswerable as error:
            if _NO_MODEL.search(str(error)):  # some say so with the status of a bad request
                raise Unusable(str(error)) from error
            raise
        try:
            numbers = APIS[api](payload)
            numbers = numbers if isinstance(numbers, list) else [numbers]
            if len(numbers) != 1:
                raise Unanswerable(
                    f"The server gives {len(numbers)} numbers per text; a reward model gives one."
                )
            tokens = (payload.get("usage") or {}).get("prompt_tokens")
            score = math.nan if numbers[0] is None else float(numbers[0])
        except (TypeError, KeyError, IndexError, ValueError, AttributeError):
            raise Transient(f"{self._server.url} returned something that is not a score.") from None
        return score, tokens if isinstance(tokens, int) and tokens > 0 else 0

    def _turns(self, unit: Unit) -> list[Message]:
        person = render_facets(known(unit.context))
        told = KNOWN.format(person=person) if person else ""
        system = [{"role": "system", "content": told}] if told and self._system else []
        asked = unit.prompt if self._system or not told else f"{told}\n\n{unit.prompt}"
        return [*system, {"role": "user", "content": asked}, {"role": "assistant", "content": unit.text}]
