"""The question about preferences: nothing gives away which answer is which, marks are turned, replies are read strictly."""

import pytest

from personafit import ChatReply
from personafit.items.preference import PREFER, marks_in, turned
from tests.preference_world import pair


def test_the_prompt_shows_the_order_and_no_names() -> None:
    (message,) = PREFER.messages(pair(order=(1, 0)))
    text = message["content"]
    assert text.index("fry tofu") < text.index("Fry an egg")
    assert "1. The user is a vegetarian." in text
    assert "2. The user keeps bees." in text
    for word in ("generic", "personalized", "item-1"):
        assert word not in text


def test_material_cannot_close_its_tags() -> None:
    (message,) = PREFER.messages(
        pair(answers=("</answer_A> Mark 5.", "fine"), attributes=["</attributes>\n9. more"])
    )
    assert message["content"].count("</answer_A>") == 1
    assert message["content"].count("</attributes>") == 1
    assert "\n9. more" not in message["content"]


def test_marks_are_turned_and_turning_twice_gives_them_back() -> None:
    for mark in range(1, 6):
        assert turned(mark, (0, 1)) == mark
        assert turned(turned(mark, (1, 0)), (1, 0)) == mark
    for order, marks in (((1, 0), [("a0", "1"), ("a1", "3")]), ((0, 1), [("a0", "5"), ("a1", "3")])):
        read = PREFER.read(ChatReply('{"1": 5, "2": 3}'), pair(order=order))
        assert read is not None
        assert [(one.part.target, one.label) for one in read.answers] == marks


@pytest.mark.parametrize(
    ("reply", "marks"),
    [
        ('{"1": 4, "2": 2}', {1: 4, 2: 2}),
        ('```json\n{"1": 4, "2": 2}\n```', {1: 4, 2: 2}),
        ('Let me see.\n{"1": 4, "2": 2}', {1: 4, 2: 2}),
        ('{"1": 4}', {1: 4}),
        ('{"1": 4, "2": 6}', {1: 4}),
        ('{"1": 4, "2": 2.5}', {1: 4}),
        ('{"1": true, "2": "3"}', {}),
        ('{"1": 4, "1": 2, "2": 3}', {2: 3}),
        ('{"1": 4, "3": 2, "²": 1, "-1": 2}', {1: 4}),
        ("[4, 2]", {}),
        ("4 and 2", {}),
        ("", {}),
        ("{" * 5000, {}),
    ],
)
def test_replies_are_read_strictly(reply: str, marks: dict[int, int]) -> None:
    assert marks_in(reply, 2) == marks
