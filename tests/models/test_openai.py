"""OpenAI-compatible endpoints: what is sent, how replies and letters are read, and which fault is of which sort."""

import asyncio
import time
from collections.abc import Callable
from email.utils import formatdate
from typing import Any

import pytest
from aiohttp import web

from personafit import ChatReply
from personafit.models import ChatRequest, ModelError, Transient, Unanswerable, Unusable, make_model
from personafit.models.openai import OpenAIModel, letter_scores
from tests.stub_endpoint import (
    BEHAVIOURS,
    LONG_REPLY,
    ODD_READ,
    Behaviour,
    Body,
    StubEndpoint,
    completion,
    failing,
    saying,
)

MESSAGES = ({"role": "user", "content": "Which one? 答案"},)
LETTERS = ("A", "B")


def ask(spec: str, *requests: ChatRequest) -> list[ChatReply]:
    """Send the requests all at once and return the replies."""

    async def scenario() -> list[ChatReply]:
        model = make_model(spec)
        try:
            return list(await asyncio.gather(*map(model.chat, requests)))
        finally:
            await model.close()

    return asyncio.run(scenario())


def choose(endpoint: StubEndpoint, behaviour: str, options: str = "") -> ChatReply:
    endpoint.behave(behaviour)
    return ask(endpoint.spec(options), ChatRequest(MESSAGES, letters=LETTERS))[0]


@pytest.fixture
def behaviour(monkeypatch: pytest.MonkeyPatch) -> Callable[[Behaviour], str]:
    """Adds a behaviour of the test's own to the stub's."""

    def add(made: Behaviour) -> str:
        monkeypatch.setitem(BEHAVIOURS, "own", made)
        return "own"

    return add


def test_a_choice_is_sent_with_everything_and_read_from_the_letters(endpoint: StubEndpoint) -> None:
    reply = choose(endpoint, "letters", ",price=1.0/2.0")
    assert reply.letter_scores is not None
    assert max(reply.letter_scores, key=lambda letter: (reply.letter_scores or {})[letter]) == reply.text
    assert (reply.tokens_in, reply.tokens_out) == (100, 10)
    assert reply.cost == pytest.approx((100 * 1.0 + 10 * 2.0) / 1e6)
    (body,) = endpoint.requests
    assert body == {
        "model": "stub",
        "messages": list(MESSAGES),
        "max_tokens": 512,
        "temperature": 0.0,
        "logprobs": True,
        "top_logprobs": 20,
    }


def test_the_key_comes_from_the_environment_without_its_line_end(
    endpoint: StubEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "secret\n")
    choose(endpoint, "letters", ",key_env=MY_KEY")
    choose(endpoint, "letters")
    assert endpoint.keys == ["Bearer secret", None]


def test_effort_temperature_and_seed_are_passed_on(endpoint: StubEndpoint) -> None:
    request = ChatRequest(MESSAGES, max_tokens=7, letters=LETTERS, seed=3)
    ask(endpoint.spec(",effort=low,temperature=0.5"), request)
    (body,) = endpoint.requests
    assert (body["reasoning_effort"], body["temperature"], body["seed"]) == ("low", 0.5, 3)
    assert body["max_completion_tokens"] == 7
    assert not {"max_tokens", "logprobs", "top_logprobs"} & set(body), "a model that reasons shows no letters"


@pytest.mark.parametrize("name", ["think", "think_unopened", "reasoning_content"])
def test_reasoning_is_kept_apart(endpoint: StubEndpoint, name: str) -> None:
    reply = choose(endpoint, name)
    assert reply.reasoning == "Let me see."
    assert reply.text.strip() in LETTERS
    assert reply.letter_scores is None
    assert 0 < reply.tokens_reasoning <= reply.tokens_out


def test_a_thought_that_was_cut_off_is_no_answer(
    endpoint: StubEndpoint, behaviour: Callable[[Behaviour], str]
) -> None:
    own = behaviour(saying(lambda body: completion(body, "<think>First, A", finish="length")))
    reply = choose(endpoint, own)
    assert (reply.text, reply.reasoning, reply.cut) == ("", "First, A", True)


@pytest.mark.parametrize("name", ["refusal", "content_filter"])
def test_refusals_are_told(endpoint: StubEndpoint, name: str) -> None:
    reply = choose(endpoint, name)
    assert (reply.refused, reply.text) == (True, "")


@pytest.mark.parametrize(("name", "text"), [("long", LONG_REPLY), ("odd", ODD_READ), ("plain", None)])
def test_replies_come_through_whole(endpoint: StubEndpoint, name: str, text: str | None) -> None:
    reply = choose(endpoint, name)
    assert reply.letter_scores is None
    assert reply.text == text if text else reply.text in LETTERS
    reply.text.encode()  # no lone surrogate is left


