"""`reward:NAME@URL`: a reward model behind a server.

vLLM's `/classify` and `/pooling` take messages and use the model's own chat template: they are tried in turn unless `,api=` names
a form. Servers that take bare text or tokens get them made here, where `,tokenizer=` says of which model.
"""

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from personafit._errors import UserError
from personafit._hashing import content_hash
from personafit.items.reading import Unit, Verdict
from personafit.models import ChatRequest, Message, Spec, Transient, Unanswerable, Unusable
from personafit.models.openai import OpenAIModel
from personafit.models.reward.rendering import KNOWN
from personafit.models.weights import switch
from personafit.people import RENDERING, render_facets
from personafit.raters.reward.forms import APIS, Asked, Form
from personafit.raters.reward.groups import AnswerGroup, answer_groups, keep_scores, known
from personafit.raters.reward.reading import OPTIONS as READING_OPTIONS
from personafit.raters.reward.reading import Reader, Readers
from personafit.raters.reward.weights import find_weights
from personafit.raters.scored import Scorer

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
        told = {"rendering": content_hash([RENDERING, KNOWN, READING])}
        rendering = told if self._reading is None else self._reading.settings
        self.settings: dict[str, Any] = {
            "url": self._server.url,
            "model": self._server.model,
            "api": self._api,
            "system": self._system,
        } | rendering

    async def scores(self, units: Sequence[Unit], verdict: Verdict) -> list[float]:
        """The score of each answer, each sent by itself."""
        verdict.calls = 0
        scored = await asyncio.gather(*(self._of_group(group, verdict) for group in answer_groups(units)))
        if self.price:
            verdict.cost = verdict.tokens_in * self.price[0] / 1e6
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

    def request(self, units: Sequence[Unit]) -> ChatRequest | None:
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
            return await self._send(api, Asked(self._server.model, turns, tokens))
        except Unanswerable as error:
            told = tokens is None and self._system and turns[0]["role"] == "system"
            if not told or "system" not in str(error).lower():
                raise
        self._system = False  # its chat template knows no system turn: the person is told in the question's
        return await self._send(api, Asked(self._server.model, self._turns(group, text)))

    async def _send(self, api: str, asked: Asked) -> tuple[float, int]:
        form = APIS[api]
        body = form.body(asked) if self._reading is None else await self._reading.do(_bodies(form, asked))
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


def _bodies(form: Form, asked: Asked) -> Callable[[Reader], dict[str, Any]]:
    return lambda reader: form.body(replace(asked, tokenizer=reader.tokenizer))


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
