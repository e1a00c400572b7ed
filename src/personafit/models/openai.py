"""Any OpenAI-compatible endpoint, over aiohttp.

Servers differ in what they accept, and in the HTTP status they reject it with. A setting that a rejection names is left out from then on. Reasoning, whether in its own field or between <think> tags, is kept apart.
"""

import asyncio
import os
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import orjson

from personafit._errors import UserError
from personafit._secrets import key_for, masked, refuse_secrets, without
from personafit.models.calls import Deadlines, borrow_pool, give_pool_back
from personafit.models.chat import ChatReply, ChatRequest, Transient, Unanswerable, Unusable, one_line
from personafit.models.completions import (
    DEFAULT_URL,
    NAMED,
    REJECTIONS,
    decoded,
    error_text,
    pause_asked,
    read_completion,
)
from personafit.models.spec import Spec
from personafit.models.tokens import paid_for, reply_cost

if TYPE_CHECKING:
    import aiohttp

OPTIONS = ("effort", "price", "concurrency", "timeout", "temperature", "key_env")
TOP_LOGPROBS = 20
LARGEST_REPLY = 64 << 20  # bytes: far above the longest reply a model can write
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
        """What is said before anything is asked, where no ask could succeed; None where the key is there or none is needed."""
        self._headers = {"Content-Type": "application/json"} | (
            {"Authorization": f"Bearer {key}"} if key else {}
        )
        self._dropped: set[str] = set()
        self._limit_name = LIMITS[0] if self.effort is None else LIMITS[1]
        self._refused_limits: set[str] = set()
        self._session: aiohttp.ClientSession | None = None
        self._deadlines = Deadlines(self.timeout)
        self._address = f"{self.url}/chat/completions"

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Send one request; rejected settings are dropped and the request sent again at once."""
        if self.missing_key is not None:
            raise Unusable(self.missing_key)
        for _ in range(len(NAMED) + len(LIMITS)):
            body = self._body(request)
            status, payload, retry_after = await self._post(body)
            if status == 200:
                return self._read(payload, request)
            message = error_text(payload)
            if status in REJECTIONS and self._adapt(message, body):
                continue
            self._raise(status, message, retry_after)
        raise Unusable(f"{self.url} rejects every form of the request for model {self.model}.")

    async def post(self, address: str, body: dict[str, Any], offered: str) -> Any:
        """The reply of another address of the same server; errors are the same as for a chat."""
        status, payload, retry_after = await self._post(body, address)
        if status != 200:
            self._raise(status, error_text(payload), retry_after, offered)
        return payload

    async def close(self) -> None:
        """Close the connections."""
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
        for name in self._dropped:
            body.pop(name, None)
        return body

    async def _post(self, body: dict[str, Any], address: str | None = None) -> tuple[int, Any, float | None]:
        import aiohttp

        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=borrow_pool(self.url),
                connector_owner=False,
                timeout=aiohttp.ClientTimeout(),  # the deadlines see to that
                headers=self._headers,
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        task = self._deadlines.begin()
        try:
            async with self._session.post(address or self._address, data=orjson.dumps(body)) as response:
                data = without(self._key, await self._whole(response))
                pause = None if response.status == 200 else pause_asked(response.headers)
                return response.status, decoded(data), pause
        except asyncio.CancelledError:
            if not self._deadlines.passed(task):
                raise
            raise Transient(f"{self.url} did not answer within {self.timeout:g} s.") from None
        except ValueError:  # InvalidURL is one, and so is a header that no server would take
            raise Unusable(f"{self.url} is not a usable address, or the key is not a usable one.") from None
        except aiohttp.ClientConnectorError as error:
            raise Transient(f"{self.url} cannot be reached ({one_line(error.os_error)}).") from error
        except (aiohttp.ClientError, asyncio.IncompleteReadError, OSError) as error:
            raise Transient(f"{self.url} broke off: {masked(one_line(error))}.") from error
        finally:
            self._deadlines.end(task)

    async def _whole(self, response: "aiohttp.ClientResponse") -> bytes:
        """All of the reply; one that never ends would otherwise fill the memory before the time is over."""
        if (response.content_length or LARGEST_REPLY) < LARGEST_REPLY and not response.headers.get(
            "Content-Encoding"
        ):
            return await response.read()  # of a known size
        parts, size = [], 0
        async for part in response.content.iter_any():
            parts.append(part)
            size += len(part)
            if size > LARGEST_REPLY:
                response.close()
                raise Transient(f"{self.url} sent more than {LARGEST_REPLY >> 20} MB as one reply.")
        return b"".join(parts)

    def _adapt(self, message: str, body: dict[str, Any]) -> bool:
        """Leave out what the message names; True if the body that was rejected had it, whoever noticed first."""
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

    def _raise(
        self, status: int, message: str, retry_after: float | None, offered: str = "chat completions"
    ) -> None:
        said = f" ({masked(message)})" if message else ""
        if status == 401:
            fault = "refuses the key" if self._key else "wants a key"
            raise Unusable(f"{self.url} {fault} (HTTP 401){said}; set {self._key_env} and run again.")
        if status == 403:
            raise Unusable(
                f"{self.url} does not let this key use model '{self.model}' (HTTP 403){said}; check {self._key_env} and the name."
            )
        if status == 404:
            raise Unusable(
                f"{self.url} knows no model '{self.model}' or no {offered} (HTTP 404){said}; check name and URL."
            )
        if status == 429:
            raise Transient(f"{self.url} is overloaded (HTTP 429){said}.", retry_after, overloaded=True)
        if status in (408, 409, 425) or status >= 500:
            raise Transient(
                f"{self.url} failed (HTTP {status}){said}.", retry_after, overloaded=status == 503
            )
        raise Unanswerable(f"{self.url} rejected the request (HTTP {status}){said}.")

    def _read(self, payload: Any, request: ChatRequest) -> ChatReply:
        reply = read_completion(payload, request.letters)
        if reply is None:
            raise Transient(f"{self.url} answered something that is not a chat completion.")
        reply.cost = paid_for(reply_cost(request, reply, self.price))
        return reply
