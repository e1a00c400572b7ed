"""What assistants are told in dialogues: D, I, S, their sums, and somebody else's."""

from itertools import combinations

import pytest

from personafit import UserError
from personafit.contexts import People, TaskItem, make_context, task_item
from personafit.people import Person, Task
from personafit.store import Item

ANN = "Ann reads crime novels. She orders from the library. She reads at night. She dislikes e-books."
BEN = "Ben reads poetry. He buys his books. He reads at dawn. He owns an e-reader."
CAT = "Cat likes short stories. She borrows from friends. She reads on trains. She likes large print."


def someone(name: str, summary: str, genre: str, travels: bool = True, language: str = "en") -> Person:
    """A reader, who may travel too."""
    summaries = {"Books": summary} | ({"Travel": f"{name} goes by bus."} if travels else {})
    facets = {"Demographics.Age": 40, "Books.Genre": [genre], "Travel.Means": "bus"}
    return Person(id=name, language=language, facets=facets, summaries=summaries)


PEOPLE = People(
    {
        person.id: person
        for person in (
            someone("ann", ANN, "crime novels"),
            someone("ben", BEN, "poetry", travels=False),
            someone("cat", CAT, "short stories"),
            someone("dan", "Dan liest Krimis.", "Krimis", language="de"),
        )
    }
)


def task(*domains: str, person: str = "ann") -> TaskItem:
    """A task in these domains."""
    return task_item(
        Task(
            id="t",
            person=person,
            domains=list(domains),
            description="d",
            intent="i",
            goal="g",
            preferences=["Books.Genre"],
            situation={"Location": "Home", "Device": "Laptop"},
        )
    )


def told(name: str, *domains: str, seed: int = 0) -> str:
    """What is told of Ann."""
    return make_context(name, PEOPLE, seed).build(PEOPLE["ann"], task(*(domains or ("Books",)))).text


def test_each_part_tells_its_own_and_sums_tell_all() -> None:
    parts = {"D": "Age: 40", "I": ANN, "S": "Device: Laptop"}
    for count in (1, 2, 3):
        for chosen in combinations(parts, count):
            text = told("+".join(chosen))
            assert [name for name, words in parts.items() if words in text] == list(chosen)
    assert told("none") == ""
    assert "crime novels" not in told("D")
    assert make_context("S+D+I", PEOPLE, 0).name == "D+I+S"
    assert told("S+D+I") == told("D+I+S")


def test_the_history_is_that_of_the_tasks_domains() -> None:
    assert "bus" not in told("I", "Books")
    assert "ann goes by bus" in told("I", "Books", "Travel")
    assert ANN not in told("I", "Travel")
    assert told("I", "Cooking") == ""


def test_somebody_elses_history_is_whole_and_in_the_same_language() -> None:
    builder = make_context("wrong:I", PEOPLE, 0)
    assert builder.name == "wrong:I"
    for seed in range(10):
        wrong = make_context("wrong:I", PEOPLE, seed).build(PEOPLE["ann"], task("Books"))
        assert wrong.about in ("ben", "cat")
        both = make_context("wrong:I", PEOPLE, seed).build(PEOPLE["ann"], task("Books", "Travel"))
        assert both.about == "cat"  # Ben never travelled: he could not be mistaken for her here
        assert CAT in both.text
    about = {make_context("wrong:I", PEOPLE, n).build(PEOPLE["ann"], task("Books")).about for n in range(20)}
    assert about == {"ben", "cat"}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("D+X", "not a sum of D, I and S"),
        ("I+I", "name each at most once"),
    ],
)
def test_a_wrong_sum_is_one_sentence(name: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        make_context(name, PEOPLE, 0)


def test_other_items_have_no_situation_but_people_have_a_history() -> None:
    item = Item(id="x", person="ann", prompt="What to read?", products=[])
    assert ANN in make_context("I", PEOPLE, 0).build(PEOPLE["ann"], item).text
    with pytest.raises(UserError, match="this benchmark has no such tasks"):
        make_context("S", PEOPLE, 0).build(PEOPLE["ann"], item)
    bare = People({"eve": Person(id="eve", language="en", facets={"Job": "baker"})})
    for name, message in (("D", "nobody here has demographics"), ("I", "nobody here has summaries")):
        with pytest.raises(UserError, match=message):
            make_context(name, bare, 0)


def test_a_task_item_is_the_same_however_often_it_is_made() -> None:
    first, second = task("Books"), task("Books")
    assert (first.id, first.hash, first.products) == (second.id, second.hash, second.products)
    assert first.id == "ann/t"
    assert Task.model_validate_json(first.product.text) == first.task
    assert first.products == [first.product.id]
