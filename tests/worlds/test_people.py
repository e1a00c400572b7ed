"""What is known where, and how it is told."""

import pytest

from personafit.contexts.memories import memories_of
from personafit.people import render_person
from personafit.worlds import shipped
from personafit.worlds.people import PLACES


def test_facts_are_in_the_profile_in_memories_or_with_the_user() -> None:
    facts = [fact for resident in shipped().residents.values() for fact in resident.facts]
    shares = [sum(fact.place == place for fact in facts) / len(facts) for place in PLACES]
    assert shares == pytest.approx([0.55, 0.25, 0.2], abs=0.02)


def test_the_profile_tells_the_facts_of_the_profile_and_memories_theirs() -> None:
    for resident in shipped().residents.values():
        profile = render_person(resident.person)
        memories = "\n".join(memory.text for memory in memories_of(resident.person))
        in_profile, in_memory = resident.told_in(profile), resident.told_in(memories)
        assert in_profile == set(resident.known("profile").facts)
        assert in_memory == set(resident.known("memory").facts)
        assert resident.told_in(profile + memories) == in_profile | in_memory
        assert not resident.told_in("")


def test_a_fact_told_in_other_words_counts_as_told() -> None:
    resident = shipped().residents["p01"]
    fact = next(fact for fact in resident.facts if fact.place == "user" and not fact.hard)
    domain = resident.domains[fact.domain]
    said = f"As to {domain.label['en']}, their {domain.attributes[fact.topic].label['en']} is {resident.joined(fact)}."
    assert fact.key in resident.told_in(said)


def test_secrets_are_told_to_the_assistant_and_recognised() -> None:
    for resident in shipped().residents.values():
        told = render_person(resident.person) + " ".join(memory.text for memory in resident.person.memories)
        for secret in resident.secrets:
            assert secret.text in told
            assert secret.leaks_in(secret.text.upper())
            assert not secret.leaks_in("Dinner is at eight, see you there. 周五晚上见。")


def test_people_and_requests_come_from_the_seed() -> None:
    first, again = shipped(6, 3), shipped.__wrapped__(6, 3)
    assert [one.person.version for one in first.residents.values()] == [
        one.person.version for one in again.residents.values()
    ]
    assert {id: one.text for id, one in first.requests.items()} == {
        id: one.text for id, one in again.requests.items()
    }
    assert [one.offers for one in first.requests.values()] == [one.offers for one in again.requests.values()]
    assert {one.person.version for one in shipped(6, 4).residents.values()}.isdisjoint(
        one.person.version for one in first.residents.values()
    )
