"""Any OpenAI-compatible endpoint, over aiohttp, and careful parsing of its replies, since some are malformed.

Servers differ in what they accept, and in the HTTP status they reject it with. A setting named in a rejection is left
out from then on. Reasoning, whether in its own field or between <think> tags, is kept apart.
"""

import asyncio
import json
import math
import os
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import orjson

from personafit._errors import UserError
from personafit._secrets import key_for, masked, refuse_secrets, without
from personafit.models.calls import Deadlines, borrow_pool, give_pool_back
from personafit.models.chat import (
    MOST_TOKENS,
    ChatReply,
    ChatRequest,
    ToolCall,
    Transient,
    Unanswerable,
    Unusable,
    one_line,
)
from personafit.models.purse import Payment, reply_cost
from personafit.models.spec import Spec

if TYPE_CHECKING:
    import aiohttp

DEFAULT_URL = "https://api.openai.com/v1"
CUT_OFF = ("length", "max_tokens", "MAX_TOKENS")  # finish reasons of a reply cut off by the token limit
REJECTIONS = (400, 403, 404, 405, 415, 422, 501)
"""Statuses whose error message may be about a setting, and not about the key or the address."""
NAMED = {
    "logprobs": re.compile(r"log[ _-]?prob"),
    "temperature": re.compile(r"\btemperature\b"),
    "seed": re.compile(r"\bseed\b"),
    "reasoning_effort": re.compile(r"\breasoning[ _.-]effort\b"),
}
"""How an error message, in lower case, names each setting that can be left out."""
_NO_TOOLS = re.compile(
    r"\btools?\b|\btool[ _-]|function[ _-]call"
)  # in a rejection: functions cannot be called
# The opening tag may be missing, since some chat templates put it into the prompt.
_THINK = re.compile(r"^(?:\s*<think>(.*?)(?:</think>|\Z)|(.*?)</think>)", re.DOTALL)
OPTIONS = ("effort", "price", "concurrency", "timeout", "temperature", "key_env")
TOP_LOGPROBS = 20
LARGEST_REPLY = 64 << 20  # bytes: far above the longest reply a model can generate
LIMITS = ("max_tokens", "max_completion_tokens")


