"""`inspect:PROVIDER/MODEL`: any model that Inspect AI can call; installed with the extra `inspect`.

Keys and addresses are found as Inspect finds them, in the provider's own environment variables. Inspect is told not to retry:
the engine does, so that the outcome of every try is in the store. Option scores are read if the provider returns log-probabilities.
"""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import orjson

from personafit._errors import UserError
from personafit._secrets import masked
from personafit.models.chat import (
    ChatReply,
    ChatRequest,
    ModelError,
    Transient,
    Unanswerable,
    Unusable,
    one_line,
)
from personafit.models.openai import NAMED, REJECTIONS, TOP_LOGPROBS, letter_scores
from personafit.models.purse import Payment, reply_cost
from personafit.models.spec import Spec

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage, GenerateConfig, ModelOutput

OPTIONS = ("base_url", "effort", "price", "concurrency", "timeout", "temperature")
ARGUMENT = "arg_"  # arg_NAME=VALUE corresponds to `inspect eval -M NAME=VALUE`
# Settings a provider may reject by name; a rejected one is left out from then on.
_DROPPABLE = {"logprobs": ("logprobs", "top_logprobs"), "temperature": ("temperature",), "seed": ("seed",)}

_FATAL = {
    401: ("refuses the key", "set the provider's variable and run again"),
    403: ("may not be used with this key", "check the key and the model"),
    404: ("is not known there", "check provider and model"),
}


