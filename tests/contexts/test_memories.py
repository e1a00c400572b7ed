"""`history`: all that was said before the question, of the history the item names and no further."""

import pytest

from personafit import UserError
from personafit.contexts import People, make_context
from personafit.contexts.making import ModelMade
from personafit.people import Memory, Person
from personafit.store import Item


def person(name: str, language: str = "en", **histories: int) -> Person:
    memories = [
        Memory(id=f"{source}#{n}", text=f"User: {name} {source} {n}", source=source)
        for source, count in histories.items()
        for n in range(count)
    ]
    return Person(id=name, language=language, memories=memories)


PEOPLE = People({one.id: one for one in (person("ann", tea=4, rye=3), person("bo", oat=2), person("cy"))})


def told(context: str, whose: str, **slices: str) -> str:
    item = Item(id="i", person=whose, prompt="What?", products=["a", "b"], slices=slices)
    return make_context(context, PEOPLE, 0).build(PEOPLE[whose], item).text


def test_without_a_name_everything_is_told() -> None:
    assert told("history", "ann").splitlines()[0] == "Said in earlier conversations:"
    assert told("history", "ann").count("User:") == 7
    assert told("history", "cy") == ""


def test_only_the_named_history_up_to_its_place() -> None:
    assert told("history", "ann", history="tea").count("User:") == 4
    lines = told("history", "ann", history="tea", until="2").splitlines()[1:]
    assert lines == ["User: ann tea 0", "User: ann tea 1"]


def test_somebody_else_is_told_whole_where_the_name_means_nothing() -> None:
    assert told("wrong:history", "ann", history="tea", until="2").count("User: bo oat") == 2


def test_of_what_is_too_long_the_latest_is_kept() -> None:
    short = told("history:budget=14", "ann", history="tea")
    assert short.endswith("ann tea 3")
    assert 1 <= short.count("User:") < 4


def test_the_heading_is_in_the_persons_language() -> None:
    people = People({"li": person("li", "zh", tea=1)})
    item = Item(id="i", person="li", prompt="?", products=["a", "b"])
    assert make_context("history", people, 0).build(people["li"], item).text.startswith("以前的对话：")


@pytest.mark.parametrize("name", ["history:7", "history:budget=0", "history:budget=x"])
def test_wrong_options_are_one_sentence(name: str) -> None:
    with pytest.raises(UserError, match="write history:budget=TOKENS"):
        make_context(name, PEOPLE, 0)


def test_nobody_with_memories_is_said() -> None:
    with pytest.raises(UserError, match="nobody here has memories"):
        make_context("history", People({"cy": PEOPLE["cy"]}), 0)


def test_what_reads_everything_is_refused_where_an_item_has_its_place_in_a_history() -> None:
    induced = make_context("induced@openai:any@http://127.0.0.1:9/v1", PEOPLE, 0)
    item = Item(id="i", person="ann", prompt="What?", products=[], slices={"history": "tea", "until": "2"})
    assert isinstance(induced, ModelMade)
    with pytest.raises(UserError, match="would be told what comes later"):
        induced.job(PEOPLE["ann"], item)
    assert induced.job(PEOPLE["ann"], item.model_copy(update={"slices": {}})) is not None
