"""`reward:NAME@URL`: a reward model behind a server.

vLLM's `/classify` and `/pooling` take messages and use the model's own chat template: they are tried in turn unless `,api=` names
a form. SGLang takes tokens and OpenRLHF bare text: those are made here, where `,tokenizer=` says of which model.
"""

import asyncio
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from personafit._errors import UserError
from personafit._hashing import content_hash
from personafit.items.reading import Unit, Verdict
from personafit.models import ChatRequest, Message, Spec, Transient, Unanswerable, Unusable
from personafit.models.openai import OpenAIModel
from personafit.models.purse import Payment, cost_of
from personafit.models.reward.rendering import KNOWN
from personafit.models.weights import switch
from personafit.people import RENDERING, render_facets
from personafit.raters.rater import Scorer
from personafit.raters.reward.reading import OPTIONS as READING_OPTIONS
from personafit.raters.reward.reading import (
    AnswerGroup,
    Readers,
    answer_groups,
    find_weights,
    keep_scores,
    known,
)


@dataclass(frozen=True)
class RewardRequest:
    """One answer to be scored: as a conversation, and as tokens where the model's tokenizer is at hand."""

    model: str
    turns: list[Message]
    tokens: list[int] | None = None
    tokenizer: Any = None


@dataclass(frozen=True)
class Form:
    """An address of a server, how it is spoken to, and where the score stands in its reply."""

    path: str
    body: Callable[[RewardRequest], dict[str, Any]]
    numbers: Callable[[Any], Any]
    """What stands for the score in a reply; raises a lookup error where there is none."""
    usage: Callable[[Any], Any] = lambda payload: (payload.get("usage") or {}).get("prompt_tokens")
    here: bool = False  # whether the text must be made here, because the server applies no chat template

    def read(self, payload: Any) -> tuple[float, int]:
        """The score, and how many tokens were read, as far as the server says."""
        numbers, tokens = self.numbers(payload), self.usage(payload)
        numbers = numbers if isinstance(numbers, list) else [numbers]
        if len(numbers) != 1:
            raise Unanswerable(f"The server gives {len(numbers)} numbers per text; a reward model gives one.")
        score = math.nan if numbers[0] is None else float(numbers[0])
        return score, tokens if isinstance(tokens, int) and tokens > 0 else 0


def _conversation(asked: RewardRequest) -> dict[str, Any]:
    # A plain score: squeezed between 0 and 1, good answers would become equal.
    plain = {"model": asked.model, "use_activation": False}
    if asked.tokens is not None:
        return plain | {"input": asked.tokens}
    return plain | {"messages": asked.turns, "add_generation_prompt": False}


def _text(asked: RewardRequest) -> dict[str, Any]:
    """The tokens as text, read back here as the server will read it: a second beginning of sequence would be scored unseen."""
    text = asked.tokenizer.decode(asked.tokens, skip_special_tokens=False, clean_up_tokenization_spaces=False)
    if not text or asked.tokenizer(text, add_special_tokens=False)["input_ids"] != asked.tokens:
        raise Unanswerable(
            "The model's tokenizer reads its own text otherwise than before, so no text can be sent."
        )
    return {"query": [text]}


def _pooled(payload: Any) -> Any:
    """One number, or one per token, of which the last counts."""
    numbers = payload["data"][0]["data"]
    while isinstance(numbers, list) and numbers and isinstance(numbers[0], list):
        numbers = numbers[-1]
    return numbers


def _rewards(payload: Any) -> Any:
    (reward,) = payload["rewards"]
    return reward


APIS: dict[str, Form] = {
    "classify": Form("classify", _conversation, lambda payload: payload["data"][0]["probs"]),
    "pooling": Form("pooling", _conversation, _pooled),
    "sglang": Form(
        "classify",
        lambda asked: {"input_ids": asked.tokens},
        lambda payload: payload["embedding"],
        lambda payload: payload["meta_info"]["prompt_tokens"],
        here=True,
    ),
    "openrlhf": Form("get_reward", _text, _rewards, lambda _payload: 0, here=True),
}
SERVER_OPTIONS = ("price", "concurrency", "timeout", "key_env")
OPTIONS = ("api", "system", "tokenizer", *READING_OPTIONS, *SERVER_OPTIONS)
READING = "served-1"
TRIED = ("classify", "pooling")
# How a server says that this form is not for this model: no such address, no such ability, or other fields than it wants.
_UNKNOWN = re.compile(r"HTTP (?:404|405|422|501)|not support|numbers per text|input_ids")
_NO_MODEL = re.compile(
    r"invalid model|model [`'\"][^`'\"]*[`'\"] (?:not found|does not exist)", re.IGNORECASE
)


