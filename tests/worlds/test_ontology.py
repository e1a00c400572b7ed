"""Domains as data: adding one takes a short file, and what is wrong with it is said."""

import re
from dataclasses import replace

import pytest

from personafit import UserError
from personafit.worlds import AGENTS, play, score, told_to
from personafit.worlds.building import build
from personafit.worlds.ontology import read_domain, starter_domains
from personafit.worlds.people import Resident, generate

PETS = """
label = { en = "Pets", zh = "宠物" }
table = "bookings"
prices = { en = [10, 60], zh = [80, 480] }
slots = ["date"]
requests.en = ["Book somebody to look after the cat on {date}."]
requests.zh = ["{date}找个人照看猫。"]
[attributes.sitter]
label = { en = "Sitter", zh = "照看人" }
values = { en = ["student", "neighbour", "vet", "agency", "retired", "family"], zh = ["学生", "邻居", "兽医", "中介", "退休人员", "家人"] }
[attributes.visits]
label = { en = "Visits", zh = "次数" }
values = { en = ["once", "twice", "overnight"], zh = ["一次", "两次", "过夜"] }
[attributes.play]
label = { en = "Play", zh = "玩耍" }
values = { en = ["none", "a little", "a lot"], zh = ["不玩", "玩一会", "玩很久"] }
"""


def test_a_domain_is_under_sixty_lines_and_can_be_played() -> None:
    domains = {**starter_domains(), "pets": read_domain("pets", PETS, "pets.toml")}
    world = build("with pets", generate(domains, 30, 0), 0)
    played = [one for one in world.requests.values() if any(goal.domain == "pets" for goal in one.goals)]
    assert played
    for request in played:
        figures = score(play(world, request, "oracle"), told_to("oracle", request))
        assert (figures.success, figures.regret) == (True, 0.0)


@pytest.mark.parametrize(
    ("wrong", "right", "said"),
    [
        ('zh = ["一次", "两次"] }', 'zh = ["一次", "两次", "过夜"] }', "same number of values"),
        ('table = "zoo"', 'table = "bookings"', "field 'table'"),
        ('colour = "red"\ntable = "bookings"', 'table = "bookings"', "field 'colour'"),
        (
            'requests.en = ["Book a sitter."]',
            'requests.en = ["Book somebody to look after the cat on {date}."]',
            "{date}",
        ),
        (
            'label = { en = "Pets", fr = "Animaux" }',
            'label = { en = "Pets", zh = "宠物" }',
            "speak en and zh, not 'fr'",
        ),
        (
            'label = { en = "Pets" }',
            'label = { en = "Pets", zh = "宠物" }',
            "the languages of the domain's label",
        ),
        ("[attributes.price]", "[attributes.play]", "no attribute can be called"),
        ("prices = 10 60", "prices = { en = [10, 60], zh = [80, 480] }", "not a domain in TOML"),
        ("zh = [480, 80]", "zh = [80, 480]", "the lesser first"),
        ("prices = { en = [-1, 60],", "prices = { en = [10, 60],", "greater than or equal to 0"),
        ('hours = 12\nslots = ["date"]', 'slots = ["date"]', "less than or equal to 11"),
        ("照看猫。{time}", "照看猫。", "must say {date} in braces, and nothing else"),
        ("照看猫。}", "照看猫。", "Single '}'"),
        ("[attributes.'visits.a']", "[attributes.visits]", "or have a dot in its name"),
        ("[attributes.slots]", "[attributes.visits]", "no attribute can be called"),
        (
            'label = { en = "Visits", zh = "玩耍" }',
            'label = { en = "Visits", zh = "次数" }',
            "the same label",
        ),
        (
            'en = ["once", "Once", "overnight"]',
            'en = ["once", "twice", "overnight"]',
            "a value stands there twice",
        ),
        ('en = ["once", "", "overnight"]', 'en = ["once", "twice", "overnight"]', "at least 1 character"),
        (
            '[attributes.play]\nmemory = { en = "Played {value}." }',
            "[attributes.play]",
            "the memory 'Played {value}.' must have {} for the value",
        ),
        ("prices = { en = [10, 60] }", "prices = { en = [10, 60], zh = [80, 480] }", "for each language"),
    ],
)
def test_faults_of_a_domain_are_named(wrong: str, right: str, said: str) -> None:
    assert right in PETS
    with pytest.raises(UserError) as raised:
        read_domain("pets", PETS.replace(right, wrong), "pets.toml")
    assert str(raised.value).startswith("pets.toml")
    assert said in str(raised.value)


def test_domains_of_a_world_have_the_same_languages() -> None:
    english = re.sub(r', zh = (\[.*?\]|".*?")|requests.zh = .*', "", PETS)
    domains = {**starter_domains(), "pets": read_domain("pets", english, "pets.toml")}
    with pytest.raises(UserError, match="The domain 'pets' is in en, others are in en and zh"):
        generate(domains, 4, 0)


def test_domains_do_not_take_the_names_of_others() -> None:
    with pytest.raises(UserError, match="'calendar' is the name of a table of the person's own"):
        read_domain("calendar", PETS, "calendar.toml")
    domains = {name: read_domain(name, PETS, f"{name}.toml") for name in ("cats", "dogs")}
    with pytest.raises(UserError, match="The domains cats and dogs have the same label"):
        generate(domains, 4, 0)


def test_a_budget_is_not_below_every_price() -> None:
    narrow = PETS.replace("en = [10, 60]", "en = [101, 104]")
    people = generate({"pets": read_domain("pets", narrow, "pets.toml")}, 40, 0)
    budgets = {one.tastes.budget("pets") for one in people if one.language == "en"} - {None}
    assert budgets
    assert min(filter(None, budgets)) >= 101


def test_a_world_of_one_value_says_that_there_is_nothing_to_choose() -> None:
    one = PETS
    for values in (
        'en = ["once", "twice", "overnight"], zh = ["一次", "两次", "过夜"]',
        'en = ["none", "a little", "a lot"], zh = ["不玩", "玩一会", "玩很久"]',
    ):
        one = one.replace(values, 'en = ["any"], zh = ["任何"]')
    one = one.replace(
        'en = ["student", "neighbour", "vet", "agency", "retired", "family"], zh = ["学生", "邻居", "兽医", "中介", "退休人员", "家人"]',
        'en = ["any"], zh = ["任何"]',
    )
    domains = {"pets": read_domain("pets", one, "pets.toml")}
    with pytest.raises(UserError, match="no two of its 8 people differ enough"):
        build("flat", generate(domains, 8, 0), 0)
    with pytest.raises(UserError, match="has no people"):
        build("empty", [], 0)


def test_a_person_without_preferences_is_in_the_world_and_asks_for_nothing() -> None:
    people = generate(starter_domains(), 12, 0)
    blank = Resident("blank", "en", {}, (), (), starter_domains())
    world = build("with a blank person", [*people, blank], 0)
    assert "blank" in world.residents
    assert blank.person.facets == {}
    assert {one.resident.id for one in world.requests.values()} == {one.id for one in people}
    request = next(iter(world.requests.values()))
    borrowed = replace(request, resident=Resident("b", request.language, {}, (), (), starter_domains()))
    for agent in AGENTS:
        figures = score(play(world, borrowed, agent), frozenset())
        assert figures.regret == 0.0
