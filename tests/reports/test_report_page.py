"""The report in a real browser: texts are data, tables sort, items can be found, and nothing leaves the page."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import personafit as pf
from personafit import Status, Store
from personafit.benchmarks.injection import ATTACKS
from personafit.people import Person
from personafit.reports.report_page import embed
from personafit.store import Ask, Item, Judgment, Outcome, Product, RaterRecord

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

MARKER = "window.__broken = 1"
HUGE = "long " * 40_000
HOSTILE = [
    f"</script><script>{MARKER}</script>",
    f"<!--<script>{MARKER}",
    f'<img src=x onerror="{MARKER}">',
    f'<a href="javascript:{MARKER}">javascript:{MARKER}</a>',
    "\u202eright to left\u2066 and unclosed",
    "nulls: \ufffd \u0001 \ufeff \u2028 \u2029 &lt; &amp; \\u003c ]]> {{ 7 * 7 }} {% raw %}",
    HUGE,
    f"'\"><svg onload={MARKER}>",
]
ATTACK_TEXTS = [
    attack.text(language, 0, "this answer", "A") for attack in ATTACKS.values() for language in ("en", "zh")
]
RATERS = [f"python:<img src=x onerror={MARKER}>", "rule:length", "openai:$x^2$@</title>\u202e</style>_<!--"]
SHOWN_UNDER = ["profile", "none", "wrong:profile"]
SLICES = "#part-1-section-1 table"  # scores by slice


class Page:
    """An open report and everything odd that happened on it."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.odd: list[str] = []
        self.requests: list[str] = []
        page.on("dialog", self._dialog)
        page.on("pageerror", lambda error: self.odd.append(str(error)))
        page.on("console", lambda message: self.odd.append(message.text))
        page.on("request", lambda request: self.requests.append(request.url))

    def _dialog(self, dialog: Any) -> None:
        self.odd.append(dialog.message)
        dialog.dismiss()

    def open(self, path: Path) -> Any:
        self.page.goto(path.as_uri())
        self.page.locator("[data-browser]").scroll_into_view_if_needed()  # it starts when it comes near
        self.page.locator("#browser").wait_for()
        self.settle()
        return self.page

    def settle(self) -> None:
        """Wait until nothing is being unpacked."""
        self.page.locator("#browser [aria-busy=true]").first.wait_for(state="detached")

    def search(self, text: str) -> None:
        self.page.locator("#search").fill(text)
        self.settle()

    def questions(self) -> list[str]:
        found: list[str] = self.page.locator("#list .q").all_text_contents()
        return found

    def column(self, number: int) -> list[str]:
        cells = self.page.locator(f"{SLICES} tbody tr > :nth-child({number})")
        values: list[str] = cells.evaluate_all("cells => cells.map(cell => cell.dataset.sort)")
        return values


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
def page(browser: Any) -> Iterator[Page]:
    opened = browser.new_page(viewport={"width": 1280, "height": 900})
    yield Page(opened)
    opened.close()


def make_report(folder: Path, texts: list[str], answered: bool = True) -> Path:
    """A run whose people, questions, answers, replies and raters carry these texts."""
    with Store(folder / "store.db") as store:
        dataset = "made@1"
        published = [
            {
                "model": f"<b>{texts[0][:40]}",
                "source": "Paper, Table 3",
                "view": "profile",
                "scores": {"general": 70.0},
            }
        ]
        info = {
            "name": "made",
            "version": "1",
            "title": f"Made {texts[0][:60]}",
            "description": texts[-1][:200],
            "licence": "ours",
            "gold": "author",
            "metric": "accuracy",
            "view": "profile",
            "layout": [["half", "tier"], ["half"]],
            "coverage_bar": 0.95,
            "published": published,
        }
        store.begin_dataset(dataset, "made", info)
        for place, text in enumerate(texts):
            pair = [Product(kind="answer", text=f"{side} {text}") for side in ("personal", f"plain{place}")]
            person = Person(id=f"p{place} {text[:50]}", language="en", facets={f"Hobby {text[:30]}": text})
            item = Item(
                id=f"made/{place}",
                person=person.id,
                prompt=f"Question {place}? {text[:2000]}",
                products=[product.id for product in pair],
                slices={"half": "general" if place % 2 else "specific"},
            )
            store.add_people(dataset, [person])
            store.add_products(pair)
            store.add_items(dataset, [(place, item)])
            tier = ("easy", "medium", "hard")[place % 3]
            gold = Judgment(
                ask=f"{dataset}#author", item=item.id, rater="author", label="0", extra={"tier": tier}
            )
            store.add_judgments([gold])
        store.finish_dataset(dataset)
        raters = [
            {"fingerprint": f"f{n}", "name": name, "kind": "python", "orders": 2, "control": n == 1}
            for n, name in enumerate(RATERS)
        ]
        store.add_raters(
            RaterRecord(
                fingerprint=r["fingerprint"],
                name=r["name"],
                kind="python",
                settings={texts[0][:50]: texts[-1][:90]},
            )
            for r in raters
        )
        config = {
            "benchmark": "made",
            "dataset": dataset,
            "question": "fit",
            "views": SHOWN_UNDER,
            "seed": 0,
            "samples": 1,
            "selected": None,
            "raters": raters,
            "notes": texts[:4],
        }
        run = store.begin_run("made-1", dataset, config, 100)
        if answered:
            outcomes = [
                _outcome(n, text, rater, context, order)
                for n, text in enumerate(texts)
                for rater in range(3)
                for context in SHOWN_UNDER
                for order in ("01", "10")
            ]
            store.plan_jobs(run.id, [outcome.ask.job for outcome in outcomes])
            store.write(outcomes)
            store.finish_run(run.name)
        return pf.load("made-1", store=store).report(folder / "report.html")


