"""The report of a dialogue run: tables, sentences, signatures with evidence, and a page on which texts stay texts."""

import io
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from personafit.items.dialogue import StopReason
from personafit.reporting.dialogues import viewer
from personafit.reporting.dialogues.loading import load_dialogues
from personafit.reporting.dialogues.published import published_rows
from personafit.reporting.dialogues.run_report import DialogueReport
from personafit.reporting.run_report import open_report
from tests.reporting.dialogues.world import MD, SD, World, good_reply, make_world

MARKER = "window.__broken = 1"
HOSTILE = [
    f"</script><script>{MARKER}</script>",
    f"<!--<script>{MARKER}",
    f'<img src=x onerror="{MARKER}">',
    "\u202eright to left\u2066 and unclosed",
    "nulls: \ufffd \u0001 \ufeff \u2028 \u2029 &lt; &amp; \\u003c ]]> {{ 7 * 7 }} {% raw %} $x^2$",
    "😀 Thai 😀 food, " * 20,
    f"'\"><svg onload={MARKER}> " + "long " * 5_000,
]
PEOPLE = 6
WAITS = [
    "Dinner, please.",
    "What cuisine would you like?",
    "Thai, please.",
    "What cuisine would you like again?",
]


def many(folder: Path, given: str = "none") -> World:
    people = {f"p{n}": {"Dining.Cuisine": ["Thai"], "Train.Seat": "window"} for n in range(PEOPLE)}
    world = make_world(folder, (given,), facets=people)
    for person in people:
        world.hold(person, SD, WAITS, given=given)
        world.hold(
            person,
            MD,
            ["Dinner and a train.", "A Thai place.", "And the train?", "An aisle seat on the train."],
            given=given,
            stop=StopReason.CAP,
        )
    return world


def test_failures_have_signatures_with_the_turns_that_show_them(tmp_path: Path) -> None:
    world = many(tmp_path)

    def reply(dialogue: Any, question: str, call: int) -> str:
        return good_reply(2, complete=dialogue.task.kind == "SD")(dialogue, question, call)

    world.judge(reply)
    found = {signature.name: signature for signature in DialogueReport(world.store, world.run).signatures}
    assert set(found) == {"stuck near 2", "several domains fail"}
    stuck = found["stuck near 2"]
    assert "told nothing" in stuck.sentence
    assert "What cuisine would you like again?" in {proof.quote for proof in stuck.evidence}
    assert "6 ran into the cap" in found["several domains fail"].sentence
    assert {proof.turn for proof in found["several domains fail"].evidence} == {4}


def test_done_but_impersonal(tmp_path: Path) -> None:
    world = many(tmp_path, "I")
    world.judge(good_reply(2, complete=True))
    found = {signature.name: signature for signature in DialogueReport(world.store, world.run).signatures}
    assert set(found) == {"stuck near 2", "done but impersonal"}
    assert "still waits to be told again" in found["stuck near 2"].sentence


def test_good_dialogues_have_none(tmp_path: Path) -> None:
    world = many(tmp_path, "I")
    world.judge(good_reply(4))
    assert DialogueReport(world.store, world.run).signatures == []


@pytest.mark.parametrize("width", [60, 100, 220])
def test_tables_are_printed_at_any_width_and_names_are_no_markup(
    tmp_path: Path, width: int, capsys: pytest.CaptureFixture[str]
) -> None:
    world = make_world(tmp_path, ("none", "I"), systems=("[red]helper",), tasks=(SD,))
    for given in ("none", "I"):
        for person in ("ann", "bob", "cyd"):
            world.hold(person, SD, WAITS, given=given, system="[red]helper")
    world.judge(good_reply(2), name="[bold]judge")
    screen = io.StringIO()
    report = open_report(world.store, world.run)
    assert isinstance(report, DialogueReport)
    report.print(Console(file=screen, width=width))
    shown = "".join(screen.getvalue().split())
    assert "[red]helper" in shown.replace("│", "").replace("┃", "") or width == 60
    assert "Counted,notjudged" in shown
    assert "the fair view" in capsys.readouterr().out


def test_published_rows_stand_beside_this_data_only() -> None:
    rows = published_rows("personalens")
    assert len(rows) == 11
    assert all("2506.09902" in row.source for row in rows)
    sonnet = {row.given: row.scores for row in rows if row.model == "Claude 3 Sonnet"}
    assert sonnet["none"]["personalization/SD"] == 2.13
    assert sonnet["D+I+S"]["completion/MD"] == 82.66
    assert published_rows("little") == []