@pytest.mark.parametrize(
    ("name", "sort", "said"),
    [
        (
            "unauthorized",
            Unusable,
            "wants a key (HTTP 401) (Incorrect API key provided); set OPENAI_API_KEY",
        ),
        ("forbidden", Unusable, "does not let this key use model 'stub' (HTTP 403) (as told); check"),
        ("not_found", Unusable, "knows no model 'stub'"),
        ("overloaded", Transient, "is overloaded (HTTP 429)"),
        ("error", Transient, "failed (HTTP 500)"),
        ("cut", Transient, "broke off"),
        ("html", Transient, "not a chat completion"),
        ("empty", Transient, "not a chat completion"),
        ("wrong_shape", Transient, "not a chat completion"),
        ("hang", Transient, "did not answer within 0.2 s."),
        ("too_long", Unanswerable, "rejected the request (HTTP 400) (maximum context length"),
    ],
)
def test_faults_are_sorted(endpoint: StubEndpoint, name: str, sort: type[ModelError], said: str) -> None:
    with pytest.raises(sort) as caught:
        choose(endpoint, name, ",timeout=0.2")
    assert said in str(caught.value)
    assert str(caught.value).startswith(endpoint.url)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "payload",
    [
        [],
        "text",
        None,
        {"choices": None},
        {"choices": ["text"]},
        {"choices": [{"message": None}]},
        {"choices": [{"message": "A"}]},
        {"error": {"message": "an error that came with status 200"}},
    ],
)
def test_json_of_another_shape_is_a_passing_fault(
    endpoint: StubEndpoint, behaviour: Callable[[Behaviour], str], payload: Any
) -> None:
    with pytest.raises(Transient, match="not a chat completion"):
        choose(endpoint, behaviour(saying(lambda _body: payload)))


@pytest.mark.parametrize(
    "change",
    [
        {"usage": None},
        {"usage": []},
        {"usage": {"prompt_tokens": "many", "completion_tokens": -1, "completion_tokens_details": 3}},
    ],
)
def test_odd_accounts_do_not_spoil_an_answer(
    endpoint: StubEndpoint, behaviour: Callable[[Behaviour], str], change: dict[str, Any]
) -> None:
    own = behaviour(saying(lambda body: completion(body, "A") | change))
    reply = choose(endpoint, own, ",price=1000/1000000")
    assert (reply.text, reply.tokens_in, reply.tokens_out, reply.tokens_reasoning) == ("A", 0, 0, 0)
    assert 1.0 < reply.cost < 1.1, "a token out and a short prompt: without a cost no budget would ever end"


@pytest.mark.parametrize(
    ("header", "low", "high"),
    [
        ("7", 7.0, 7.0),
        ("0.25", 0.25, 0.25),
        ("-5", 0.0, 0.0),
        ("an hour from now", 3000.0, 3601.0),
    ],
)
def test_retry_after_is_read_as_number_and_as_date(
    endpoint: StubEndpoint, behaviour: Callable[[Behaviour], str], header: str, low: float, high: float
) -> None:
    if header == "an hour from now":
        header = formatdate(time.time() + 3600, usegmt=True)
    with pytest.raises(Transient) as caught:
        choose(endpoint, behaviour(failing(429, retry_after=header)))
    assert caught.value.overloaded
    assert caught.value.retry_after is not None
    assert low <= caught.value.retry_after <= high


@pytest.mark.parametrize("header", ["soon", "nan", "inf"])
def test_a_senseless_retry_after_counts_as_none(
    endpoint: StubEndpoint, behaviour: Callable[[Behaviour], str], header: str
) -> None:
    with pytest.raises(Transient) as caught:
        choose(endpoint, behaviour(failing(429, retry_after=header)))
    assert caught.value.retry_after is None


@pytest.mark.parametrize("parameter", ["logprobs", "max_tokens", "temperature"])
def test_a_rejected_parameter_is_left_out_even_by_requests_under_way(
    endpoint: StubEndpoint, parameter: str
) -> None:
    endpoint.behave(f"no_{parameter}")
    replies = ask(endpoint.spec(), *[ChatRequest(MESSAGES, letters=LETTERS)] * 10)
    assert {reply.text for reply in replies} <= set(LETTERS)
    sent = [parameter in body for body in endpoint.requests]
    assert sum(sent) <= 10
    assert sent[-1] is False
    limits = [{"max_tokens", "max_completion_tokens"} & set(body) for body in endpoint.requests]
    assert all(len(names) == 1 for names in limits), "some limit is always sent"


