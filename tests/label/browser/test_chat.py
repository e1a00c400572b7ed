"""Chat collection: a participant talks with a model, a failure loses nothing, and the chat becomes a dialogue that is rated."""

from collections.abc import Callable

import pytest

from personafit.simulate import read_dialogues
from tests.label.browser.rater import Rater
from tests.label.browser.site import Site

Make = Callable[..., Rater]
REPLY = "Both have their charm"


@pytest.mark.slow
def test_a_chat_from_consent_to_rating(site: Site, rater: Make) -> None:
    study = site.study("chat", "chat", source="own", model=site.stub.spec())
    one = rater().join(study)
    one.accessible()
    one.press("Enter")  # the button that agrees has the focus
    one.page.wait_for_selector("#message:focus")
    site.stub.behave("prose")
    say(one, "Which tea for <b>the evening</b>?", 2)
    site.stub.behave("prose", first="error", times=1)
    one.page.keyboard.type("And without caffeine?")
    one.press("Enter")
    one.page.wait_for_selector("[data-chat=again]:not([hidden])")
    assert "your message is stored" in one.page.inner_text("#writing")
    one.accessible()
    one.page.reload()  # whoever leaves comes back to where they were, and the answer is asked for again
    one.page.wait_for_function("() => document.querySelectorAll('.turn').length === 4")
    one.page.wait_for_selector("#message:focus")
    one.picture("chat")
    one.accessible()
    one.tab_to("[data-how=satisfied]")
    one.press("Enter")
    one.page.wait_for_selector("fieldset.field")
    one.accessible()
    one.picture("chat-rating")
    one.complete("y", "4", "3", "5", "5")
    one.press("Enter")
    one.finished()
    own = site.plan(study)[0].arrangement.own
    (dialogue,) = read_dialogues(site.store, [own])
    assert [(turn.role, turn.text[:21]) for turn in dialogue.turns] == [
        ("user", "Which tea for <b>the "),
        ("assistant", REPLY),
        ("user", "And without caffeine?"),
        ("assistant", REPLY),
    ]
    assert (dialogue.stop, dialogue.person) == ("satisfied", site.raters(study)[0].code)
    asks = site.asks(study)
    assert [(ask["question"], ask["label"]) for ask in asks] == [
        ("completion", "1"), ("personalization", "4"), ("naturalness.user", "3"), ("naturalness.assistant", "5"),
        ("coherence.assistant", "5"),
    ]  # fmt: skip
    assert {ask["item"] for ask in asks} == {own}
    assert {ask["extra"]["perspective"] for ask in asks} == {"self"}
    items = {item.id: item for item in site.store.items(site.studies.study(study).dataset)}
    assert items[own].kind == "dialogue"
    (second,) = site.stub.requests[1:2]
    assert second["messages"][-1]["content"] == "And without caffeine?"
    assert "<b>the evening</b>" in one.page.request.get(f"{site.address}/rate/0").text().replace(
        "&lt;", "<"
    ).replace("&gt;", ">")
    assert one.page.request.get(f"{site.address}/rate/0").text().count("<b>") == 0


def test_a_message_written_offline_is_sent_later_and_once(site: Site, rater: Make) -> None:
    study = site.study("chat", "chat", source="own", model=site.stub.spec())
    one = rater().join(study)
    one.press("Enter")
    one.page.wait_for_selector("#message:focus")
    one.context.set_offline(True)
    one.page.keyboard.type("Anybody there?")
    one.press("Enter")
    one.page.wait_for_selector("[data-chat=again]:not([hidden])")
    one.context.set_offline(False)
    one.press("Enter")  # "ask again" has the focus
    one.page.wait_for_function("() => document.querySelectorAll('.turn').length === 2")
    texts = one.page.eval_on_selector_all(".turn", "(all) => all.map((turn) => turn.textContent)")
    assert ["Anybody there?" in text for text in texts] == [True, False]


def say(one: Rater, text: str, turns: int) -> None:
    one.page.keyboard.type(text)
    one.press("Enter")
    one.page.wait_for_function("(count) => document.querySelectorAll('.turn').length === count", arg=turns)
    one.page.wait_for_selector("#message:focus")
