"""Coming into a study and leaving it: consent, comprehension check, languages, codes."""

from collections.abc import Callable

from personafit.label import Access, RaterState
from personafit.label.texts import QUIZZES
from tests.label.browser.rater import Rater
from tests.label.browser.site import Site

Make = Callable[..., Rater]


def test_from_the_command_line_to_the_completion_code(site: Site, rater: Make) -> None:
    one = rater()
    one.page.goto(site.link("pilot", "?PROLIFIC_PID=p1&STUDY_ID=s&SESSION_ID=x"))
    one.accessible()
    one.agree()
    assert one.page.url.endswith("/check")
    one.accessible()
    one.pass_check("fit")
    one.page.wait_for_selector("main.rating[data-practice]")
    one.accessible()
    right = site.studies.page("pilot", site.plan("pilot")[0].page).key["fit"]
    sides = site.plan("pilot")[0].arrangement.sides
    wrong_key = str(1 + (1 - sides.index(int(right))))
    one.press(wrong_key)
    one.page.wait_for_selector(".feedback.wrong")
    assert one.page.inner_text(".feedback").startswith(
        f"We would have answered: {'AB'[sides.index(int(right))]}."
    )
    one.press("u")
    one.page.wait_for_selector(".feedback", state="hidden")
    one.press("1" if wrong_key == "2" else "2")
    one.page.wait_for_selector(".feedback.right")
    one.picture("practice")
    one.press("ArrowRight")
    for position in range(1, len(site.plan("pilot"))):
        one.at(position).press("1")
    one.finished()
    one.accessible()
    assert "C0DE" in one.page.inner_text("main")
    assert one.page.get_attribute("main a", "href") == "https://app.prolific.com/submissions/complete?cc=C0DE"
    (seat,) = site.raters("pilot")
    assert (seat.state, seat.external) == (RaterState.DONE, "p1")
    counted = [
        ask for ask in site.asks("pilot") if ask["question"] == "fit" and ask["item"].startswith("practice/")
    ]
    assert [ask["why"] if "why" in ask else ask["label"] for ask in counted] == [
        str(1 - int(right)), "undone", right,
    ]  # fmt: skip


def test_one_link_for_everybody_gives_each_browser_one_seat(site: Site, rater: Make) -> None:
    study = site.study("everybody", "fit")
    link = f"{site.address}/join/{Access(site.store.engine).invite(study, None)}"
    one, two = rater(), rater()
    one.page.goto(link)
    form = {name: one.page.get_attribute(f"input[name={name}]", "value") for name in ("csrf", "visit")}
    for _ in range(2):  # a form that is sent twice, as by a double click
        assert one.page.request.post(link, form=form | {"agree": "yes"}).ok
    one.page.goto(link)
    one.page.wait_for_selector("main.rating")
    two.page.goto(link)
    two.agree()
    assert len(site.raters(study)) == 2


def test_who_fails_the_check_twice_is_out(site: Site, rater: Make) -> None:
    study = site.study("strict", "fit", check=True)
    one = rater()
    one.page.goto(site.link(study))
    one.agree()
    wrong = [1 - min(1, question["right"]) for question in QUIZZES["en"]["fit"]]
    one.answer_check(wrong)
    one.page.wait_for_selector("[role=alert]")
    one.accessible()
    one.answer_check(wrong)
    one.page.wait_for_function("() => document.body.textContent.includes('two attempts')")
    (seat,) = site.raters(study)
    assert (seat.state, seat.reason) == (RaterState.EXCLUDED, "comprehension check")


def test_the_interface_speaks_both_languages(site: Site, rater: Make) -> None:
    study = site.study("tongues", "fit", check=True)
    one = rater()
    one.page.goto(site.link(study))
    one.tab_to("a[lang=zh]")
    one.press("Enter")
    one.page.wait_for_selector("html[lang=zh]")
    assert "请判断哪个回答对这个人最合适" in one.page.inner_text("main")
    one.agree()
    one.pass_check("fit", "zh")
    one.page.wait_for_selector("main.rating")
    assert "哪个回答最合适" in one.page.inner_text("main")
    one.status("已保存")
    one.accessible()
    one.tab_to("#language")
    one.press("Enter")
    one.page.wait_for_selector("html[lang=en]")
    one.saved()
    one.press("g")
    assert "Decide which answer serves that person best" in one.page.inner_text("dialog[open]")
    one.accessible()
    one.press("Escape")


def test_a_link_that_was_cut_short_says_so(site: Site, rater: Make) -> None:
    one = rater()
    one.page.goto(f"{site.address}/join/cut-short")
    assert "not valid" in one.page.inner_text("main")
    one.accessible()
    one.page.goto(f"{site.address}/join/cut-short?lang=zh")
    assert "该链接无效" in one.page.inner_text("main")