def _outcome(number: int, text: str, rater: int, context: str, order: str) -> Outcome:
    job = f"{number}-{rater}-{context}-{order}"
    failed = rater == 2 and number == 1
    status = Status.FAILED if failed else Status.OK
    ask = Ask(
        id=job,
        job=job,
        item=f"made/{number}",
        question="fit",
        rater=f"f{rater}",
        context=context,
        order=order,
        status=status,
        reply=f"reply {text[:500]}",
        detail=f"said {text[:300]}" if failed else None,
    )
    # The first rater is right on even items, whatever the order; the others take what is shown first.
    label = str(number % 2) if rater == 0 else order[0]
    judgment = Judgment(
        ask=job, item=ask.item, rater=ask.rater, label=label, value=1.0 if label == "0" else -1.0
    )
    return Outcome(ask=ask, judgments=[] if failed else [judgment])


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report full of texts that would like to be more than texts, every attack of the injection benchmark among them."""
    return make_report(tmp_path_factory.mktemp("hostile"), [*HOSTILE, *ATTACK_TEXTS])


def test_hostile_texts_are_shown_searched_and_never_run(hostile: Path, page: Page) -> None:
    opened = page.open(hostile)
    scripts = opened.evaluate("document.scripts.length")
    for place, text in enumerate([*HOSTILE, *ATTACK_TEXTS]):
        opened.locator("#list button").nth(place).click()
        page.settle()
        opened.locator("#detail details").evaluate_all("all => all.forEach(one => (one.open = true))")
        shown = opened.locator("#detail").evaluate("node => node.textContent")
        for part in (f"personal {text}", f"plain{place} {text}", f"reply {text[:500]}"):
            assert part in shown
    assert RATERS[0] in opened.locator(SLICES).text_content()
    for where in (".verdict", "#list .about", "pre.command"):  # a name cannot turn the rest of a line around
        assert "\u202e" not in "".join(opened.locator(where).all_text_contents())
    assert opened.locator("main details.section").count() >= 5  # nothing closed a tag it should not have
    assert opened.locator("main img, main iframe, main a[href^=javascript], #detail script").count() == 0
    page.search("</script><script>window")
    assert len(page.questions()) == 1
    drawn = " ".join(opened.locator(".plot svg text").all_text_contents())
    assert "<img src=x" in drawn
    assert "$x^2$" in drawn
    assert "\u202e" not in drawn
    ids = opened.evaluate("[...document.querySelectorAll('[id]')].map(node => node.id)")
    assert len(ids) == len(set(ids))
    opened.wait_for_load_state("networkidle")
    assert opened.evaluate("window.__broken") is None
    assert opened.evaluate("document.scripts.length") == scripts == 2
    assert page.requests == [hostile.as_uri()]
    assert page.odd == []
    for width in (400, 1280):
        page.page.set_viewport_size({"width": width, "height": 800})
        assert opened.evaluate("document.documentElement.scrollWidth") <= width


def test_policy_stops_a_script_that_got_in(hostile: Path, tmp_path: Path, page: Page) -> None:
    text = hostile.read_text(encoding="utf-8")
    inside = f"<main><script>{MARKER}</script><img src=x onerror='{MARKER}'>"
    (tmp_path / "changed.html").write_text(text.replace("<main>", inside), encoding="utf-8")
    assert page.open(tmp_path / "changed.html").evaluate("window.__broken") is None


@pytest.fixture(scope="module")
def fruit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of four items."""
    return make_report(tmp_path_factory.mktemp("fruit"), ["Apples", "pears", "plums", "kiwis"])


