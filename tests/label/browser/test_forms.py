"""Every form, rated with the keyboard alone, and what is stored of it."""

from collections.abc import Callable

import pytest

from personafit.build.review import write_review
from personafit.extract.records import LABELS
from personafit.items.preference import turned
from personafit.label import ExtraPages
from tests.label.browser.rater import Rater
from tests.label.browser.site import Site

Make = Callable[..., Rater]


def test_best_of_answers(site: Site, rater: Make) -> None:
    study = site.study("choose", "fit", count=2)
    one = rater().join(study)
    one.accessible()
    one.picture("fit")
    one.press("1")
    one.at(1).press("2")
    one.finished()
    plan = site.plan(study)
    stored = {ask["item"]: ask for ask in site.asks(study)}
    assert [stored[page.page]["label"] for page in plan] == [
        str(plan[0].arrangement.sides[0]),
        str(plan[1].arrangement.sides[1]),
    ]
    assert all(stored[page.page]["order"] == page.arrangement.order for page in plan)
    assert all(
        ask["extra"]["perspective"] == "third-party" and ask["context"] == "profile"
        for ask in stored.values()
    )
    assert all(
        0 < ask["seconds"] < 60 and abs(ask["client_time"] - ask["at"]) < 60 for ask in stored.values()
    )


def test_grades(site: Site, rater: Make) -> None:
    study = site.study("grades", "grade")
    one = rater().join(study)
    one.accessible()
    one.press("6", "0")
    one.picture("grade")
    one.press("Enter")
    one.finished()
    asks = {ask["question"]: ask for ask in site.asks(study)}
    assert (asks["grade.fit"]["label"], asks["grade.fit"]["value"]) == ("6", 6.0)
    assert (asks["grade.helpful"]["status"], asks["grade.helpful"]["why"]) == ("skipped", "cannot tell")
    assert asks["grade.fit"]["target"], "a grade is about one answer of the item"


def test_dialogues_are_asked_the_judges_questions(site: Site, rater: Make) -> None:
    study = site.study("talks", "dialogue", source="last")
    one = rater().join(study)
    one.accessible()
    one.picture("dialogue")
    one.complete("y", "3", "2", "4", "5", "1")
    one.press("Enter")
    one.finished()
    asks = site.asks(study)
    assert [(ask["question"], ask["label"], ask["value"]) for ask in asks] == [
        ("completion", "1", 1.0),
        ("personalization", "3", 3.0),
        ("naturalness.user", "2", 2.0),
        ("naturalness.assistant", "4", 4.0),
        ("coherence.user", "5", 5.0),
        ("coherence.assistant", "1", 1.0),
    ]
    assert {ask["item"] for ask in asks} == {site.plan(study)[0].page}, (
        "they are about the dialogue judges judged"
    )


def test_attributes_against_a_conversation(site: Site, rater: Make) -> None:
    study = site.study("facts", "attributes")
    one = rater().join(study)
    one.accessible()
    first = one.page.get_attribute("fieldset.field", "data-evidence").split()
    assert (
        one.page.eval_on_selector_all(".turn.evidence", "(all) => all.map((turn) => turn.id.slice(5))")
        == first
    )
    one.press("1", "2")
    one.picture("attributes")
    one.complete("3")
    for _ in range(9):  # the box for what is missing lies right before the tools
        one.press("Shift+Tab")
        if one.page.evaluate("() => document.activeElement.dataset.field === 'missing'"):
            break
    one.page.keyboard.type("The user owns a bicycle.")
    one.tab_to("#next")
    one.press("Enter")
    one.finished()
    asks = site.asks(study)
    labels = [ask["label"] for ask in asks if ask["question"] == "attributes"]
    assert labels == ["accepted", "unsure", *["rejected"] * (len(labels) - 2)]
    assert set(labels) <= set(LABELS)
    (missing,) = [ask for ask in asks if ask["question"] == "missing"]
    assert missing["text"] == missing["extra"]["text"] == "The user owns a bicycle."
    page = site.studies.page(study, site.plan(study)[0].page)
    assert [ask["item"] for ask in asks if ask["question"] == "attributes"] == [
        page.items[place] for place in site.plan(study)[0].arrangement.places
    ]
    assert any("/trap-" in item for item in page.items), "something false has to be among them"
    assert "trap" not in one.page.content()


