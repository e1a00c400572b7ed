"""Models through Inspect's providers: what is sent, how replies and letters are read, and which fault is of which sort."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from personafit import ChatReply, UserError
from personafit.models import ChatRequest, ModelError, Transient, Unanswerable, Unusable, make_model
from personafit.models.inspect_provider import InspectModel
from tests.helpers import results_of
from tests.scripted import invoke
from tests.stub_endpoint import StubEndpoint

MESSAGES = (
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Which one?"},
)
LETTERS = ("A", "B")


@pytest.fixture(scope="module")
def endpoint() -> Iterator[StubEndpoint]:
    with StubEndpoint() as server:
        yield server


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_API_KEY", "a-key-of-the-provider")


def spec_of(endpoint: StubEndpoint, options: str = "") -> str:
    return f"inspect:openai-api/local/stub,base_url={endpoint.url}{options}"


def ask(spec: str, request: ChatRequest) -> ChatReply:
    async def scenario() -> ChatReply:
        model = make_model(spec)
        try:
            return await model.chat(request)
        finally:
            await model.close()

    return asyncio.run(scenario())


def test_what_is_sent_and_read(endpoint: StubEndpoint) -> None:
    endpoint.behave("letters")
    before = len(endpoint.requests)
    reply = ask(
        spec_of(endpoint, ",price=1/2"), ChatRequest(MESSAGES, max_tokens=16, letters=LETTERS, seed=3)
    )
    (body,) = endpoint.requests[before:]
    assert body["model"] == "stub"
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert (body["max_tokens"], body["temperature"], body["seed"]) == (16, 0.0, 3)
    assert endpoint.keys[-1] == "Bearer a-key-of-the-provider"
    assert reply.text in LETTERS
    assert reply.letter_scores is not None
    assert max(reply.letter_scores, key=reply.letter_scores.__getitem__) == reply.text
    assert (reply.tokens_in, reply.tokens_out) == (100, 10)
    assert reply.cost == pytest.approx(120e-6)


def test_a_password_in_an_address_is_not_written_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_BASE_URL", "http://somebody:hunter2@127.0.0.1:9/v1")
    model = make_model("inspect:openai-api/local/stub")
    assert model.settings["url"] == "http://somebody:***@127.0.0.1:9/v1"
    asyncio.run(model.close())


def test_the_same_verdicts_as_without_inspect(endpoint: StubEndpoint) -> None:
    endpoint.behave("letters")
    request = ChatRequest(MESSAGES[1:], max_tokens=16, letters=LETTERS)
    direct, through = ask(endpoint.spec(), request), ask(spec_of(endpoint), request)
    assert (direct.text, direct.letter_scores) == (through.text, through.letter_scores)


def test_reasoning_and_refusal_are_told_apart(endpoint: StubEndpoint) -> None:
    request = ChatRequest(MESSAGES, letters=LETTERS)
    endpoint.behave("reasoning_content")
    thought = ask(spec_of(endpoint), request)
    assert (thought.reasoning, thought.letter_scores) == ("Let me see.", None)
    endpoint.behave("content_filter")
    assert ask(spec_of(endpoint), request).refused
    endpoint.behave("long")
    assert ask(spec_of(endpoint), request).cut


@pytest.mark.parametrize("behaviour", ["no_logprobs", "no_temperature"])
def test_a_refused_setting_is_left_out(endpoint: StubEndpoint, behaviour: str) -> None:
    endpoint.behave(behaviour)
    assert ask(spec_of(endpoint), ChatRequest(MESSAGES, letters=LETTERS)).text in LETTERS


@pytest.mark.parametrize(
    ("behaviour", "sort", "said"),
    [
        ("unauthorized", Unusable, "refuses the key (HTTP 401"),
        ("not_found", Unusable, "HTTP 404"),
        ("overloaded", Transient, "Rate limit reached"),
        ("error", Transient, "internal error"),
        ("cut", Transient, "failed"),
        ("forbidden", Unusable, "HTTP 403"),
    ],
)
def test_every_fault_has_its_sort(
    endpoint: StubEndpoint, behaviour: str, sort: type[ModelError], said: str
) -> None:
    endpoint.behave(behaviour)
    before = len(endpoint.requests)
    with pytest.raises(ModelError) as caught:
        ask(spec_of(endpoint), ChatRequest(MESSAGES))
    assert type(caught.value) is sort
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(endpoint.requests) == before + 1, "the engine retries, Inspect does not"
    if behaviour == "overloaded":
        assert isinstance(caught.value, Transient)
        assert caught.value.overloaded


def test_what_is_too_long_is_the_requests_own_fault(endpoint: StubEndpoint) -> None:
    endpoint.behave("too_long")
    with pytest.raises(Unanswerable, match="maximum context length"):
        ask(spec_of(endpoint), ChatRequest(MESSAGES))


def test_a_hanging_server_is_given_up(endpoint: StubEndpoint) -> None:
    endpoint.behave("hang")
    with pytest.raises(Transient, match="did not answer within 1 s"):
        ask(spec_of(endpoint, ",timeout=1"), ChatRequest(MESSAGES))


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("inspect:gpt-4.1", "name provider and model as Inspect does"),
        ("inspect:nobody/model", "cannot be opened"),
        ("inspect:openai-api/other/model", "cannot be opened"),
        ("inspect:mockllm/model,colour=red", "unknown option 'colour'; inspect knows base_url"),
        ("inspect:mockllm/model,price=much", "price is IN/OUT"),
    ],
)
def test_what_cannot_be_opened_is_one_sentence(spec: str, said: str) -> None:
    with pytest.raises(UserError, match=said) as caught:
        make_model(spec)
    assert "[bold]" not in str(caught.value)


def test_settings_name_the_instrument(endpoint: StubEndpoint) -> None:
    model = make_model(spec_of(endpoint, ",effort=low,arg_strict_tools=false"))
    assert isinstance(model, InspectModel)
    assert model.settings["url"] == endpoint.url
    assert model.settings["arguments"] == {"strict_tools": False}
    assert (model.settings["effort"], model.max_concurrency) == ("low", 20)


def test_inspects_own_mock_answers() -> None:
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    output = ModelOutput.from_content("mockllm/model", "B", stop_reason="max_tokens")
    output.usage = ModelUsage(input_tokens=7, output_tokens=2, input_tokens_cache_read=3)
    model = make_model("inspect:mockllm/model")
    assert isinstance(model, InspectModel)
    model._model = get_model("mockllm/model", custom_outputs=[output])
    reply = asyncio.run(model.chat(ChatRequest(MESSAGES, letters=LETTERS)))
    assert (reply.text, reply.cut, reply.letter_scores) == ("B", True, None)
    assert (reply.tokens_in, reply.tokens_out) == (10, 2)


def test_as_judge_and_as_system(
    endpoint: StubEndpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint.behave("letters")
    spec = spec_of(endpoint)
    asked = ("run", "answers", "--system", spec, "--rater", spec, "--limit", "2", "--context", "profile")
    invoke(monkeypatch, tmp_path, *asked)
    rows = [row for row in results_of(tmp_path) if row["system"] == spec and row["metric"] == "win_rate"]
    assert {row["coverage"] for row in rows if row["rater"] == spec} == {1.0}