def test_headings_sort_by_mouse_and_keyboard(fruit: Path, page: Page) -> None:
    opened = page.open(fruit)
    opened.locator("#part-1-section-1 > summary").click()
    headings = opened.locator(f"{SLICES} thead th")
    average = headings.all_text_contents().index("general avg")
    headings.nth(average).locator("button").click()
    values = [float(value) for value in page.column(average + 1) if value]
    assert values == sorted(values, reverse=True)
    assert headings.nth(average).get_attribute("aria-sort") == "descending"
    headings.nth(average).locator("button").press("Enter")
    cells = page.column(average + 1)
    values = [float(cell) for cell in cells if cell]
    assert values == sorted(values)
    assert cells[-1] == "" or "" not in cells  # what has no number stays last
    headings.nth(0).locator("button").press("Space")
    names = page.column(1)
    assert opened.evaluate("n => [...n].sort((a, b) => a.localeCompare(b))", names) == names
    assert headings.nth(0).get_attribute("aria-sort") == "ascending"
    assert headings.nth(average).get_attribute("aria-sort") is None
    assert opened.get_by_text("published, not measured here", exact=True).count() == 1


def test_search_and_filters_find_items(fruit: Path, page: Page) -> None:
    opened = page.open(fruit)
    assert len(page.questions()) == 4
    page.search("APPLES")
    assert page.questions() == ["Question 0? Apples"]
    page.search("plain2")  # in one answer only
    assert page.questions() == ["Question 2? plums"]
    assert "plain2" in opened.locator("#detail").text_content()
    page.search("no such thing")
    assert page.questions() == []
    assert opened.locator("#count").text_content().startswith("0 of 4")
    page.search("")
    assert opened.locator("#detail h3").text_content() == "Question 0? Apples"
    opened.locator("#rater").select_option("0")
    opened.locator("#verdict").select_option("wrong")
    assert page.questions() == ["Question 1? pears", "Question 3? kiwis"]
    opened.locator("#verdict").select_option("right")
    assert page.questions() == ["Question 0? Apples", "Question 2? plums"]
    opened.locator("[data-facet=tier]").select_option("hard")
    assert page.questions() == ["Question 2? plums"]
    opened.locator("#verdict").select_option("all")
    opened.locator("[data-facet=tier]").select_option("")
    opened.locator("[data-facet=half]").select_option("general")
    assert page.questions() == ["Question 1? pears", "Question 3? kiwis"]


def test_detail_says_who_chose_what(fruit: Path, page: Page) -> None:
    opened = page.open(fruit)
    opened.locator("#list button").first.focus()
    opened.keyboard.press("ArrowDown")
    assert opened.locator("#detail h3").text_content() == "Question 1? pears"
    assert opened.locator(".is-gold").text_content().startswith("Answer A ★ gold (author)")
    rows = opened.locator("#detail tbody tr").all_text_contents()
    assert len(rows) == 3  # a rater each, with all contexts and orders
    assert rows[0].startswith(f"{RATERS[0]}A then B: B ✗ wrong -1B then A: B ✗ wrong -1")
    assert rows[1].startswith(f"{RATERS[1]} controlA then B: A ✓ right 1B then A: B ✗ wrong -1")
    assert rows[2].endswith("B then A: – failed")


def test_an_empty_run_still_gives_a_report(tmp_path: Path, page: Page) -> None:
    opened = page.open(make_report(tmp_path, ["Apples", "pears", "plums"], answered=False))
    assert "This run is not finished" in opened.locator("main").text_content()
    assert len(page.questions()) == 3
    assert "Nobody was asked" in opened.locator("#detail").text_content()
    assert page.odd == []


def test_items_beyond_the_limit_are_cut_and_the_page_says_so(
    tmp_path: Path, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("personafit.reports.totals.MAX_ITEMS", 2)
    opened = page.open(make_report(tmp_path, ["Apples", "pears", "plums", "kiwis"]))
    assert page.questions() == ["Question 1? pears", "Question 3? kiwis"]  # the ones got wrong
    assert "2 of the run’s 4 items" in opened.locator("#count").text_content()


def test_embedded_json_is_inert_and_whole() -> None:
    value = {"text": "</script><!-- & \u2028\u2029 \U0001f600"}
    text = str(embed(value))
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == {"text": "</script><!-- & \u2028\u2029 \U0001f600"}