def test_which_attributes_matter(site: Site, rater: Make) -> None:
    study = site.study("matter", "relevance")
    one = rater().join(study)
    one.accessible()
    one.picture("relevance")
    one.press("n", "0")
    one.complete("y")
    one.press("Enter")
    one.finished()
    asks = site.asks(study)
    assert [ask["label"] for ask in asks] == ["no", None, *["yes"] * (len(asks) - 2)]
    assert [ask["value"] for ask in asks][:2] == [0.0, None]
    page = site.studies.page(study, site.plan(study)[0].page)
    assert [ask["item"] for ask in asks] == [
        page.items[place] for place in site.plan(study)[0].arrangement.places
    ]
    assert {ask["target"] for ask in asks} == {""}
    assert {ask["context"] for ask in asks} == {"none"}


def test_preferences_are_turned_to_the_personalized_answer(site: Site, rater: Make) -> None:
    study = site.study("prefer", "preference", count=2)
    one = rater().join(study)
    one.accessible()
    one.picture("preference")
    for position in range(2):
        one.at(position).complete("5")
        one.press("Enter")
    one.finished()
    sides = {page.page: (page.arrangement.sides[0], page.arrangement.sides[1]) for page in site.plan(study)}
    for ask in site.asks(study):
        expected = turned(5, sides[ask["item"]])
        assert (ask["label"], ask["value"]) == (str(expected), float(expected))
        assert ask["target"], "a mark is about an attribute"


def test_people_and_questions_of_a_build_are_kept_or_dropped(site: Site, rater: Make) -> None:
    build = site.folder / "build"
    build.mkdir()
    facets = {
        "Name": "Ines Alvar",
        "Demographics.Age": 41,
        "Demographics.Work": "Night porter and, at nineteen, a surgeon",
    }
    write_review(build, "people", [{"id": "p1", "language": "en", "person": facets}])
    texts = [
        "How do I sleep by day?",
        "What is two plus two?",
        "Which tram do I take home after a night shift?",
    ]
    asked = [{"id": f"p1/s{n}", "person": "p1", "question": text} for n, text in enumerate(texts)]
    write_review(build, "questions", asked)
    study = site.study("screening", "screen", source=str(build))
    one = rater().join(study)
    one.accessible()
    reasons = one.page.locator("textarea.reason")
    assert [reasons.nth(place).is_visible() for place in range(4)] == [False] * 4
    one.press("2")
    reasons.nth(0).wait_for(state="visible")
    one.press("Shift+Tab")
    one.page.keyboard.type("Too young for the job.")
    one.press("Tab", "1", "2")
    one.picture("screen")
    one.accessible()
    one.complete("0")
    one.press("Enter")
    one.finished()
    asks = {(ask["question"], ask["item"]): ask for ask in site.asks(study)}
    assert asks["screen.person", "p1"]["label"] == "drop"
    assert asks["screen.reason", "p1"]["text"] == "Too young for the job."
    shown = [f"p1/s{place}" for place in site.plan(study)[0].arrangement.places]
    assert [asks["screen.question", item]["label"] for item in shown] == ["keep", "drop", None]
    assert len(asks) == 5, "no reason, no row"


@pytest.mark.parametrize("form", ["fit", "grade", "attributes", "relevance", "preference"])
def test_nothing_on_a_page_tells(site: Site, rater: Make, form: str) -> None:
    keyed = 0 if form == "grade" else 1
    study = site.study(f"blind-{form}", form, count=2, besides=ExtraPages(keyed, attention=1, practice=keyed))
    one = rater().join(study)
    for planned in site.plan(study):
        reply = one.page.request.get(f"{site.address}/rate/{planned.position}")
        assert reply.ok
        source, page = reply.text(), site.studies.page(study, planned.page)
        for secret in (page.id, *page.items, *page.targets):
            assert len(secret) < 3 or f"{secret}" not in source.replace(f"{study}/", "")
        assert "gold" not in source
        assert "attention" not in source
        assert '"key"' not in source
