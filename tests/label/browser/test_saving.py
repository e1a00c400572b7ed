"""What becomes of answers: undone, flagged, offline, in two tabs, on two devices, by two raters."""

from collections.abc import Callable
from typing import Any

from personafit.label.answers import BUSY
from tests.label.browser.rater import Rater
from tests.label.browser.site import Site

Make = Callable[..., Rater]


def said(asks: list[dict[str, Any]], page: str) -> list[str]:
    """What was stored for a page, in order."""
    return [ask.get("why") or ask.get("text") or ask["label"] for ask in asks if ask["item"] == page]


def test_undo_takes_back_and_restores_the_answer_before(site: Site, rater: Make) -> None:
    study = site.study("undo", "fit", count=3)
    one = rater().join(study)
    first, second = (site.plan(study)[place] for place in (0, 1))
    one.press("1")
    one.at(1).press("0")
    one.at(2).press("u")
    one.at(1)
    assert one.pressed() == []
    one.press("ArrowLeft")
    one.at(0).press("2")
    one.at(1).press("u")
    one.at(0)
    assert one.pressed() == ["fit=A"]
    one.saved()
    a, b = (str(side) for side in first.arrangement.sides)
    assert said(site.asks(study), first.page) == [a, b, "undone", a]
    assert said(site.asks(study), second.page) == ["cannot tell", "undone"]
    assert [page.done is not None for page in site.plan(study)] == [True, False, False]
    assert one.page.inner_text("#counted") == "1 of 3 done"


def test_flag_comment_page_list_and_the_way_to_what_is_unfinished(site: Site, rater: Make) -> None:
    study = site.study("remarks", "fit", count=3)
    one = rater().join(study)
    one.press("f")
    one.at(1).press("ArrowLeft")
    one.at(0)
    one.press("c")
    one.page.keyboard.type("This is about my uncle.")
    one.press("Escape")
    one.saved()
    assert said(site.asks(study), site.plan(study)[0].page) == ["uncomfortable", "This is about my uncle."]
    assert site.plan(study)[0].done is not None, "a remark does not open a flagged page again"
    one.press("ArrowRight")
    one.at(1).press("ArrowRight")
    one.at(2).press("1")
    one.at(1)  # the only one that is unfinished
    one.press("l")
    one.accessible()
    names = one.page.eval_on_selector_all(
        ".pages a", "(all) => all.map((link) => link.getAttribute('aria-label'))"
    )
    assert names == ["1: done", "2: open, this page", "3: done"]
    one.press("Escape", "j")
    assert one.position == 1
    one.press("1")
    one.finished()


def test_a_key_that_is_held_down_is_one_answer(site: Site, rater: Make) -> None:
    study = site.study("held", "fit", count=3)
    one = rater().join(study)
    for _ in range(3):
        one.page.keyboard.down("1")  # without letting go, the second and third are repetitions
    one.page.keyboard.up("1")
    one.at(1).saved()
    assert len(site.asks(study)) == 1


def test_answers_given_offline_are_sent_in_order_after_a_reload(site: Site, rater: Make) -> None:
    study = site.study("offline", "fit", count=4)
    one = rater().join(study)
    one.press("1")
    one.at(1).saved()
    one.page.wait_for_load_state("networkidle")  # the next pages have been fetched ahead
    one.context.set_offline(True)
    one.press("2")
    one.at(2).press("1")
    one.status("2 waiting to be sent. No connection")  # the line may soon say that the next page waits too
    assert len(site.asks(study)) == 1
    one.context.set_offline(False)
    one.page.reload()
    one.saved()
    stored = site.asks(study)
    assert [ask["item"] for ask in stored] == [page.page for page in site.plan(study)[:3]]
    assert len({ask["id"] for ask in stored}) == 3


def test_what_the_server_cannot_store_stays_in_the_browser_until_it_can(site: Site, rater: Make) -> None:
    study = site.study("busy", "fit", count=2)
    one = rater().join(study)
    one.context.route("**/api/answers", lambda route: route.fulfill(status=503, json={"error": BUSY}))
    one.press("1")
    one.status(f"1 waiting to be sent. {BUSY}")
    one.accessible()
    assert site.asks(study) == []
    one.context.unroute("**/api/answers")
    one.saved()
    assert len(site.asks(study)) == 1


def test_two_tabs_send_every_answer_once(site: Site, rater: Make) -> None:
    study = site.study("tabs", "fit", count=4)
    one = rater().join(study)
    other = one.tab()
    other.goto(f"{site.address}/rate/2")
    other.wait_for_selector("main.rating")
    one.page.wait_for_load_state("networkidle")
    one.context.set_offline(True)
    one.press("1")
    other.bring_to_front()
    other.keyboard.press("2")
    other.wait_for_function("() => document.getElementById('saved').textContent.startsWith('2 waiting')")
    one.context.set_offline(False)
    one.saved()
    other.wait_for_function("() => document.getElementById('saved').textContent === 'Saved'")
    assert sorted(ask["item"] for ask in site.asks(study)) == sorted(
        site.plan(study)[place].page for place in (0, 2)
    )


def test_going_on_with_another_device(site: Site, rater: Make) -> None:
    study = site.study("devices", "grade", count=2)
    link = site.link(study)
    first, second = rater(), rater(viewport={"width": 390, "height": 844}, has_touch=True)
    first.page.goto(link)
    first.agree()
    first.press("4")
    first.saved()
    second.page.goto(link)
    second.at(0)
    assert second.pressed() == ["grade.fit=4"]
    second.press("5", "Enter")
    second.at(1).saved()
    first.page.reload()
    assert first.pressed() == ["grade.fit=4", "grade.helpful=5"]
    assert len(site.raters(study)) == 1


def test_two_raters_see_their_own_order_and_never_each_others_answers(site: Site, rater: Make) -> None:
    study = site.study("pair", "fit", count=4)
    one, two = rater().join(study), rater().join(study)
    for position in range(4):
        one.at(position).press("1")
    one.finished()
    assert two.pressed() == []
    assert two.page.inner_text("#counted") == "0 of 4 done"
    for position in range(4):
        two.at(position).press("1")
    two.finished()
    plans = [[(page.page, page.arrangement.order) for page in site.plan(study, seat)] for seat in (0, 1, 2)]
    assert len({frozenset(page for page, _ in plan) for plan in plans}) == 1, "all see the same pages"
    assert len(set(map(tuple, plans))) > 1, "and not in the same order"
    assert len(site.asks(study, 0)) == len(site.asks(study, 1)) == 4


def test_a_paused_study_says_so_and_keeps_the_answer(site: Site, rater: Make) -> None:
    from sqlalchemy import update

    from personafit.store.tables import studies

    study = site.study("paused", "fit", count=2)
    one = rater().join(study)

    def put(state: str) -> None:
        with site.store.engine.begin() as connection:
            connection.execute(update(studies).where(studies.c.name == study).values(state=state))

    one.page.wait_for_function(  # the next page is at hand: the answer leads there without another request
        "() => performance.getEntriesByType('resource').some((one) => one.name.endsWith('/rate/1') && one.responseEnd)"
    )
    put("paused")
    one.press("1")
    one.at(1).status("This study is paused at the moment")
    assert site.asks(study) == []
    put("open")
    one.page.goto(f"{site.address}/rate")
    one.saved()
    assert len(site.asks(study)) == 1