class InspectModel:
    """A model behind one of Inspect's providers."""

    def __init__(self, spec: Spec) -> None:
        arguments = {
            name.removeprefix(ARGUMENT): _value(text)
            for name, text in spec.options.items()
            if name.startswith(ARGUMENT)
        }
        spec.allow([*OPTIONS, *(f"{ARGUMENT}{name}" for name in arguments)])
        if "/" not in spec.name:
            raise UserError(
                f"{spec.text}: name provider and model as Inspect does, such as inspect:anthropic/MODEL."
            )
        self.name = spec.text
        self.endpoint = spec.text.partition(",")[0]
        self.max_concurrency = int(spec.number("concurrency", 20, least=1))
        self.timeout = spec.number("timeout", 120, least=0.001)
        self.effort = spec.options.get("effort")
        self.price = spec.price()
        self._temperature = spec.number("temperature", 0) if "temperature" in spec.options else None
        self._dropped: set[str] = set()
        self._model = _open(spec, arguments, self.max_concurrency, self.timeout)
        self.settings: dict[str, Any] = {
            "kind": "inspect",
            "model": spec.name,
            "url": masked(self._model.api.base_url or "") or None,
            "arguments": arguments,
            "effort": self.effort,
            "temperature": spec.options.get("temperature"),
        }

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Ask once; settings the provider rejects are dropped and the request is sent again at once."""
        for _ in range(len(_DROPPABLE) + 1):
            config = self._config(request)
            async with Payment.for_request(request, self.price) as payment:
                try:
                    output = await self._model.generate(_messages(request), config=config)
                except Exception as raised:  # every provider has its own errors
                    error = _unwrapped(raised)
                    if self._adapt(error, config):
                        continue
                    raise self._sorted(error) from None
                reply = self._read(output, request)
                reply.cost = payment.pay(reply_cost(request, reply, self.price))
                return reply
        raise Unusable(f"{self.name} rejects every form of the request.")

    async def close(self) -> None:
        await self._model.api.aclose()

    def _config(self, request: ChatRequest) -> "GenerateConfig":
        from inspect_ai.model import GenerateConfig

        weigh = bool(request.letters) and self.effort is None
        wanted: dict[str, Any] = {
            "max_tokens": request.max_tokens,
            "temperature": request.temperature if self._temperature is None else self._temperature,
            "seed": request.seed,
            "reasoning_effort": self.effort,
            "logprobs": True if weigh else None,
            "top_logprobs": TOP_LOGPROBS if weigh else None,
        }
        return GenerateConfig(**{name: value for name, value in wanted.items() if name not in self._dropped})

    def _adapt(self, error: Exception, config: "GenerateConfig") -> bool:
        """Drop the setting that the provider rejected; return False if it named none that was sent."""
        if _status(error) not in REJECTIONS:
            return False
        said = str(error).lower()
        for name, settings in _DROPPABLE.items():
            if NAMED[name].search(said) and getattr(config, name) is not None:
                self._dropped.update(settings)
                return True
        return False

    def _sorted(self, error: Exception) -> ModelError:
        """Map a provider's error to Transient, Unanswerable or Unusable."""
        status, said = _status(error), masked(_sentence(error))
        if status in _FATAL:
            fault, do = _FATAL[status]
            return Unusable(f"{self.name} {fault} (HTTP {status}: {said}); {do}.")
        if isinstance(error, TimeoutError) or type(error).__name__ == "AttemptTimeoutError":
            return Transient(f"{self.name} did not answer within {self.timeout:g} s.", sent=True)
        decision = self._model.api.should_retry(error)
        if decision:
            limited = getattr(decision, "kind", "") == "rate_limit"
            return Transient(
                f"{self.name} failed: {said}.", getattr(decision, "retry_after", None), overloaded=limited
            )
        if type(error).__name__ == "PrerequisiteError":
            return Unusable(f"{self.name}: {said}.")
        return Unanswerable(f"{self.name} rejected the request: {said}.")

    def _read(self, output: "ModelOutput", request: ChatRequest) -> ChatReply:
        if not output.choices:
            said = f" ({masked(output.error)})" if output.error else ""
            raise Transient(f"{self.name} answered nothing{said}.", sent=True)
        choice, usage = output.choices[0], output.usage
        reasoning = _reasoning(choice.message.content)
        reply = ChatReply(
            text=output.completion,
            reasoning=reasoning,
            refused=choice.stop_reason == "content_filter",
            cut=choice.stop_reason in ("max_tokens", "model_length"),
        )
        if usage is not None:
            cached = (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
            reply.tokens_in = usage.input_tokens + cached
            reply.tokens_out = usage.output_tokens
            reply.tokens_reasoning = usage.reasoning_tokens or 0
        if request.letters and reasoning is None and choice.logprobs is not None:
            reply.letter_scores = letter_scores(choice.logprobs.model_dump(), request.letters)
        return reply


def _open(spec: Spec, arguments: Mapping[str, Any], connections: int, timeout: float) -> Any:
    try:
        from inspect_ai.model import GenerateConfig, get_model
    except ImportError as error:
        raise UserError(
            f"{spec.text} needs Inspect AI: pip install 'personafit[inspect]' ({one_line(error)})."
        ) from error
    config = GenerateConfig(
        max_retries=0,
        attempt_timeout=max(1, round(timeout)),
        max_connections=connections,
        adaptive_connections=False,
    )
    url = spec.options.get("base_url")
    try:
        model = get_model(spec.name, config=config, base_url=url, memoize=False, **arguments)
    except Exception as error:  # missing packages, missing keys, unknown providers: errors differ by provider
        raise UserError(f"{spec.text} cannot be opened: {masked(_sentence(error))}.") from error
    client = getattr(model.api, "client", None)
    if client is not None and "max_retries" not in arguments and hasattr(client, "max_retries"):
        client.max_retries = 0  # the providers' own libraries would retry unseen
    return model


def _messages(request: ChatRequest) -> "list[ChatMessage]":
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser

    kinds = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
    return [kinds[message["role"]](content=message["content"]) for message in request.messages]


def _reasoning(content: Any) -> str | None:
    """Return the model's reasoning, if the provider reports it."""
    if isinstance(content, str):
        return None
    thoughts = [part.reasoning for part in content if part.type == "reasoning" and part.reasoning]
    return "\n".join(thoughts) or None


def _unwrapped(error: Exception) -> Exception:
    """Return the provider's own error: Inspect wraps it in an unused retry and in an error that repeats the request."""
    while True:
        attempt = getattr(error, "last_attempt", None)
        inner = attempt.exception() if attempt is not None else None
        if inner is None and getattr(error, "provider_message", None) is not None:
            inner = error.__cause__
        if not isinstance(inner, Exception):
            return error
        error = inner


def _status(error: BaseException) -> int | None:
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else None


def _sentence(error: BaseException) -> str:
    """Return an error's message without markup."""
    said = re.sub(r"\[/?(?:bold|blue)?\]", "", str(getattr(error, "message", error)))
    return one_line(Exception(said)) if said.strip() else one_line(error)


def _value(text: str) -> Any:
    """Parse an argument as Inspect does: as JSON if it is valid, else as a text."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