class OpenAIModel:
    """A chat model behind an HTTP endpoint."""

    def __init__(self, spec: Spec) -> None:
        spec.allow(OPTIONS)
        if not spec.name:
            raise UserError(
                f"{spec.text}: name a model, such as openai:gpt-4.1-mini or openai:MODEL@http://HOST/v1."
            )
        self.name = spec.text
        self.model = spec.name
        self.url = spec.url or os.environ.get("OPENAI_BASE_URL", DEFAULT_URL).rstrip("/")
        refuse_secrets(self.url, "OPENAI_BASE_URL")
        if spec.url == "" or not self.url.startswith(("http://", "https://")):
            raise UserError(f"{spec.text}: the address must start with http:// or https://.")
        self.endpoint = self.url
        self.max_concurrency = int(spec.number("concurrency", 200, least=1))
        self.timeout = spec.number("timeout", 120, least=0.001)
        self.effort = spec.options.get("effort")
        self.price = spec.price()
        self._temperature = spec.number("temperature", 0) if "temperature" in spec.options else None
        self.settings: dict[str, Any] = {
            "kind": "openai",
            "url": self.url,  # the same name may be another model on another server
            "model": self.model,
            "effort": self.effort,
            "temperature": spec.options.get("temperature"),
        }
        self._key_env = spec.options.get("key_env", "OPENAI_API_KEY")
        self._key = key = key_for(self._key_env)
        try:
            host = urlsplit(self.url).hostname
        except ValueError as error:
            raise UserError(f"{spec.text}: '{self.url}' is not a URL ({error}).") from error
        wanted = "key_env" in spec.options or host == urlsplit(DEFAULT_URL).hostname
        self.missing_key = (
            f"{spec.text}: {self._key_env} is not set, and {self.url} needs a key; set it, or name a server of your own "
            "with openai:MODEL@URL."
            if wanted and not key
            else None
        )
        """The error to raise before any call if a required key is missing; None otherwise."""
        self._headers = {"Content-Type": "application/json"} | (
            {"Authorization": f"Bearer {key}"} if key else {}
        )
        self._dropped: set[str] = set()
        self._limit_name = LIMITS[0] if self.effort is None else LIMITS[1]
        self._refused_limits: set[str] = set()
        self._calls_tools = False  # whether a request with functions succeeded
        self._session: aiohttp.ClientSession | None = None
        self._deadlines = Deadlines(self.timeout)
        self._address = f"{self.url}/chat/completions"

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Send one request; rejected settings are dropped and the request is sent again at once."""
        if self.missing_key is not None:
            raise Unusable(self.missing_key)
        for _ in range(len(NAMED) + len(LIMITS)):
            body = self._body(request)
            async with Payment.for_request(request, self.price) as payment:
                status, payload, retry_after = await self._post(body)
                if status == 200:
                    reply = self._read(payload, request)
                    reply.cost = payment.pay(reply_cost(request, reply, self.price))
                    self._calls_tools = self._calls_tools or bool(request.tools)
                    return reply
            message = error_text(payload)
            if status in REJECTIONS and self._adapt(message, body):
                continue
            if request.tools and status in REJECTIONS:
                self._check_tools(message)
            self._raise(status, message, retry_after)
        raise Unusable(f"{self.url} rejects every form of the request for model {self.model}.")

    async def post(self, address: str, body: dict[str, Any], offered: str) -> Any:
        """Post to another address of the same server and return its reply; errors are the same as for a chat."""
        status, payload, retry_after = await self._post(body, address)
        if status != 200:
            self._raise(status, error_text(payload), retry_after, offered)
        return payload

    async def close(self) -> None:
        self._deadlines.close()
        if self._session is not None:
            await self._session.close()
            await give_pool_back(self.url)
            self._session = None

    def _body(self, request: ChatRequest) -> dict[str, Any]:
        temperature = request.temperature if self._temperature is None else self._temperature
        body: dict[str, Any] = {
            "model": self.model,
            "messages": request.messages,
            self._limit_name: request.max_tokens,
            "temperature": temperature,
        }
        if request.letters and self.effort is None:
            body |= {"logprobs": True, "top_logprobs": TOP_LOGPROBS}
        if request.seed is not None:
            body["seed"] = request.seed
        if self.effort is not None:
            body["reasoning_effort"] = self.effort
        if request.tools:
            body["tools"] = [{"type": "function", "function": tool} for tool in request.tools]
        for name in self._dropped:
            body.pop(name, None)
        return body

    async def _post(self, body: dict[str, Any], address: str | None = None) -> tuple[int, Any, float | None]:
        import aiohttp

        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=borrow_pool(self.url),
                connector_owner=False,
                timeout=aiohttp.ClientTimeout(),  # `Deadlines` enforces the timeout
                headers=self._headers,
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        task = self._deadlines.begin()
        try:
            post = self._session.post(
                address or self._address, data=orjson.dumps(body), allow_redirects=False
            )
            async with post as response:
                if 300 <= response.status < 400:  # requests contain personal data, meant for this server only
                    target = masked(response.headers.get("Location", "nowhere")[:200])
                    raise Unusable(
                        f"{self.url} redirects to {target}; name that address in the spec if it is yours."
                    )
                payload = decoded(await self._whole(response))
                pause = None if response.status == 200 else pause_asked(response.headers)
                return response.status, payload, pause
        except asyncio.CancelledError:
            if not self._deadlines.passed(task):
                raise
            raise Transient(f"{self.url} did not answer within {self.timeout:g} s.", sent=True) from None
        except ValueError:  # InvalidURL is one, and so is an invalid header
            raise Unusable(f"{self.url} is not a usable address, or the key is not a usable one.") from None
        except aiohttp.ClientConnectorError as error:
            raise Transient(f"{self.url} cannot be reached ({one_line(error.os_error)}).") from error
        except (aiohttp.ClientError, asyncio.IncompleteReadError, OSError) as error:
            raise Transient(f"{self.url} broke off: {masked(one_line(error))}.", sent=True) from error
        finally:
            self._deadlines.end(task)

    async def _whole(self, response: "aiohttp.ClientResponse") -> bytes:
        """Read the whole reply, up to a maximum; an endless one would otherwise fill the memory before the timeout."""
        if (response.content_length or LARGEST_REPLY) < LARGEST_REPLY and not response.headers.get(
            "Content-Encoding"
        ):
            return await response.read()  # of known size
        parts, size = [], 0
        async for part in response.content.iter_any():
            parts.append(part)
            size += len(part)
            if size > LARGEST_REPLY:
                response.close()
                raise Transient(
                    f"{self.url} sent more than {LARGEST_REPLY >> 20} MB as one reply.", sent=True
                )
        return b"".join(parts)

    def _adapt(self, message: str, body: dict[str, Any]) -> bool:
        """Drop the setting a rejection names; return whether the rejected body had it."""
        lowered = message.lower()
        for name, other in (LIMITS, LIMITS[::-1]):
            if name in body and name in lowered and other not in self._refused_limits:
                self._refused_limits.add(name)
                self._limit_name = other
                return True
        for name, named in NAMED.items():
            if name in body and named.search(lowered):
                self._dropped |= {"logprobs", "top_logprobs"} if name == "logprobs" else {name}
                return True
        return False

    def _check_tools(self, message: str) -> None:
        """Raise if a rejection says that functions cannot be called; one about an overlong prompt may name them too."""
        lowered = message.lower()
        if not self._calls_tools and _NO_TOOLS.search(lowered) and "tokens" not in lowered:
            said = masked(without(self._key, message))
            raise Unusable(
                f"{self.url} does not let model '{self.model}' call functions ({said.rstrip('.')}); add ,tools=text to "
                "the spec, so that it writes its calls as text."
            )

    def _raise(
        self, status: int, message: str, retry_after: float | None, offered: str = "chat completions"
    ) -> None:
        said = f" ({masked(without(self._key, message))})" if message else ""
        fatal = {
            401: ("refuses the key" if self._key else "wants a key", f"set {self._key_env} and run again"),
            403: (f"does not let this key use model '{self.model}'", f"check {self._key_env} and the name"),
            404: (f"knows no model '{self.model}' or no {offered}", "check name and URL"),
        }
        if status in fatal:
            fault, do = fatal[status]
            raise Unusable(f"{self.url} {fault} (HTTP {status}){said}; {do}.")
        if status in (408, 409, 425, 429) or status >= 500:
            fault = "is overloaded" if status == 429 else "failed"
            sentence = f"{self.url} {fault} (HTTP {status}){said}."
            raise Transient(sentence, retry_after, overloaded=status in (429, 503))
        raise Unanswerable(f"{self.url} rejected the request (HTTP {status}){said}.")

    def _read(self, payload: Any, request: ChatRequest) -> ChatReply:
        reply = read_completion(payload, request.letters)
        if reply is None:
            raise Transient(f"{self.url} answered something that is not a chat completion.", sent=True)
        reply.text = without(self._key, reply.text)
        reply.reasoning = reply.reasoning and without(self._key, reply.reasoning)
        if reply.tool_calls:
            reply.tool_calls = tuple(
                replace(
                    call, name=without(self._key, call.name), arguments=without(self._key, call.arguments)
                )
                for call in reply.tool_calls
            )
        return reply


def read_completion(payload: Any, letters: tuple[str, ...]) -> ChatReply | None:
    """Parse a chat completion; return None if the payload is not one."""
    try:
        choice = payload["choices"][0]
        message = choice["message"]
        content = message.get("content")
    except (TypeError, KeyError, IndexError, AttributeError):
        return None
    text = content if isinstance(content, str) else ""
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    if "think>" in text and (match := _THINK.match(text)):
        reasoning = reasoning or (match[1] or match[2] or "").strip()
        text = text[match.end() :]
    usage = _object(payload.get("usage"))
    reply = ChatReply(
        text=text,
        reasoning=reasoning if isinstance(reasoning, str) and reasoning else None,
        refused=choice.get("finish_reason") == "content_filter" or bool(message.get("refusal")),
        cut=choice.get("finish_reason") in CUT_OFF,
        tokens_in=_count(usage, "prompt_tokens"),
        tokens_out=_count(usage, "completion_tokens"),
        tokens_reasoning=_count(_object(usage.get("completion_tokens_details")), "reasoning_tokens"),
        tool_calls=tuple(_calls(message.get("tool_calls"))),
    )
    if reply.reasoning and not reply.tokens_reasoning:
        reply.tokens_reasoning = max(0, reply.tokens_out - len(text) // 4)  # not reported: the rest
    if letters and not reply.reasoning:
        reply.letter_scores = letter_scores(choice.get("logprobs"), letters)
    return reply


def _calls(found: Any) -> Iterator[ToolCall]:
    """Yield the function calls of a message, skipping malformed ones; arguments stay as the model wrote them."""
    for number, call in enumerate(found if isinstance(found, list) else []):
        function = _object(_object(call).get("function"))
        name, arguments = function.get("name"), function.get("arguments")
        if isinstance(name, str):
            text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
            given = call.get("id")
            yield ToolCall(given if isinstance(given, str) and given else f"call-{number}", name, text)


def letter_scores(logprobs: Any, letters: tuple[str, ...]) -> dict[str, float] | None:
    """Return the log-probability of each letter at the first token that carries text, or None if there is no letter there.

    A letter outside the listed alternatives gets the log-probability of the last of them, which is an upper bound.
    """
    try:
        for token in logprobs["content"]:
            alternatives: dict[str, float] = {}
            for entry in [*token["top_logprobs"], token]:
                letter = entry["token"].strip()
                if letter in letters:
                    alternatives[letter] = max(entry["logprob"], alternatives.get(letter, -1e9))
            if alternatives:
                floor = min(entry["logprob"] for entry in [*token["top_logprobs"], token])
                scores = {letter: float(alternatives.get(letter, floor)) for letter in letters}
                return scores if all(map(math.isfinite, scores.values())) else None
            if token["token"].strip():
                return None
    except (TypeError, KeyError, IndexError, AttributeError, ValueError, OverflowError):
        return None
    return None


def decoded(data: bytes) -> Any:
    """Parse a body as JSON, or return the beginning of its text."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        text = data.decode("utf-8", "replace")
    try:
        # Half an emoji, cut off at the token limit, is valid JSON to the standard library only.
        whole = json.dumps(json.loads(text), ensure_ascii=False)
        return json.loads(whole.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    except (ValueError, RecursionError):
        return text[:200]


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(usage: dict[str, Any], name: str) -> int:
    value = usage.get(name)
    return int(value) if isinstance(value, int | float) and 0 < value < MOST_TOKENS else 0


def error_text(payload: Any) -> str:
    """Return the message of an error payload, wherever the server puts it."""
    if isinstance(payload, dict):
        error = payload.get("error", payload.get("detail", payload.get("message")))
        if isinstance(error, dict):
            named = error.get("param")
            payload = f"{error.get('message')} ({named})" if _unsaid(named, error) else error.get("message")
        else:
            payload = error
    if isinstance(
        payload, list
    ):  # FastAPI's, which repeats the request in each entry, personal data included
        payload = "; ".join(map(_complaint, payload))
    text = re.sub(r"<[^>]*>", " ", str(payload or ""))
    return " ".join(text.split())[:200]


def _unsaid(named: Any, error: dict[str, Any]) -> bool:
    """Return whether the setting an error is about is missing from its message."""
    return isinstance(named, str) and bool(named) and named not in str(error.get("message"))


def _complaint(detail: Any) -> str:
    if not isinstance(detail, dict) or "msg" not in detail:
        return str(detail)
    place = detail.get("loc")
    return f"{'.'.join(map(str, place))}: {detail['msg']}" if isinstance(place, list) else str(detail["msg"])


def pause_asked(headers: Mapping[str, str]) -> float | None:
    """Return the Retry-After header in seconds, from a number or a date; None if it is absent or neither."""
    value = headers.get("Retry-After")
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        until, now = _date(value), _date(headers.get("Date", ""))
        if until is None:
            return None
        # By the server's own clock if it sends it: ours may be wrong, or change during a run.
        seconds = until - (time.time() if now is None else now)
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _date(value: str) -> float | None:
    try:
        return parsedate_to_datetime(value).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
