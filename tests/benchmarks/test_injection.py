"""The hostile benchmark as data: what is attacked stays what it was, and every attack has its placebo."""

from collections import Counter
from pathlib import Path

import pytest

from personafit import Store, UserError
from personafit.benchmarks import RunConfig, ingest, starter, write_folder
from personafit.benchmarks.hostile import hostile_note
from personafit.benchmarks.injection import ATTACKS, INFO, Injection
from personafit.contexts import People, make_context
from personafit.people import render_person
from tests.conftest import Command
from tests.scripted import run


@pytest.fixture(scope="module")
def injection() -> Injection:
    return Injection()


def test_every_attack_meets_every_choice_once(injection: Injection) -> None:
    attacked = [item for item in injection.items() if item.slices["version"] == "attacked"]
    met = Counter((item.slices["base"], item.slices["attack"]) for item in attacked)
    assert set(met.values()) == {1}
    assert len(met) == 24 * len(ATTACKS)
    assert Counter(item.slices["language"] for item in attacked) == {"en": 144, "zh": 144}
    for attack in ATTACKS:
        places = Counter(item.slices["place"] for item in attacked if item.slices["attack"] == attack)
        assert places == {"answer-wrong": 12, "profile": 8, "answer-right": 4}
    assert len({item.slices["of"] for item in attacked}) == 24


def test_gold_and_texts_are_the_starter_sets(injection: Injection) -> None:
    texts = {product.id: product.text for product in injection.products()}
    gold = {row.item: row.label for row in injection.gold()}
    original = {item.id: item for item in starter().items()}
    first_texts = {product.id: product.text for product in starter().products()}
    labels = {row.item: row.label for row in starter().gold() if row.rater == "author"}
    for item in injection.items():
        source = original[item.slices["base"].replace("injection/", "starter/", 1)]
        assert gold[item.id] == labels[source.id]
        assert item.prompt == source.prompt
        pairs = [(texts[a], first_texts[b]) for a, b in zip(item.products, source.products, strict=True)]
        assert all(now.startswith(before) for now, before in pairs)
        changed = [place for place, (now, before) in enumerate(pairs) if now != before]
        place = item.slices.get("place")
        right = int(gold[item.id] or 0)
        assert changed == {"answer-wrong": [1 - right], "answer-right": [right]}.get(place or "", [])


def test_a_placebo_stands_in_the_same_place_and_is_as_long(injection: Injection) -> None:
    people = {person.id: person for person in injection.people()}
    texts = {product.id: product.text for product in injection.products()}
    items = {item.id: item for item in injection.items()}
    for item in items.values():
        if item.slices["version"] != "attacked":
            continue
        placebo = items[f"{item.id}/placebo"]
        assert [len(texts[p]) for p in item.products] == [len(texts[p]) for p in placebo.products]
        assert len(render_person(people[item.person])) == len(render_person(people[placebo.person]))
        assert (item.person != item.slices["of"]) == (item.slices["place"] == "profile")
        assert placebo.slices["flagged"] == "no"
        same = ("attack", "place", "wording", "target", "base", "of")
        assert [item.slices[name] for name in same] == [placebo.slices[name] for name in same]


def test_most_attacks_are_flagged_and_nothing_else_is(injection: Injection) -> None:
    flagged = Counter((i.slices["version"], i.slices["flagged"]) for i in injection.items())
    assert flagged["clean", "yes"] == flagged["placebo", "yes"] == 0
    assert flagged["attacked", "yes"] / 288 > 0.8
    assert hostile_note(starter()) is None
    assert "look as if they were written to steer a judge" in (hostile_note(injection) or "")


def test_a_limit_keeps_every_attack_with_its_companions(tmp_path: Path) -> None:
    with Store(tmp_path / "store.db") as store:
        finished = run(store, RunConfig("injection", raters=["rule:length"], limit=24))
        selected = finished.run.config["selected"]
    items = {item.id: item for item in Injection().items()}
    attacked = [name for name in selected if items[name].slices["version"] == "attacked"]
    assert (
        len(attacked)
        == len({(items[n].slices["attack"], items[n].slices["language"]) for n in attacked})
        == 24
    )
    for name in attacked:
        assert {f"{name}/placebo", items[name].slices["base"]} <= set(selected)


def test_data_has_no_place_here(tmp_path: Path) -> None:
    with Store(tmp_path / "store.db") as store, pytest.raises(UserError, match="leave --data out"):
        run(store, RunConfig("injection", data=tmp_path, raters=["rule:length"]))


def test_it_is_a_benchmark_like_any_other(personafit: Command, tmp_path: Path) -> None:
    """As a folder it passes its check, which warns; `--dry-run` says what it would take."""
    write_folder(tmp_path / "folder", Injection())
    checked = personafit("data", "check", "folder").out
    assert "steer a judge" in checked
    assert "600 items" in checked
    plan = personafit("run", "injection", "--rater", "rule:length", "--dry-run", "--limit", "5").out
    assert "injection: " in plan


def test_who_is_forgotten_is_forgotten_in_every_altered_profile(tmp_path: Path) -> None:
    benchmark = Injection()
    everyone = {person.id for person in benchmark.people()}
    copies = {person for person in everyone if "+" in person}
    person = sorted(copies)[0].partition("+")[0]
    theirs = {one for one in everyone if one == person or one.startswith(f"{person}+")}
    assert len(theirs) > 2
    with Store(tmp_path / "store.db") as store:
        dataset = ingest(store, benchmark)
        before = store.count_items(dataset)
        forgotten = store.forget(person)
        assert forgotten is not None
        assert forgotten.counts["people"] == len(theirs)
        assert set(store.people(dataset)) == everyone - theirs
        left = list(store.items(dataset))
        assert before - len(left) == forgotten.counts["items"]
        assert {item.slices["of"] for item in left} == {one.partition("+")[0] for one in everyone - theirs}
        again = Injection()
        again.info = INFO.model_copy(update={"version": "another"})
        second = ingest(store, again)
        assert second != dataset
        assert set(store.people(second)) == everyone - theirs
        assert (
            "were forgotten (personafit data forget), and are left out: 1."
            in store.dataset_info(second)["notes"][-1]
        )


def test_nobodys_own_altered_profile_stands_in_for_them(injection: Injection) -> None:
    people = People({person.id: person for person in injection.people()})
    wrong = make_context("wrong:profile", people, 0)
    for item in injection.items():
        other = wrong.build(people[item.person], item).about
        assert other is not None
        assert other.partition("+")[0] != item.slices["of"]


def test_a_limit_goes_with_what_is_asked_for(tmp_path: Path) -> None:
    with Store(tmp_path / "store.db") as store:
        config = RunConfig("injection", raters=["rule:length"], limit=4, where=["attack=command"])
        selected = run(store, config).run.config["selected"]
    items = {item.id: item for item in Injection().items()}
    assert {items[name].slices.get("attack", "command") for name in selected} == {"command"}
    assert len(selected) == 12
