"""Contexts of attributes: all, those people called relevant, those a matcher picked."""

import pytest

from personafit import UserError
from personafit.contexts import AttributesContext, People, make_context
from personafit.people import Attribute, Person
from personafit.store import Item

ANN = Person(
    id="ann",
    language="en",
    attributes=[Attribute(id="1", text="Keeps\nbees."), Attribute(id="2", text="Likes jazz.")],
)
BOB = Person(id="bob", language="en", attributes=[Attribute(id="1", text="Sails.")])
PEOPLE = People({"ann": ANN, "bob": BOB})
ITEM = Item(id="i", kind="prompt", person="ann", prompt="What now?", products=[])


def test_all_attributes_and_those_of_somebody_else() -> None:
    assert make_context("attributes:all", PEOPLE, 0).build(ANN, ITEM).text == "- Keeps bees.\n- Likes jazz."
    wrong = make_context("wrong:attributes:all", PEOPLE, 0).build(ANN, ITEM)
    assert (wrong.name, wrong.text, wrong.about) == ("wrong:attributes:all", "- Sails.", "bob")


def test_chosen_attributes_are_those_of_the_item_or_none() -> None:
    human = AttributesContext("attributes:human", {"i": ["Likes jazz."]})
    assert human.build(ANN, ITEM).text == "- Likes jazz."
    nothing = human.build(ANN, ITEM.model_copy(update={"id": "other"}))
    assert (nothing.text, nothing.about) == ("", None)
    with pytest.raises(UserError, match="wrong:attributes:all"):
        human.build(BOB, ITEM)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("attributes:human", "run responses"),
        ("attributes:matched:rule:overlap", "run responses"),
        ("attributes:best", "there are"),
    ],
)
def test_what_cannot_be_known_here_is_said(name: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        make_context(name, PEOPLE, 0)


def test_nobody_with_attributes() -> None:
    with pytest.raises(UserError, match="nobody here has attributes"):
        make_context("attributes:all", People({"c": Person(id="c", language="en")}), 0)
