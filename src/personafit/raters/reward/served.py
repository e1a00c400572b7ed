"""`reward:NAME@URL`: a reward model behind a server.

vLLM's `/classify` and `/pooling` take messages and use the model's own chat template: they are tried in turn unless `,api=` names
a form. Servers that take bare text or tokens get them made here, where `,tokenizer=` says of which model.
"""

import asyncio
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from personafit._errors import UserError
from personafit._hashing import content_hash
from personafit.items.reading import Unit, Verdict
from personafit.models import ChatRequest, Message, Spec, Transient, Unanswerable, Unusable
from personafit.models.openai import OpenAIModel
from personafit.models.reward.rendering import KNOWN
from personafit.models.weights import switch
from personafit.people import RENDERING, render_facets
from personafit.raters.reward.reading import OPTIONS as READING_OPTIONS
from personafit.raters.reward.reading import (
    AnswerGroup,
    Reader,
    Readers,
    answer_groups,
    find_weights,
    keep_scores,
    known,
)
from personafit.raters.scored import Scorer

# -- tokens as text -----------------------------------------------------------------------------------------------------
# Spelled so that the server's tokenizer makes the same tokens of it again. Some servers put a beginning of sequence before every
# text, which a chat template may already have written; two of them would be scored without complaint. So what is spelled is read
# back here, as the server will read it, before anything is sent.

PARTED_AT = 8  # places to part a text at


def spelled(tokenizer: Any, tokens: list[int], marks: bool) -> str:
    """One text; `marks` says whether the server adds the tokenizer's own marks of beginning and end."""
    for text in _without_marks(tokenizer, tokens) if marks else [_decoded(tokenizer, tokens)]:
        if text and tokenizer(text, add_special_tokens=marks)["input_ids"] == tokens:
            return text
    raise Unanswerable(
        "The model's tokenizer reads its own text otherwise than before, so no text can be sent."
    )


def spelled_pair(tokenizer: Any, tokens: list[int]) -> tuple[str, str]:
    """Two texts that the server joins, and strips of white space, into the same tokens."""
    for place in _places(tokenizer, tokens):
        first, second = _decoded(tokenizer, tokens[:place]), _decoded(tokenizer, tokens[place:])
        stripped = first == first.strip() and second == second.strip()
        if stripped and first and second and tokenizer(first, second)["input_ids"] == tokens:
            return first, second
    raise Unanswerable(
        "The text cannot be parted in two such that the server puts it together again "
        "(a chat template that ends in white space, or marks between two texts)."
    )


def _decoded(tokenizer: Any, tokens: list[int]) -> str:
    text: str = tokenizer.decode(tokens, skip_special_tokens=False, clean_up_tokenization_spaces=False)
    return text


def _without_marks(tokenizer: Any, tokens: list[int]) -> Iterator[str]:
    """The whole text, and without the marks at its ends that the server may add."""
    begins = tokens[:1] in ([tokenizer.bos_token_id], [tokenizer.cls_token_id])
    ends = tokens[-1:] in ([tokenizer.eos_token_id], [tokenizer.sep_token_id])
    for start in (0, 1)[: 1 + begins]:
        for stop in (0, 1)[: 1 + ends]:
            yield _decoded(tokenizer, tokens[start : len(tokens) - stop])


def _places(tokenizer: Any, tokens: list[int]) -> list[int]:
    """Where to try: beside special tokens, which no tokenizer joins with their neighbours, the last first; then in the middle."""
    special = set(tokenizer.all_special_ids)
    beside = [at + side for at, token in enumerate(tokens) if token in special for side in (0, 1)]
    found = sorted({place for place in beside if 0 < place < len(tokens)}, reverse=True)
    middle = len(tokens) // 2
    return [*found[:PARTED_AT], *range(max(1, middle - PARTED_AT), middle)]


# -- forms --------------------------------------------------------------------------------------------------------------
# What servers are sent, and where the number stands in what they answer. Plain scores are asked for wherever a server would squeeze
# them between 0 and 1, where good answers would become equal.


@dataclass(frozen=True)
class RewardRequest:
    """One answer to be scored: as a conversation, and as tokens where the model's tokenizer is at hand."""

    model: str
    turns: list[Message]
    tokens: list[int] | None = None
    tokenizer: Any = None


