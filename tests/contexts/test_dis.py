"""What assistants are told in dialogues: D, I, S, their sums, somebody else's, and histories made worse on purpose."""

from itertools import combinations

import pytest

from personafit._errors import UserError
from personafit.contexts import People, TaskItem, make_context, task_item
from personafit.contexts.dis import sentences
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


def test_a_sparse_history_lacks_its_share_of_sentences_in_order() -> None:
    for share, left in ((0.0, 4), (0.25, 3), (0.5, 2), (1.0, 0)):
        text = told(f"I~sparse:{share}")
        kept = [each for each in sentences(ANN) if each in text]
        assert len(kept) == left
        assert " ".join(kept) in text
    variants = {told("I~sparse:0.5", seed=seed) for seed in range(10)}
    assert len(variants) > 1
    assert told("I~sparse:0.5", seed=3) == told("I~sparse:0.5", seed=3)


def test_a_noisy_history_has_sentences_of_others_of_the_same_language() -> None:
    text = told("I~noise:0.5")
    foreign = [each for each in sentences(f"{BEN} {CAT}") if each in text]
    assert len(foreign) == 2
    assert all(each in text for each in sentences(ANN))
    assert "Krimis" not in text
    assert "(noise)" not in text


def test_a_contradicted_history_says_what_somebody_else_prefers() -> None:
    text = told("I~contradict:1")
    assert "crime novels" not in text
    assert "poetry" in text or "short stories" in text
    # Where no words of the history tell the preference, a sentence more does.
    quiet = People(
        {**PEOPLE, "ann": PEOPLE["ann"].model_copy(update={"summaries": {"Books": "She reads a lot."}})}
    )
    added = make_context("I~contradict:1", quiet, 0).build(quiet["ann"], task("Books")).text
    assert "She reads a lot. Lately, asked for their genre, the person said: " in added


def test_ways_can_be_combined() -> None:
    text = told("I~sparse:0.5~noise:0.5")
    assert len([each for each in sentences(ANN) if each in text]) == 2
    assert len([each for each in sentences(f"{BEN} {CAT}") if each in text]) == 1
    assert make_context("wrong:D+I~sparse:0.5", PEOPLE, 0).name == "wrong:D+I~sparse:0.5"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("D+X", "no sum of D, I and S"),
        ("I+I", "names I twice"),
        ("I~sparse:2", "a share from 0 to 1"),
        ("I~contradict:0.5", "a number of preferences"),
        ("I~louder:1", "unknown kind 'louder'; there are sparse, noise, contradict"),
        ("D~sparse:0.5", "no sum of D, I and S"),
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


def test_chinese_histories_are_made_worse_by_sentences_too() -> None:
    said = "三月，选了川菜。五月订了靠窗的座位。七月说不要辣。九月预算不高。"
    people = People(
        {
            "li": Person(id="li", language="zh", facets={"餐饮.Cuisine": "川菜"}, summaries={"餐饮": said}),
            "wu": Person(
                id="wu", language="zh", facets={"餐饮.Cuisine": "粤菜"}, summaries={"餐饮": "一月选了粤菜。"}
            ),
        }
    )

    def worse(name: str) -> str:
        text = make_context(name, people, 0).build(people["li"], task("餐饮", person="li")).text
        return text.partition("餐饮: ")[2]

    assert len(sentences(said)) == 4
    assert len(sentences(worse("I~sparse:0.5"))) == 2
    assert len(sentences(worse("I~noise:0.5"))) == 5  # all that the other one has to give is one sentence
    assert worse("I~contradict:1") == said.replace("川菜", "粤菜")