def test_a_run_with_no_dialogue_yet_has_a_report(tmp_path: Path) -> None:
    world = make_world(tmp_path)
    world.judge(good_reply())
    report = DialogueReport(world.store, world.run)
    report.write_html(tmp_path / "report.html")
    report.print(Console(file=io.StringIO()))
    assert "0 of 6 dialogues ran to an end" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_the_page_holds_no_more_than_it_can_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = many(tmp_path)
    world.judge(good_reply(2))
    monkeypatch.setattr(viewer, "MAX_DIALOGUES", 4)
    run = load_dialogues(world.store, world.run)
    report = DialogueReport(world.store, world.run)
    data = viewer.viewer_data(world.store, run, report.audit)
    assert (len(data["dialogues"]), data["total"]) == (4, 12)
    assert all(
        any(mark[2] in viewer.WRONG for turn in one["turns"] for mark in turn["marks"])
        for one in data["dialogues"]
    )


playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("there is no Chromium on this machine to open the report in")
    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=program, args=flags)
        yield opened
        opened.close()


@pytest.fixture
def odd() -> list[str]:
    return []


@pytest.fixture
def page(browser: Any, odd: list[str]) -> Iterator[Any]:
    opened = browser.new_page(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    opened.on("pageerror", lambda error: odd.append(str(error)))
    opened.on("console", lambda message: odd.append(message.text))
    opened.on(
        "request", lambda request: odd.append(request.url) if not request.url.startswith("file:") else None
    )
    yield opened
    opened.close()


def test_hostile_texts_stay_texts(tmp_path: Path, page: Any, odd: list[str]) -> None:
    name = f"openai:<img src=x onerror={MARKER}>"
    world = make_world(tmp_path, ("none", "I"), systems=(name,))
    for place, text in enumerate(HOSTILE):
        person, task = ("ann", "bob", "cyd")[place % 3], (SD, MD)[place % 2]
        given = "none" if place < 6 else "I"
        world.hold(
            person, task, [text, f"A Thai place? {text}", text, text], given=given, told=text, system=name
        )
    judge = f"judge</title>\u202e</style><!--<script>{MARKER}</script>"
    world.judge(lambda dialogue, question, call: HOSTILE[call % len(HOSTILE)], name=judge)
    path = tmp_path / "report.html"
    DialogueReport(world.store, world.run).write_html(path)
    page.goto(path.as_uri())
    for button in page.locator("#list button").all():
        button.click()
    assert page.evaluate("window.__broken") is None
    assert odd == []
    assert page.locator("#detail img, #detail svg, #detail script").count() == 0
    assert page.locator("img, iframe").count() == 0


def test_the_viewer_shows_who_knew_what_the_marks_and_the_end(
    tmp_path: Path, page: Any, odd: list[str]
) -> None:
    world = make_world(tmp_path, ("none", "I"), tasks=(SD,))
    world.hold(
        "ann",
        SD,
        ["😀 Dinner?", "😀😀 A Thai place on a budget?", "Fine.", "Done."],
        given="I",
        told="Loves Thai food.",
    )
    world.hold(
        "bob",
        SD,
        ["Dinner?", "As you told me last week, you adore snails."],
        given="none",
        stop=StopReason.GAVE_UP,
    )
    world.judge(good_reply(3))
    path = tmp_path / "report.html"
    DialogueReport(world.store, world.run).write_html(path)
    page.goto(path.as_uri())
    assert page.locator("#list button").count() == 2
    page.select_option("#given", "I")
    detail = page.locator("#detail")
    assert "Loves Thai food." in detail.inner_text()
    assert "You are ann." in detail.inner_text()
    # Marks are placed by code points: characters beyond the first plane must not shift them.
    assert page.locator("#detail mark").all_text_contents() == ["Thai", "budget"]
    assert "brought in first · Cuisine" in detail.inner_text()
    assert "Ended: satisfied" in detail.inner_text()
    assert "3 of 4" in detail.inner_text()
    page.select_option("#given", "")
    page.select_option("#mark", "invents")
    assert page.locator("#list button").count() == 1
    assert "As you told me last week" in page.locator("#detail mark").first.inner_text()
    assert "Ended: gave-up" in detail.inner_text()
    page.select_option("#mark", "")
    page.fill("#search", "snails")
    assert page.locator("#list button").count() == 1
    page.fill("#search", '"each", "scores"')  # in a judge's reply only
    assert page.locator("#list button").count() == 2
    page.fill("#search", "each snails")
    assert page.locator("#list button").count() == 1
    page.fill("#search", "")
    page.locator("#list button").first.focus()
    page.keyboard.press("ArrowDown")
    assert page.locator("#list button").nth(1).get_attribute("aria-current") == "true"
    assert odd == []


def test_evidence_leads_to_its_turn(tmp_path: Path, page: Any, odd: list[str]) -> None:
    world = many(tmp_path)
    world.judge(good_reply(2))
    path = tmp_path / "report.html"
    DialogueReport(world.store, world.run).write_html(path)
    page.goto(path.as_uri())
    button = page.locator("[data-dialogue]").first
    wanted = button.get_attribute("data-dialogue")
    button.click()
    assert wanted in page.locator("#detail .id").inner_text()
    assert odd == []