@dataclass(frozen=True)
class Form:
    """An address of a server, and how it is spoken to."""

    path: str
    body: Callable[[RewardRequest], dict[str, Any]]
    numbers: Callable[[Any], Any]
    """What stands for the score in a reply; raises a lookup error where there is none."""
    usage: Callable[[Any], Any] = lambda payload: (payload.get("usage") or {}).get("prompt_tokens")
    here: bool = False
    """Whether the text must be made here, because the server applies no chat template."""

    def read(self, payload: Any) -> tuple[float, int]:
        """The score, and how many tokens were read, as far as the server says."""
        numbers = self.numbers(payload)
        tokens = self.usage(payload)
        numbers = numbers if isinstance(numbers, list) else [numbers]
        if len(numbers) != 1:
            raise Unanswerable(f"The server gives {len(numbers)} numbers per text; a reward model gives one.")
        score = math.nan if numbers[0] is None else float(numbers[0])
        return score, tokens if isinstance(tokens, int) and tokens > 0 else 0


def _conversation(asked: RewardRequest) -> dict[str, Any]:
    plain = {"model": asked.model, "use_activation": False}
    if asked.tokens is not None:
        return plain | {"input": asked.tokens}
    return plain | {"messages": asked.turns, "add_generation_prompt": False}


def _pair(asked: RewardRequest) -> tuple[str, str]:
    if asked.tokens is not None:
        return spelled_pair(asked.tokenizer, asked.tokens)
    return "\n\n".join(turn["content"] for turn in asked.turns[:-1]), asked.turns[-1]["content"]


def _two_texts(asked: RewardRequest) -> dict[str, Any]:
    first, second = _pair(asked)
    return {"model": asked.model, "text_1": first, "text_2": second, "use_activation": False}


def _document(asked: RewardRequest) -> dict[str, Any]:
    query, document = _pair(asked)
    plain = {"raw_scores": True, "use_activation": False}  # infinity's word for it, and vLLM's
    return {"model": asked.model, "query": query, "documents": [document], **plain}


def _tokens(asked: RewardRequest) -> dict[str, Any]:
    return {"input_ids": asked.tokens}


def _inputs(asked: RewardRequest) -> dict[str, Any]:
    text = spelled(asked.tokenizer, asked.tokens or [], marks=True)
    return {"inputs": text, "raw_scores": True, "truncate": False}


def _query(asked: RewardRequest) -> dict[str, Any]:
    return {"query": [spelled(asked.tokenizer, asked.tokens or [], marks=False)]}


def _pooled(payload: Any) -> Any:
    """One number, or one per token, of which the last counts."""
    numbers = payload["data"][0]["data"]
    while isinstance(numbers, list) and numbers and isinstance(numbers[0], list):
        numbers = numbers[-1]
    return numbers


def _embedded(payload: Any) -> Any:
    return payload["embedding"]


def _predicted(payload: Any) -> Any:
    return [label["score"] for label in payload]


def _rewards(payload: Any) -> Any:
    (reward,) = payload["rewards"]
    return reward


APIS: dict[str, Form] = {
    "classify": Form("classify", _conversation, lambda payload: payload["data"][0]["probs"]),
    "pooling": Form("pooling", _conversation, _pooled),
    "score": Form("score", _two_texts, lambda payload: payload["data"][0]["score"]),
    "rerank": Form("rerank", _document, lambda payload: payload["results"][0]["relevance_score"]),
    "sglang": Form(
        "classify", _tokens, _embedded, lambda payload: payload["meta_info"]["prompt_tokens"], here=True
    ),
    "tei": Form("predict", _inputs, _predicted, lambda _payload: 0, here=True),
    "openrlhf": Form("get_reward", _query, _rewards, lambda _payload: 0, here=True),
}


# -- the scorer ---------------------------------------------------------------------------------------------------------

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
            return await self._send(api, RewardRequest(self._server.model, turns, tokens))
        except Unanswerable as error:
            told = tokens is None and self._system and turns[0]["role"] == "system"
            if not told or "system" not in str(error).lower():
                raise
        self._system = False  # its chat template knows no system turn: the person is told in the question's
        return await self._send(api, RewardRequest(self._server.model, self._turns(group, text)))

    async def _send(self, api: str, asked: RewardRequest) -> tuple[float, int]:
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


def _bodies(form: Form, asked: RewardRequest) -> Callable[[Reader], dict[str, Any]]:
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