@pytest.mark.parametrize(
    ("status", "error", "dropped"),
    [
        (
            403,
            {"message": "You are not allowed to request logprobs from this model", "param": None},
            "logprobs",
        ),
        (400, {"message": "This model does not return log probabilities."}, "logprobs"),
        (400, {"message": "Unsupported value", "param": "temperature"}, "temperature"),
        (422, [{"loc": ["body", "top_logprobs"], "msg": "Extra inputs are not permitted"}], "logprobs"),
        (404, {"message": "No endpoints found that support the setting: seed"}, "seed"),
        (501, {"message": "log_probs: not implemented"}, "logprobs"),
    ],
)
def test_a_rejection_that_names_a_setting_is_about_the_setting(
    endpoint: StubEndpoint,
    behaviour: Callable[[Behaviour], str],
    status: int,
    error: Any,
    dropped: str,
) -> None:
    async def behave(_stub: StubEndpoint, _request: web.Request, body: Body) -> web.StreamResponse:
        if dropped in body:
            return web.json_response({"detail" if isinstance(error, list) else "error": error}, status=status)
        return web.json_response(completion(body, "A"))

    endpoint.behave(behaviour(behave))
    replies = ask(endpoint.spec(), *[ChatRequest(MESSAGES, letters=LETTERS, seed=3)] * 5)
    assert [reply.text for reply in replies] == ["A"] * 5
    assert "top_logprobs" not in endpoint.requests[-1] or dropped != "logprobs"


def test_a_key_that_may_not_use_a_model_is_not_taken_for_a_setting(
    endpoint: StubEndpoint, behaviour: Callable[[Behaviour], str]
) -> None:
    own = behaviour(failing(403, "Your project has exceeded its quota and may not use this model"))
    with pytest.raises(Unusable, match="exceeded its quota"):
        choose(endpoint, own)
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize("spec", ["openai:gpt-4.1-mini", "openai:m@http://127.0.0.1:9/v1,key_env=MY_KEY"])
def test_a_missing_key_is_said_without_connecting(monkeypatch: pytest.MonkeyPatch, spec: str) -> None:
    name = "MY_KEY" if "MY_KEY" in spec else "OPENAI_API_KEY"
    monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(Unusable, match=rf"{name} is not set, and http\S+ needs a key"):
        ask(spec, ChatRequest(MESSAGES))


def test_an_older_server_gets_the_older_limit(endpoint: StubEndpoint) -> None:
    choose(endpoint, "no_completion_tokens", ",effort=low")
    assert [("max_tokens" in body) for body in endpoint.requests] == [False, True]


def test_a_server_that_rejects_both_limits_is_not_asked_forever(
    endpoint: StubEndpoint, behaviour: Callable[[Behaviour], str]
) -> None:
    own = behaviour(
        failing(400, "max_tokens and max_completion_tokens are wrong, as are logprobs and temperature")
    )
    with pytest.raises((Unanswerable, Unusable)):
        choose(endpoint, own)
    assert len(endpoint.requests) <= 7


def test_an_impossible_address_is_unusable() -> None:
    with pytest.raises(Unusable, match="not a usable address"):
        ask("openai:m@http://127.0.0.1:99999999/v1", ChatRequest(MESSAGES))


def _token(token: str, logprob: float, **others: float) -> dict[str, Any]:
    top = [{"token": name, "logprob": value} for name, value in others.items()]
    return {"token": token, "logprob": logprob, "top_logprobs": top}


@pytest.mark.parametrize(
    ("tokens", "scores"),
    [
        ([_token("A", -0.1, A=-0.1, B=-2.4)], {"A": -0.1, "B": -2.4}),
        ([_token(" B", -0.1, A=-3.0)], {"A": -3.0, "B": -0.1}),
        ([_token("A", -0.1, A=-0.1, C=-7.0)], {"A": -0.1, "B": -7.0}),  # at most as likely as the last listed
        ([_token("\n", -0.1), _token("B", -0.2, A=-1.0)], {"A": -1.0, "B": -0.2}),
        ([_token("The", -0.1, Both=-1.0)], None),
        ([_token("A", float("nan"), B=-1.0)], None),
        ([], None),
        ([{"token": "A"}], None),
        ([None], None),
    ],
)
def test_letters_are_read_at_the_first_token_that_carries_text(
    tokens: list[Any], scores: dict[str, float] | None
) -> None:
    assert letter_scores({"content": tokens}, LETTERS) == scores


@pytest.mark.parametrize("logprobs", [None, {}, {"content": None}, [], "x"])
def test_no_letters_no_scores(logprobs: Any) -> None:
    assert letter_scores(logprobs, LETTERS) is None


def test_the_address_from_the_environment_is_used(
    endpoint: StubEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"{endpoint.url}/")
    model = make_model("openai:stub")
    assert isinstance(model, OpenAIModel)
    assert model.url == endpoint.url
    assert ask("openai:stub", ChatRequest(MESSAGES))[0].text in LETTERS
