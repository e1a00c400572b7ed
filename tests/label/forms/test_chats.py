"""Chats without a browser: what is stored, what is refused, and what is left of a participant who was erased."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from personafit import ChatReply, Store
from personafit.api.places import find_run
from personafit.label import Studies, StudyConfig, erase_rater, make_study
from personafit.label.chats import Chat, ChatTurn, NotNow, has_ended
from personafit.models import ChatRequest, Transient
from personafit.simulate import read_dialogues

SECRET = "marzipan-hedgehog"


class Echo:
    """Says what it was told, or fails."""

    name = endpoint = "echo"
    settings: ClassVar[dict[str, Any]] = {"kind": "echo"}
    max_concurrency = 1
    price = (0.0, 0.0)

    def __init__(self) -> None:
        self.failing = False
        self.calls = 0

    async def chat(self, request: ChatRequest) -> ChatReply:
        self.calls += 1
        if self.failing:
            raise Transient("busy")
        return ChatReply(f"You said: {request.messages[-1]['content']}")

    async def close(self) -> None:
        """Nothing to let go."""


@pytest.fixture
def studies(tmp_path: Path) -> Iterator[Studies]:
    """A store with one study of chats, and somebody in it."""
    with Store(tmp_path / "store.db") as store:
        config = StudyConfig(overlap=1, seats=1, model="replay:none.jsonl", source="own")
        make_study(store, "talk", "own", "chat", config, find_run)
        found = Studies(store)
        found.take("talk", 0, None, {})
        yield found


def open_chat(studies: Studies) -> Chat:
    seat = studies.seats("talk")[0]
    return Chat(studies.store, studies.study("talk"), seat, studies.assigned("talk", 0)[0])


def test_what_is_sent_twice_happens_once(studies: Studies) -> None:
    chat, model = open_chat(studies), Echo()
    with pytest.raises(NotNow, match="Please agree first"):
        chat.say("Hello", "key-1")
    for _ in range(2):
        chat.begin("key-0")
        chat.say("Hello", "key-1")
    with pytest.raises(NotNow, match="has not answered"):
        chat.say("Hello?", "key-2")
    for _ in range(2):
        asyncio.run(chat.answer(model))
    assert model.calls == 1
    assert [(row.turn, row.role, row.text) for row in chat.rows()] == [
        (0, "consent", ""), (1, "user", "Hello"), (2, "assistant", "You said: Hello"),
    ]  # fmt: skip


def test_a_failing_model_loses_nothing(studies: Studies) -> None:
    chat, model = open_chat(studies), Echo()
    chat.begin("key-0")
    chat.say("Hello", "key-1")
    model.failing = True
    with pytest.raises(Transient):
        asyncio.run(chat.answer(model))
    with pytest.raises(NotNow, match="nothing to rate"):
        chat.end("gave-up", "key-2", model)
    model.failing = False
    asyncio.run(open_chat(studies).answer(model))
    assert [row.role for row in chat.rows()] == ["consent", "user", "assistant"]


def test_a_last_word_that_nobody_answered_closes_the_dialogue(studies: Studies) -> None:
    chat, model = open_chat(studies), Echo()
    chat.begin("key-0")
    chat.say("Hello", "key-1")
    asyncio.run(chat.answer(model))
    chat.say("Thanks, bye", "key-2")
    for _ in range(2):
        chat.end("satisfied", "key-3", model)
    assert has_ended(chat.rows())
    with pytest.raises(NotNow, match="has ended"):
        chat.say("One more thing", "key-4")
    (dialogue,) = read_dialogues(studies.store, [studies.assigned("talk", 0)[0].arrangement.own])
    assert [turn.role for turn in dialogue.turns] == ["user", "assistant"]
    assert (dialogue.closing, dialogue.stop.whole) == ("Thanks, bye", True)
    assert [item.id for item in studies.store.items("chat@talk")] == [dialogue.id]


def test_nothing_that_an_erased_participant_said_is_left(studies: Studies, tmp_path: Path) -> None:
    chat, model = open_chat(studies), Echo()
    chat.begin("key-0")
    chat.say(f"I like {SECRET}", "key-1")
    asyncio.run(chat.answer(model))
    chat.end("satisfied", "key-2", model)
    erase_rater(studies, studies.seats("talk")[0])
    studies.store.close()
    left = [path for path in tmp_path.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
    assert left == []


def test_of_two_tabs_that_speak_at_once_one_is_told_that_it_was_not_heard(studies: Studies) -> None:
    first, second = open_chat(studies), open_chat(studies)
    first.begin("key-begin")
    stale = first.rows()
    second.rows = _once(stale, second.rows)  # type: ignore[method-assign]
    first.say("hello", "key-hello")
    with pytest.raises(NotNow, match="has not answered"):
        second.say("something else", "key-other")
    second.rows = _once(stale, first.rows)  # type: ignore[method-assign]
    second.say("hello", "key-hello")  # the same message sent twice at once is one
    assert [row.text for row in first.rows()] == ["", "hello"]


def test_an_answer_that_comes_while_the_chat_is_ended_is_part_of_it(studies: Studies) -> None:
    chat, ending = open_chat(studies), open_chat(studies)
    chat.begin("key-begin")
    for number, text in enumerate(("hello", "and more")):
        chat.say(text, f"key-{number}")
        before = chat.rows()
        asyncio.run(chat.answer(Echo()))
    ending.rows = _once(before, ending.rows)  # type: ignore[method-assign]
    ending.end("satisfied", "key-end", Echo())
    assert has_ended(chat.rows())
    (dialogue,) = read_dialogues(studies.store, [studies.assigned("talk", 0)[0].arrangement.own])
    assert [turn.text for turn in dialogue.turns][-1] == "You said: and more"


def test_what_a_model_says_to_who_was_erased_meanwhile_is_not_kept(studies: Studies) -> None:
    chat = open_chat(studies)
    chat.begin("key-begin")
    chat.say("hello", "key-hello")

    class Slow(Echo):
        async def chat(self, request: ChatRequest) -> ChatReply:
            erase_rater(studies, studies.seats("talk")[0])
            return await super().chat(request)

    with pytest.raises(NotNow):
        asyncio.run(chat.answer(Slow()))
    assert chat.rows() == []


def _once(first: list[ChatTurn], then: Callable[[], list[ChatTurn]]) -> Callable[[], list[ChatTurn]]:
    """What was read before somebody else wrote, and after that what there is."""
    waiting = [first]
    return lambda: waiting.pop() if waiting else then()
