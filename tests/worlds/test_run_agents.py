"""Agents by their spec: how a model's replies are read, what it is sent back, and which specs are refused."""

import json
from typing import Any

import pytest

from personafit import ChatReply, UserError
from personafit.contexts import Context
from personafit.models import ToolCall
from personafit.worlds import Call, Say
from personafit.worlds.agents import make_agent
from personafit.worlds.chat_agents import ChatAgent, read_text
from personafit.worlds.episode import spoken
from personafit.worlds.python_agents import PythonAgent
from personafit.worlds.scripted import ScriptedAgent
from tests.scripted import ScriptedModel

NOBODY = Context("none", "", (), None)


@pytest.mark.parametrize(
    "reply",
    [
        '{"tool": "get", "arguments": {"id": "a"}}',
        '  {"tool": "get", "arguments": {"id": "a"}}\n',
        '```json\n{"tool": "get", "arguments": {"id": "a"}}\n```',
        '```\n{"tool":"get","arguments":{"id":"a"}}\n```',
    ],
)
def test_one_json_object_is_a_call(reply: str) -> None:
    action = read_text(reply)
    assert isinstance(action, Call)
    assert (action.name, json.loads(action.arguments)) == ("get", {"id": "a"})


def test_words_for_the_person_are_said() -> None:
    assert read_text('{"say": "Done."}') == Say("Done.")


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "I will search now.",
        'Sure! {"tool": "get", "arguments": {"id": "a"}}',
        '{"tool": "get", "arguments": {"id": "a"}} {"tool": "get", "arguments": {}}',
        '[{"tool": "get", "arguments": {}}]',
        '{"tool": "get"}',
        '{"tool": "get", "arguments": "a"}',
        '{"tool": "get", "arguments": {}, "why": "because"}',
        '{"tool": "", "arguments": {}}',
        '{"tool": 3, "arguments": {}}',
        '{"say": ""}',
        '{"say": "Done.", "tool": "get"}',
        '{"tool": "get", "arguments": {"id": ',
    ],
)
def test_anything_else_is_a_malformed_call(reply: str) -> None:
    action = read_text(reply)
    assert isinstance(action, Call)
    assert action.name == ""


def agent(by_text: bool = False, **settings: Any) -> ChatAgent:
    return ChatAgent(ScriptedModel([], settings={"kind": "scripted", **settings}), by_text)


def actions_of(one: ChatAgent, stored: str) -> list[Any]:
    return [each.action for each in one.read(stored)[1]]


@pytest.mark.parametrize(
    ("stored", "actions"),
    [
        (
            '{"text":"","calls":[["c1","get","{}"],["c2","search","["]]}',
            [Call("get", "{}"), Call("search", "[")],
        ),
        ("All done.", [Say("All done.")]),
        ("  ", [Call("", "")]),
    ],
)
def test_a_stored_reply_reads_as_calls_or_words(stored: str, actions: list[Any]) -> None:
    assert actions_of(agent(), stored) == actions


@pytest.mark.parametrize(
    "text", ['{"text": "a poem", "calls": 3}', '{"text":', '{"text":"","calls":[["c","get","{}"]]}']
)
def test_words_that_look_like_a_stored_call_are_said(text: str) -> None:
    one = agent()
    assert actions_of(one, one.stored(ChatReply(text))) == [Say(text)]


def test_of_a_reply_that_is_far_too_long_or_broken_only_what_counts_is_kept() -> None:
    for by_text in (False, True):
        one, huge = agent(by_text), 10_000_000 * "x"
        calls = (
            ToolCall("c", "get", huge),
            ToolCall("\ud800", "\ud800\x00", "{}"),
            *100 * [ToolCall("c", "get", "{}")],
        )
        stored = one.stored(ChatReply(huge + "\ud800", tool_calls=calls))
        assert len(stored) < 50_000
        stored.encode()
        first, *rest = actions_of(one, stored)
        assert isinstance(first, Call)
        assert len(first.arguments) == 20_001
        assert len(rest) == (0 if by_text else 29)


def test_a_call_and_its_result_are_sent_back_under_one_id() -> None:
    one = agent()
    said, (action,) = one.read('{"text":"Let me see.","calls":[["c1","get","{}"]]}')
    assert said["content"] == "Let me see."
    assert [call["id"] for call in said["tool_calls"]] == ["c1"]
    assert one.result(action, "{}") == {"role": "tool", "tool_call_id": "c1", "content": "{}"}


def test_a_malformed_text_is_answered_with_the_error_and_the_form() -> None:
    one = agent(by_text=True)
    _, (action,) = one.read("Hm.")
    heard = one.result(action, "No tool.")
    assert heard["role"] == "user"
    assert heard["content"].startswith("No tool.\n")
    assert '{"tool": "NAME", "arguments": {...}}' in heard["content"]


def test_a_function_caller_that_says_nothing_is_not_told_to_write_json() -> None:
    one = agent()
    _, (action,) = one.read("")
    assert one.result(action, "No tool.") == {"role": "user", "content": "No tool."}


def test_how_tools_are_called_is_part_of_who_an_agent_is() -> None:
    assert agent().fingerprint != agent(by_text=True).fingerprint
    assert agent().fingerprint == agent().fingerprint


def test_what_is_said_to_the_user_is_found_in_actions() -> None:
    assert spoken(Say("Hello.")) == "Hello."
    assert spoken(Call("ask_user", '{"text": "Spicy?"}')) == "Spicy?"
    assert spoken(Call("ask_user", "[")) is None
    assert spoken(Call("search", '{"domain": "meals"}')) is None


def test_specs_name_agents() -> None:
    assert isinstance(make_agent("oracle"), ScriptedAgent)
    assert isinstance(make_agent("profile+memories"), ScriptedAgent)
    by_calls, by_text = make_agent("openai:m@http://x/v1"), make_agent("openai:m@http://x/v1,tools=text")
    assert isinstance(by_calls, ChatAgent)
    assert isinstance(by_text, ChatAgent)
    assert (by_calls.by_text, by_text.by_text) == (False, True)


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("openai:m@http://x/v1,tools=maybe", "tools=maybe is not possible; write tools=text"),
        ("embedded,tools=calls", "tools=calls is not possible"),
        ("genius", "'genius' names no agent; there are the scripted oracle, "),
        ("python:json:dumps", "an agent is a function of `request` and `tools`"),
        ("python:json:__doc__", "an agent is a function of `request` and `tools`"),
        ("python:json:nothing", "json has no 'nothing'"),
    ],
)
def test_a_spec_that_names_no_agent_is_refused_in_a_sentence(spec: str, why: str) -> None:
    with pytest.raises(UserError, match=why.replace("(", r"\(")):
        make_agent(spec)


def test_a_class_of_agents_is_made_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    (tmp_path / "my_class_agent.py").write_text(
        "class Agent:\n    def __call__(self, request, tools, person): ...\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert isinstance(make_agent("python:my_class_agent:Agent"), PythonAgent)