class ServedRewardScorer(Scorer):
    """The scores of a server."""

    unit = "answer"

    def __init__(self, spec: Spec) -> None:
        spec.allow(OPTIONS)
        shared = {name: value for name, value in spec.options.items() if name in SERVER_OPTIONS}
        self._server = OpenAIModel(replace(spec, options=shared))
        self._root = self._server.url.removesuffix("/v1")  # these addresses stand beside /v1, not below it
        self._api = spec.options.get("api")
        if self._api not in (None, *APIS):
            raise UserError(f"{spec.text}: api is one of {', '.join(APIS)}, not '{self._api}'.")
        self._reading = _reading(spec)
        if self._reading is None and self._api is not None and APIS[self._api].here:
            raise UserError(
                f"{spec.text}: such a server takes text as the model reads it, which is made here; say of which model, "
                "as in ,tokenizer=FOLDER or ,tokenizer=OWNER/NAME."
            )
        self.fitted_on = frozenset() if self._reading is None else self._reading.fitted_on
        self._system = switch(spec, "system", default="yes")
        self._choosing = asyncio.Lock()
        self.endpoint = self._server.endpoint
        self.max_concurrency = self._server.max_concurrency
        self.price = self._server.price
        self.settings: dict[str, Any] = {
            "url": self._server.url,
            "model": self._server.model,
            "api": self._api,
            "system": self._system,
            **(
                {"rendering": content_hash([RENDERING, KNOWN, READING])}
                if self._reading is None
                else self._reading.settings
            ),
        }

    async def scores(self, units: Sequence[Unit], verdict: Verdict) -> list[float]:
        """The score of each answer, each sent by itself."""
        verdict.calls = 0
        payment = Payment.for_request(self.request(units), self.price) if self.price else Payment(0.0)
        async with payment:
            scored = await asyncio.gather(*(self._of_group(group, verdict) for group in answer_groups(units)))
            verdict.cost = payment.pay(cost_of(verdict.tokens_in, 0, self.price))
        found = [score for scores, _ in scored for score in scores]
        return keep_scores(verdict, found, [dropped for _, dropped in scored])

    async def _of_group(self, group: AnswerGroup, verdict: Verdict) -> tuple[list[float], str | None]:
        tokens: list[list[int] | None] = [None] * len(group.texts)
        dropped = None
        if self._reading is not None:
            tokens[:], dropped = await self._reading.do(lambda reader: reader.tokens(group))
        calls = [
            asyncio.ensure_future(self._score(group, text, read))
            for text, read in zip(group.texts, tokens, strict=True)
        ]
        try:
            scored = await asyncio.gather(*calls)
        finally:
            for call in calls:
                call.cancel()
        verdict.calls += len(calls)
        # Servers count in various ways; what was made here is known.
        counted = zip(scored, tokens, strict=True)
        verdict.tokens_in += sum(said if read is None else len(read) for (_, said), read in counted)
        return [score for score, _ in scored], dropped

    def request(self, units: Sequence[Unit]) -> ChatRequest:
        """The conversations that would be scored, for estimates."""
        turns = [
            turn
            for group in answer_groups(units)
            for text in group.texts
            for turn in self._turns(group, text)
        ]
        return ChatRequest(tuple(turns), max_tokens=0)

    async def close(self) -> None:
        """Close the connections."""
        if self._reading is not None:
            self._reading.close()
        await self._server.close()

    async def _score(self, group: AnswerGroup, text: str, tokens: list[int] | None) -> tuple[float, int]:
        if self._api is None:
            async with self._choosing:  # the first ask finds out; the others wait for it
                if self._api is None:
                    return await self._first(group, text, tokens)
        return await self._ask(self._api, group, text, tokens)

    async def _first(self, group: AnswerGroup, text: str, tokens: list[int] | None) -> tuple[float, int]:
        """Try the forms in turn until the server knows one."""
        said: list[str] = []
        for api in TRIED:
            try:
                found = await self._ask(api, group, text, tokens)
            except (Unusable, Unanswerable) as error:
                if not _UNKNOWN.search(str(error)) or _NO_MODEL.search(str(error)):
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
        self, api: str, group: AnswerGroup, text: str, tokens: list[int] | None
    ) -> tuple[float, int]:
        turns = self._turns(group, text)
        try:
            return await self._send(api, RewardRequest(self._server.model, turns, tokens))
        except Unanswerable as error:
            told = tokens is None and self._system and turns[0]["role"] == "system"
            if not told or "system" not in str(error).lower():
                raise
        self._system = False  # its chat template knows no system turn: the person is told in the question's
        return await self._send(api, RewardRequest(self._server.model, self._turns(group, text)))

    async def _send(self, api: str, asked: RewardRequest) -> tuple[float, int]:
        form = APIS[api]
        if self._reading is None:
            body = form.body(asked)
        else:
            body = await self._reading.do(
                lambda reader: form.body(replace(asked, tokenizer=reader.tokenizer))
            )
        try:
            payload = await self._server.post(f"{self._root}/{form.path}", body, f"/{form.path}")
        except Unanswerable as error:
            if _NO_MODEL.search(str(error)):  # some say so with the status of a bad request
                raise Unusable(str(error)) from error
            raise
        try:
            return form.read(payload)
        except (TypeError, KeyError, IndexError, ValueError, AttributeError):
            raise Transient(f"{self._server.url} answered something that is no score.") from None

    def _turns(self, group: AnswerGroup, answer: str) -> list[Message]:
        person = render_facets(known(group.context))
        told = KNOWN.format(person=person) if person else ""
        system = [{"role": "system", "content": told}] if told and self._system else []
        asked = group.prompt if self._system or not told else f"{told}\n\n{group.prompt}"
        return [*system, {"role": "user", "content": asked}, {"role": "assistant", "content": answer}]


def _reading(spec: Spec) -> Readers | None:
    """How the model that `tokenizer=` names reads; None where the server is to see to that."""
    source = spec.options.get("tokenizer")
    alone = [name for name in READING_OPTIONS if name in spec.options]
    if source is None:
        if alone:
            raise UserError(
                f"{spec.text}: {alone[0]} is for texts that are made here, with ,tokenizer=FOLDER."
            )
        return None
    if "system" in spec.options:
        raise UserError(f"{spec.text}: system is for servers that make the text; leave out it or tokenizer.")
    options = {name: spec.options[name] for name in alone}
    return Readers(find_weights(replace(spec, name=source, url=None, options=options)))
