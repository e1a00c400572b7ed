"""Contexts: what is told about a person, about nobody, and about a seeded somebody else."""

import pytest

from personafit import UserError
from personafit.contexts import People, make_context
from personafit.people import Attribute, Person
from personafit.store import Item


def people(*languages: str, each: int = 6) -> People:
    """So many people in each language, with ids that do not sort by language."""
    return People(
        {
            f"{number}-{language}": Person(
                id=f"{number}-{language}",
                language=language,
                facets={
                    "Name": f"{language} {number}",
                    "Work.Job": f"job {number}",
                    "Likes": ["tea", "chess"],
                },
            )
            for language in languages
            for number in range(each)
        }
    )


ITEM = Item(id="i", person="0-en", prompt="What now?", products=["a", "b"])


def test_none_tells_nothing_and_is_about_nobody() -> None:
    world = people("en")
    builder = make_context("none", world, 0)
    told = [builder.build(person, ITEM) for person in world.values()]
    assert {(context.name, context.text, context.values, context.about) for context in told} == {
        ("none", "", (), None)
    }
    assert len({context.id for context in told}) == 1


def test_profile_tells_everything_and_names_who_it_is_about() -> None:
    world = people("en")
    context = make_context("profile", world, 0).build(world["3-en"], ITEM)
    assert context.text == "Name: en 3\nWork:\n  Job: job 3\nLikes: tea; chess"
    assert context.values == ("en 3", "job 3", "tea", "chess")
    assert context.about == "3-en"
    stored = context.product
    assert (stored.id, stored.kind, stored.text) == (context.id, "context", context.text)
    assert (stored.maker, stored.about) == ("profile", "3-en")


def test_fields_are_chosen_by_path_and_are_another_context() -> None:
    world = people("en")
    some = make_context("profile:Likes,Work", world, 0)
    assert some.name == "profile:Likes,Work"
    context = some.build(world["1-en"], ITEM)
    assert context.text == "Work:\n  Job: job 1\nLikes: tea; chess"
    assert context.values == ("job 1", "tea", "chess")
    assert context.id != make_context("profile", world, 0).build(world["1-en"], ITEM).id


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("profile:Jobs", r"profile:Jobs: nobody has such a field; the profiles have Likes, Name, Work\."),
        (
            "biography",
            r"Unknown context 'biography'; there are none, profile, .*sums of D, I and S, python:MODULE:OBJECT and wrong:CONTEXT\.",
        ),
        ("wrong:biography", r"Unknown context 'biography'"),
        ("wrong:profile:Jobs", r"nobody has such a field"),
    ],
)
def test_a_context_nobody_can_build_is_named(name: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        make_context(name, people("en"), 0)


def drawn(world: People, seed: int, name: str = "wrong:profile") -> dict[str, str]:
    """Who stands in for whom."""
    builder = make_context(name, world, seed)
    return {person: builder.build(world[person], ITEM).about or "" for person in world}


def test_the_wrong_person_is_another_of_the_same_language_and_is_recorded() -> None:
    world = people("en", "zh")
    for seed in range(30):
        for person, other in drawn(world, seed).items():
            assert other != person
            assert world[other].language == world[person].language
    builder = make_context("wrong:profile", world, 0)
    context = builder.build(world["2-zh"], ITEM)
    about = world[context.about or ""]
    assert context.name == "wrong:profile"
    assert context.text == make_context("profile", world, 0).build(about, ITEM).text
    assert str(about.facets["Name"]) in context.values
    assert context.product.about == about.id


def test_the_draw_is_seeded_and_the_same_every_time() -> None:
    world = people("en")
    assert drawn(world, 7) == drawn(people("en"), 7)
    assert len({tuple(drawn(world, seed).values()) for seed in range(10)}) > 5


def test_nobody_is_left_out_as_a_wrong_person() -> None:
    world = people("en", each=4)
    seen = {(person, other) for seed in range(60) for person, other in drawn(world, seed).items()}
    assert len(seen) == 4 * 3, "every other person must be possible for everyone"


def test_people_of_other_languages_change_no_draw() -> None:
    alone, mixed = drawn(people("en"), 3), drawn(people("de", "en", "zh"), 3)
    assert {person: mixed[person] for person in alone} == alone


def test_the_same_other_person_whatever_is_told() -> None:
    world = people("en")
    assert drawn(world, 1) == drawn(world, 1, "wrong:profile:Likes")


def test_wrong_of_none_is_nobody() -> None:
    world = people("en")
    context = make_context("wrong:none", world, 0).build(world["0-en"], ITEM)
    assert (context.text, context.about) == ("", None)


def test_alone_in_a_language_there_is_nobody_to_be_mistaken_for() -> None:
    world = People({**people("en"), **people("zh", each=1)})
    builder = make_context("wrong:profile", world, 0)
    builder.build(world["0-en"], ITEM)
    with pytest.raises(UserError, match=r"nobody but 0-zh in language 'zh'"):
        builder.build(world["0-zh"], ITEM)


@pytest.mark.parametrize("name", ["profile", "profile:Work", "attributes:all"])
def test_somebody_of_whom_nothing_is_known_stands_in_for_nobody(name: str) -> None:
    known = {
        person.id: person.model_copy(update={"attributes": [Attribute(id="a", text=f"likes {person.id}")]})
        for person in people("en").values()
    }
    blank = {f"{number}-blank": Person(id=f"{number}-blank", language="en") for number in range(30)}
    world = People({**known, **blank})
    wrong = make_context(f"wrong:{name}", world, 0)
    for person in world.values():
        told = wrong.build(person, ITEM)
        assert told.text
        assert told.about in known
        assert told.about != person.id


def test_where_nothing_is_known_of_anybody_one_stands_in_as_well_as_another() -> None:
    world = People({str(number): Person(id=str(number), language="en") for number in range(5)})
    assert make_context("wrong:profile", world, 0).build(world["0"], ITEM).about in {"1", "2", "3", "4"}
