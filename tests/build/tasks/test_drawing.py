"""People drawn by rules: evenly, plausibly, and the same for the same seed."""

from collections import Counter
from functools import cache
from math import log

import pytest
from scipy.stats import entropy

from personafit.build.candidates import elements
from personafit.build.tasks.histories import domain_preferences, find_leaks, from_template, history_faults
from personafit.build.tasks.ontology import Ontology, Profile, TaskTemplate, read_definitions, read_ontology
from personafit.build.tasks.profiles import (
    WEEKEND,
    ProfileSampler,
    draw_situation,
    situation_lists,
    tags_of,
    town_of,
)
from personafit.people import FacetValue, Person

WORK = ("school pupil", "student", "nurse", "baker", "looking for work", "retired teacher")
HOUSEHOLDS = ("lives alone", "with a partner and two children", "with three flatmates", "with a grown-up son")


def people(count: int) -> list[Person]:
    """People of all ages, in both languages, some of them minors, parents, retired."""
    return [
        Person(
            id=f"t{number:03}",
            language=("en", "zh")[number % 2],
            facets={
                "Demographics.Age": (15, 20, 34, 47, 55, 70)[number % 6],
                "Demographics.Home": ("a village", "Leeds", "Accra")[number % 3],
                "Demographics.Work": WORK[number % 6],
                "Demographics.Household": HOUSEHOLDS[number // 6 % 4],
            },
        )
        for number in range(count)
    ]


@cache
def world() -> tuple[Ontology, list[TaskTemplate], list[Profile]]:
    ontology = read_ontology()
    definitions = read_definitions(ontology)
    drawing = ProfileSampler(ontology, definitions, 5, (5, 8))
    return ontology, definitions, [drawing.profile(person) for person in people(160)]


def test_no_attribute_collapses_to_a_favourite() -> None:
    ontology, _, profiles = world()
    found = []
    for path in ontology.paths():
        counts = Counter(value for one in profiles for value in one.preferences.get(path, ()))
        values = min(counts.total(), len(ontology.attribute(path).values))
        found.append(entropy([*counts.values()]) / log(values))
    assert min(found) > 0.8
    assert sum(found) / len(found) > 0.95
    cares = Counter(domain for profile in profiles for domain in profile.domains)
    assert min(cares.values()) > 0.3 * max(cares.values())


def test_rules_hold_for_everybody() -> None:
    ontology, _, profiles = world()
    minors = 0
    for profile in profiles:
        minors += "minor" in profile.tags
        for name in profile.domains:
            domain, tags = ontology.domains[name], frozenset(profile.tags)
            has = {
                f"{attribute}: {value}" for attribute, values in profile.of(name).items() for value in values
            }
            assert domain.is_open_to(tags)
            assert not has & domain.barred_for(tags)
            assert not any(one in has and other in has for one, other in domain.excludes)
            assert all(
                len(values) == 1 or domain.attributes[attribute].take == "several"
                for attribute, values in profile.of(name).items()
            )
    assert minors > 10, "there were some to hold the rules against"


def test_the_same_seed_draws_the_same_people_and_another_seed_others() -> None:
    ontology, definitions, profiles = world()
    again = ProfileSampler(ontology, definitions, 5, (5, 8))
    other = ProfileSampler(ontology, definitions, 6, (5, 8))
    first = [again.profile(person) for person in people(20)]
    assert [one.preferences for one in first] == [one.preferences for one in profiles[:20]]
    assert [other.profile(person).preferences for person in people(20)] != [one.preferences for one in first]


def test_a_template_history_shows_everything_and_goes_against_nothing() -> None:
    ontology, _, profiles = world()
    for profile in profiles:
        for domain in profile.domains:
            text = from_template(profile, domain, ontology, 1)
            assert not history_faults(text, domain_preferences(profile, domain, ontology)), text


def test_no_wish_and_no_goal_gives_a_preference_away() -> None:
    ontology, definitions, profiles = world()
    for profile in profiles:
        for one in definitions:
            if set(one.domains) <= set(profile.domains):
                text = f"{one.wording(profile.language).wish} {one.goal(profile.language)}"
                assert not find_leaks(text, profile, one, ontology), (one.id, text)


def test_situations_hold_together_and_do_not_repeat_themselves() -> None:
    _, _, profiles = world()
    lists = situation_lists()
    places = {place.en: place for place in lists.places}
    seen: Counter[tuple[str, ...]] = Counter()
    for profile in profiles:
        for domain in profile.domains:
            found = draw_situation(lists, profile, f"SD-{domain}-1", [domain], 0)
            if profile.language != "en":
                continue
            place = places[next(name for name in places if found["location"].endswith(f", {name}"))]
            assert found["location"].startswith(str(profile.facets["Demographics.Home"]))
            assert not place.only or set(place.only) & set(profile.tags)
            assert domain not in place.not_for
            assert found["time_of_day"] in place.times
            assert found["device"] in place.devices
            assert not place.weekdays or found["day"] not in WEEKEND
            seen[tuple(list(found.values())[1:4])] += 1
    assert max(seen.values()) < 0.05 * seen.total(), "one combination was 36 % of a published set"


@pytest.mark.parametrize(
    ("facets", "tags"),
    [
        ({"Demographics.Age": 15, "Demographics.Work": "school pupil"}, {"minor", "student", "city"}),
        ({"Demographics.Age": 70, "Demographics.Work": "退休护士"}, {"adult", "senior", "retired", "city"}),
        (
            {"Age": "34", "Occupation": "nurse", "Household": "a son of 8 every other week", "Home": "a village"},
            {"adult", "working", "parent", "rural"},
        ),
        ({"Demographics.Age": 66, "Demographics.Household": "with a grown-up daughter's family"}, {"adult", "senior", "city"}),
        ({"Demographics.Work": "looking for work", "Demographics.Household": "独居"}, {"adult", "alone", "city"}),
    ],
)  # fmt: skip
def test_what_follows_from_demographics(facets: dict[str, str | int], tags: set[str]) -> None:
    assert tags_of(facets) == tags


@pytest.mark.parametrize("language", ["en", "zh"])
def test_parents_are_those_who_have_children_at_home(language: str) -> None:
    for household in elements(language).tables["households"]:
        facets: dict[str, FacetValue] = {"Demographics.Age": 50, "Demographics.Household": household.text}
        found = bool(household.tags & {"children", "small-children"})
        assert ("parent" in tags_of(facets)) == found, household.text


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_situation_names_the_town_and_not_the_home(language: str) -> None:
    assert (
        town_of({"Home": "Unit near the beach in Wollongong, Australia; no garden"})
        == "Wollongong, Australia"
    )
    assert town_of({"City": "Leeds"}) == "Leeds"
    assert town_of({"Home": "株洲的厂区家属楼，靠环路"}) == "株洲"
    for home in elements(language).tables["homes"]:
        note = "，看得见河" if language == "zh" else "; with a view"
        town = town_of({"Home": home.text.replace("{home_note}", note)})
        assert town
        assert not set(";，") & set(town)
        assert len(town) < len(home.text) / 1.5, town
