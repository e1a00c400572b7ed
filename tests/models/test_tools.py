"""Functions that a model may call: sent, read back as the model wrote them, refused in a sentence, and free of charge elsewhere."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from personafit import ChatReply
from personafit.engine.ask import Asker, Exchange
from personafit.models import ChatRequest, ToolCall, Unanswerable, Unusable, make_model
from personafit.models.chat import only_thought
from tests.scripted import ScriptedModel
from tests.stub_endpoint import BEHAVIOURS, Behaviour, StubEndpoint, completion, failing, saying

MESSAGES = ({"role": "user", "content": "A table for two."},)
TOOL = {
    "name": "search",
    "description": "Find offers.",
    "parameters": {"type": "object", "properties": {"domain": {"type": "string"}}, "required": ["domain"]},
}
REQUEST = ChatRequest(MESSAGES, tools=(TOOL,))


def ask(spec: str, request: ChatRequest = REQUEST) -> ChatReply:
    async def scenario() -> ChatReply:
        model = make_model(spec)
        try:
            return await model.chat(request)
        finally:
            await model.close()

    return asyncio.run(scenario())


@pytest.fixture
def behave(monkeypatch: pytest.MonkeyPatch, endpoint: StubEndpoint) -> Callable[[Behaviour], str]:
    """Lets the stub behave so; returns its spec."""

    def own(made: Behaviour) -> str:
        monkeypatch.setitem(BEHAVIOURS, "own", made)
        endpoint.behave("own")
        return endpoint.spec()

    return own


def calling(*calls: Any, **message: Any) -> Behaviour:
    return saying(lambda body: completion(body, None, "tool_calls", tool_calls=list(calls), **message))


def call(name: Any, arguments: Any, id: Any = "c1") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def test_functions_are_sent_and_calls_are_read_as_they_were_written(
    endpoint: StubEndpoint, behave: Callable[[Behaviour], str]
) -> None:
    reply = ask(
        behave(calling(call("search", '{"domain": "Books"}'), call("get", '{"id": ', "c2"))) + ",price=1/2"
    )
    assert reply.tool_calls == (
        ToolCall("c1", "search", '{"domain": "Books"}'),
        ToolCall("c2", "get", '{"id": '),
    )
    assert reply.text == ""
    assert not reply.refused
    (body,) = endpoint.requests
    assert body["tools"] == [{"type": "function", "function": TOOL}]
    assert "tool_choice" not in body  # some servers refuse one


def test_a_request_without_functions_is_sent_as_ever(endpoint: StubEndpoint) -> None:
    endpoint.behave("plain")
    ask(endpoint.spec(), ChatRequest(MESSAGES))
    (body,) = endpoint.requests
    assert set(body) == {"model", "messages", "max_tokens", "temperature"}


def test_a_call_and_its_result_go_back_in_the_next_request(
    endpoint: StubEndpoint, behave: Callable[[Behaviour], str]
) -> None:
    made = ToolCall("c1", "search", "{}")
    messages = (
        *MESSAGES,
        {"role": "assistant", "content": "", "tool_calls": [made.message]},
        {"role": "tool", "tool_call_id": "c1", "content": "[]"},
    )
    ask(behave(calling()), ChatRequest(messages, tools=(TOOL,)))
    assert endpoint.requests[0]["messages"] == list(messages)


@pytest.mark.parametrize(
    ("calls", "read"),
    [
        ([call("search", {"domain": "书"}, None)], [ToolCall("call-0", "search", '{"domain": "书"}')]),
        ([call(None, "{}"), 3, {"function": []}, call("get", None)], [ToolCall("c1", "get", "null")]),
        ("search", []),
        (None, []),
    ],
)
def test_odd_calls_are_read_or_left_out(
    behave: Callable[[Behaviour], str], calls: Any, read: list[ToolCall]
) -> None:
    spec = behave(saying(lambda body: completion(body, "Well.", tool_calls=calls)))
    reply = ask(spec)
    assert list(reply.tool_calls) == read
    assert reply.text == "Well."


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "registry.ollama.ai/library/tiny does not support tools"),
        (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
        (422, "body.tools: Extra inputs are not permitted"),
        (501, "function calling is not implemented"),
    ],
)
def test_a_server_that_takes_no_functions_is_named_with_what_to_do(
    behave: Callable[[Behaviour], str], status: int, message: str
) -> None:
    with pytest.raises(Unusable, match=r"call functions .*; add ,tools=text to the spec"):
        ask(behave(failing(status, message)))


def test_a_long_prompt_and_a_fault_later_on_are_no_refusal_of_functions(
    behave: Callable[[Behaviour], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Unanswerable, match="rejected the request"):
        ask(behave(failing(400, "9000 tokens (800 in the tools) exceed the context")))

    async def scenario() -> None:
        model = make_model(behave(calling(call("search", "{}"))))
        await model.chat(REQUEST)
        monkeypatch.setitem(BEHAVIOURS, "own", failing(400, "tool_use_failed: bad tool call"))
        try:
            with pytest.raises(Unanswerable, match="tool_use_failed"):
                await model.chat(REQUEST)
        finally:
            await model.close()

    asyncio.run(scenario())


def test_a_model_that_reasons_and_calls_is_not_asked_again(behave: Callable[[Behaviour], str]) -> None:
    reply = ask(behave(calling(call("search", "{}"), reasoning_content="Let me search.")))
    assert reply.reasoning == "Let me search."
    assert not only_thought(reply)
    model = ScriptedModel([reply])
    exchange = Exchange()
    asyncio.run(Asker(model).send(REQUEST, exchange))
    assert exchange.calls == 1


def test_functions_count_towards_what_a_call_may_cost(endpoint: StubEndpoint) -> None:
    from personafit.models.purse import request_tokens

    assert request_tokens(REQUEST) > request_tokens(ChatRequest(MESSAGES)) + 20


def test_recorded_calls_are_replayed(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    row = {"key": "k", "reply": "", "tool_calls": [{"id": "c1", "name": "get", "arguments": "{}"}]}
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    reply = ask(f"replay:{path}", ChatRequest(MESSAGES, key="k"))
    assert reply.tool_calls == (ToolCall("c1", "get", "{}"),)


def test_recorded_calls_must_be_whole(tmp_path: Path) -> None:
    from personafit import UserError

    path = tmp_path / "calls.jsonl"
    path.write_text(json.dumps({"key": "k", "reply": "", "tool_calls": [{"name": "get"}]}), encoding="utf-8")
    with pytest.raises(UserError, match=r"calls\.jsonl, line 1, field 'tool_calls.0.*required"):
        make_model(f"replay:{path}")
