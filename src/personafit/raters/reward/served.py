"""`reward:NAME@URL`: a reward model behind a server that scores conversations.

Three forms are spoken, as vLLM's server offers them: `/classify` and `/pooling`, which take messages and use the
model's own chat template, and `/score`, which takes two texts and none. The first two are tried in turn; `,api=` names one.
"""

import asyncio
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from personafit._errors import UserError
from personafit._hashing import content_hash
from personafit.items import ChoiceQuestion, Shown
from personafit.models import ChatRequest, Message, Spec, Transient, Unanswerable, Unusable
from personafit.models.openai import OpenAIModel
from personafit.models.reward.rendering import KNOWN
from personafit.models.weights import switch
from personafit.people import RENDERING, FacetValue, render_facets
from personafit.raters.rater import Verdict, rater_record
from personafit.raters.reward.verdicts import known, verdict_of

OPTIONS = ("api", "system", "price", "concurrency", "timeout", "key_env")
READING = "served-1"
TRIED = ("classify", "pooling")
# How a server says that this form is not for this model: no such address, or no such ability.
_UNKNOWN = re.compile(r"HTTP (?:404|405|501)|not support|numbers per text")


class ServedRewardRater:
    """Prefers the answer to which the server gives the higher score."""

    order_matters = False

    def __init__(self, spec: Spec) -> None:
        spec.allow(OPTIONS)
        shared = {name: value for name, value in spec.options.items() if name not in ("api", "system")}
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
        self.record = rater_record(
            spec.text,
            "reward",
            {
                "url": self._server.url,
                "model": self._server.model,
                "api": self._api,
                "system": self._system,
                "rendering": content_hash([RENDERING, KNOWN, READING]),
            },
        )

    async def rate(self, shown: Shown, question: ChoiceQuestion) -> Verdict:
        """The choice by the scores of the answers, each sent by itself."""
        facets = known(shown.context)
        calls = [asyncio.ensure_future(self._score(facets, shown.item.prompt, text)) for text in shown.texts]
        try:
            scored = await asyncio.gather(*calls)
        finally:
            for call in calls:
                call.cancel()
        verdict = verdict_of([score for score, _ in scored])
        verdict.calls = len(calls)
        verdict.tokens_in = sum(tokens for _, tokens in scored)
        if self.price:
            verdict.cost = verdict.tokens_in * self.price[0] / 1e6
        return verdict

    def request(self, shown: Shown, question: ChoiceQuestion) -> ChatRequest | None:
        """The conversations that would be scored, for estimates."""
        facets = known(shown.context)
        turns = [turn for text in shown.texts for turn in self._turns(facets, shown.item.prompt, text)]
        return ChatRequest(tuple(turns), max_tokens=0)

    async def close(self) -> None:
        """Close the connections."""
        await self._server.close()

    async def _score(self, facets: Mapping[str, FacetValue], prompt: str, answer: str) -> tuple[float, int]:
        if self._api is None:
            async with self._choosing:  # the first ask finds out; the others wait for it
                if self._api is None:
                    return await self._first(facets, prompt, answer)
        return await self._ask(self._api, facets, prompt, answer)

    async def _first(self, facets: Mapping[str, FacetValue], prompt: str, answer: str) -> tuple[float, int]:
        """Try the forms in turn until the server knows one."""
        said: list[str] = []
        for api in TRIED:
            try:
                found = await self._ask(api, facets, prompt, answer)
            except (Unusable, Unanswerable) as error:
                if not _UNKNOWN.search(str(error)):
                    raise
                said.append(str(error).rstrip("."))
                continue
            self._api = api
            return found
        raise Unusable(
            f"{self._server.url} offers '{self._server.model}' in no form that is known ({'; '.join(said)}); "
            f"name one with ,api={'|'.join(APIS)}."
        )

    async def _ask(
        self, api: str, facets: Mapping[str, FacetValue], prompt: str, answer: str
    ) -> tuple[float, int]:
        turns = self._turns(facets, prompt, answer)
        try:
            return await self._send(api, turns)
        except Unanswerable as error:
            if not self._system or turns[0]["role"] != "system" or "system" not in str(error).lower():
                raise
        self._system = False  # its chat template knows no system turn: the person is told in the question's
        return await self._send(api, self._turns(facets, prompt, answer))

    async def _send(self, api: str, turns: list[Message]) -> tuple[float, int]:
        body, read = APIS[api]
        sent = {"model": self._server.model, **body(turns)}
        payload = await self._server.post(f"{self._root}/{api}", sent, f"/{api}")
        try:
            score = read(payload["data"])
            usage = payload.get("usage") or {}
        except (TypeError, KeyError, IndexError, ValueError, AttributeError):
            raise Transient(f"{self._server.url} answered something that is no score.") from None
        tokens = usage.get("prompt_tokens")
        return score, tokens if isinstance(tokens, int) and tokens > 0 else 0

    def _turns(self, facets: Mapping[str, FacetValue], prompt: str, answer: str) -> list[Message]:
        person = render_facets(facets)
        told = KNOWN.format(person=person) if person else ""
        system = [{"role": "system", "content": told}] if told and self._system else []
        asked = prompt if self._system or not told else f"{told}\n\n{prompt}"
        return [*system, {"role": "user", "content": asked}, {"role": "assistant", "content": answer}]


def _conversation(turns: list[Message]) -> dict[str, Any]:
    # The plain score: squeezed between 0 and 1, good answers would become equal.
    return {"messages": turns, "add_generation_prompt": False, "use_activation": False}


def _two_texts(turns: list[Message]) -> dict[str, Any]:
    asked = "\n\n".join(turn["content"] for turn in turns[:-1])
    return {"text_1": asked, "text_2": turns[-1]["content"], "use_activation": False}


def _classified(data: Any) -> float:
    return _single(data[0]["probs"])


def _pooled(data: Any) -> float:
    """One number, or one per token, of which the last counts."""
    numbers = data[0]["data"]
    while isinstance(numbers, list) and numbers and isinstance(numbers[0], list):
        numbers = numbers[-1]
    return _single(numbers)


def _scored(data: Any) -> float:
    return _single(data[0]["score"])


def _single(value: Any) -> float:
    numbers = value if isinstance(value, list) else [value]
    if len(numbers) != 1:
        raise Unanswerable(f"The server gives {len(numbers)} numbers per text; a reward model gives one.")
    return math.nan if numbers[0] is None else float(numbers[0])


Form = tuple[Callable[[list[Message]], dict[str, Any]], Callable[[Any], float]]
APIS: dict[str, Form] = {
    "classify": (_conversation, _classified),
    "pooling": (_conversation, _pooled),
    "score": (_two_texts, _scored),
}
