"""The report of a dialogue run: tables, sentences, signatures with evidence, and a page on which texts stay texts."""

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from personafit.items.dialogue import DIALOGUES, StopReason
from personafit.raters import make_rater
from personafit.reports import dialogue
from personafit.reports.analysis import print_part
from personafit.reports.dialogue import DialogueReport, dialogue_items, published_results
from personafit.reports.pieces import Errors, Grid, Picture, metric_cell
from personafit.reports.report import ReportPart
from personafit.reports.report_page import write_page
from personafit.reports.result import Result
from personafit.reports.run_report import open_report
from tests.dialogue_world import MD, SD, World, good_reply, make_world
from tests.reports.test_report_page import Page, browser, page  # noqa: F401
from tests.reports.unpacking import unpacked

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


def many(folder: Path, system_context: str = "none") -> World:
    people = {f"p{n}": {"Dining.Cuisine": ["Thai"], "Train.Seat": "window"} for n in range(PEOPLE)}
    world = make_world(folder, (system_context,), facets=people)
    for person in people:
        world.hold(person, SD, WAITS, system_context=system_context)
        world.hold(
            person,
            MD,
            ["Dinner and a train.", "A Thai place.", "And the train?", "An aisle seat on the train."],
            system_context=system_context,
            stop=StopReason.CAP,
        )
    return world


def tables(part: ReportPart) -> dict[str, Grid]:
    """Every table of a part by its title."""
    return {piece.title: piece for piece in part.pieces() if isinstance(piece, Grid)}


def row_of(grid: Grid, *names: str) -> dict[str, str]:
    """The texts of the row with these names, by heading."""
    (row,) = [row for row in grid.rows if tuple(row.names) == names]
    return {heading: cell.text for heading, cell in zip(grid.columns, row.cells, strict=True)}


def test_figures_in_tables_equal_results_and_controls_come_last(tmp_path: Path) -> None:
    systems, system_contexts = ("helper", "canned"), ("none", "I", "wrong:I")
    world = make_world(tmp_path, system_contexts, systems=systems)
    for system in systems:
        for system_context in system_contexts:
            for person in ("ann", "bob", "cyd"):
                for task in (SD, MD):
                    said = (
                        WAITS if system_context == "none" else ["Dinner?", "A Thai place?", "Yes.", "Done."]
                    )
                    said = [*said[:3], f"{said[3]} ({system})"]  # judges are asked once about equal texts
                    world.hold(person, task, said, system_context=system_context, system=system)
    marks = {"none": 2, "I": 4, "wrong:I": 1}

    def reply(dialogue: Any, question: str, call: int) -> str:
        return good_reply(marks[dialogue.system_context], dialogue.system_context != "none")(
            dialogue, question, call
        )

    world.judge(reply)
    report = DialogueReport(world.store, world.run)
    part = report.part()
    found = tables(part)

    def result(metric: str, system_context: str, where: dict[str, str] | None = None) -> Result:
        (one,) = [
            row
            for row in report.results
            if (row.metric, row.system, row.system_context, row.slice)
            == (metric, "helper", system_context, where or {})
        ]
        return one

    summary = found["Assistants"]
    assert summary.heads == ["system", "system context"], "one judge is named in the caption"
    assert summary.caption.startswith("Rater: judge.")
    assert [tuple(row.names[:2]) for row in summary.rows] == [
        ("helper", "I"),
        ("helper", "none"),
        ("helper", "wrong:I"),
        ("canned", "none"),
    ]
    assert [row.control for row in summary.rows] == [
        None,
        "no context",
        "wrong person",
        "canned assistant",
    ]
    assert row_of(summary, "helper", "I") == {
        "personalization, 1–4": "4.00",
        "completion, %": "100.0",
        "brought in first, %": f"{100 * (result('coverage_before', 'I').value or 0):.1f}",
        "coverage, %": "100.0",
    }
    effect = row_of(found["Differences between contexts"], "I", "none")
    assert (effect["personalization"], effect["completion"]) == ("+2.00", "+100.0")
    against = result("coverage_before_effect", "I", {"against": "wrong:I"})
    shown = row_of(found["Differences between contexts"], "I", "wrong:I")
    assert shown["coverage before"] == metric_cell(against).text
    counted = row_of(found["Counted without a judge"], "helper", "none")
    for metric in ("coverage", "reasking", "exchanges", "majority_coverage"):
        assert counted[metric.replace("_", " ")] == metric_cell(result(metric, "none")).text
    by_kind = row_of(found["Completion and personalization by kind of task"], "helper", "wrong:I")
    assert by_kind["SD personalization, 1–4"] == "1.00"
    turns = row_of(found["Personalization by the assistant's turn"], "helper", "I")
    assert turns == {"turn 1": "4.00", "turn 2": "4.00"}
    assert row_of(found["How dialogues ended"], "helper", "I") == {"satisfied": "100.0"}
    assert int(row_of(found["How asks ended"], "judge")["ok"]) % 36 == 0
    (picture,) = [piece for piece in part.lead if isinstance(piece, Picture)]
    assert "Personalization, 1–4: helper · I 4.00" in str(picture.figure.get_label())


def test_raters_that_score_rank_the_assistants(tmp_path: Path) -> None:
    world = make_world(tmp_path, systems=("helper", "other"), tasks=(SD,))
    for system in ("helper", "other"):
        for person in ("ann", "bob"):
            said = f"{system} says {'so much ' * (3 if system == 'helper' else 1)}"
            world.hold(person, SD, ["Dinner?", said], system=system)
    world.rate(make_rater("rule:length", DIALOGUES))
    report = DialogueReport(world.store, world.run)
    found = tables(report.part())
    ranks = {row.names[0]: row.cells[0].text for row in found["Assistants"].rows}
    assert ranks == {"helper": "100.0", "other": "0.0"}
    faults = [one for one in report.results if one.metric == "user_leaked"]
    assert [(one.system, one.rater) for one in faults] == [("helper", None), ("other", None)]
    assert len(found["Faults of the simulated user"].rows) == 2


def test_unreadable_replies_are_listed_and_a_run_may_have_no_judge(tmp_path: Path) -> None:
    world = make_world(tmp_path, tasks=(SD,))
    world.hold("ann", SD, WAITS)
    counted = tables(DialogueReport(world.store, world.run).part())["Assistants"]
    assert row_of(counted, "helper")["coverage, %"] == "33.3"
    world.judge(lambda dialogue, question, call: "no idea")
    pieces = DialogueReport(world.store, world.run).part().pieces()
    errors = {piece.title: piece.errors for piece in pieces if isinstance(piece, Errors)}
    assert {status for status, *_ in errors["judge"]} == {"unparsed"}


def test_the_small_table_is_printed_at_any_width_and_names_are_no_markup(tmp_path: Path) -> None:
    world = make_world(tmp_path, ("none", "I"), systems=("[red]helper",), tasks=(SD,))
    for system_context in ("none", "I"):
        for person in ("ann", "bob", "cyd"):
            world.hold(person, SD, WAITS, system_context=system_context, system="[red]helper")
    world.judge(good_reply(2), name="[bold]judge")
    part = open_report(world.store, world.run).part()
    for width in (60, 100, 220):
        screen = io.StringIO()
        print_part(part, Console(file=screen, width=width, force_terminal=True, color_system=None))
        printed = screen.getvalue()
        assert max(map(len, printed.splitlines())) <= width
        assert "[red]helper" in printed
        assert "[bold]judge" in printed
        assert "not knowing the rest is no fault" in " ".join(printed.split())


def test_published_rows_stand_beside_this_data_only() -> None:
    rows = published_results("personalens")
    assert len({(row.system, row.system_context) for row in rows}) == 11
    assert all("2506.09902" in str(row.note) for row in rows)
    sonnet = {
        (row.system_context, row.metric, row.slice["tasks"]): row.value
        for row in rows
        if row.system == "Claude 3 Sonnet"
    }
    assert sonnet["none", "personalization", "SD"] == 2.13
    assert sonnet["D+I+S", "completion", "MD"] == pytest.approx(0.8266)
    assert published_results("little") == []


def test_a_run_with_no_dialogue_yet_has_a_report(tmp_path: Path) -> None:
    world = make_world(tmp_path)
    world.judge(good_reply())
    report = DialogueReport(world.store, world.run)
    write_page([report.part()], tmp_path / "report.html")
    print_part(report.part(), Console(file=io.StringIO()))
    assert "0 of 6 dialogues finished" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_the_page_holds_no_more_than_it_can_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = many(tmp_path)
    world.judge(good_reply(2))
    monkeypatch.setattr(dialogue, "MAX_DIALOGUES", 4)
    report = DialogueReport(world.store, world.run)
    data = dialogue_items(world.store, report.run)
    assert (data["items"], data["total"]) == (4, 12)
    assert all(
        any(mark[2] in dialogue.WRONG for turn in one["turns"] for mark in turn[3])
        for block in data["blocks"]["turns"]
        for one in unpacked(block)
    )


def opened(page: Page, path: Path) -> Any:  # noqa: F811
    """The page of a run with its list of dialogues."""
    page.page.goto(path.as_uri())
    page.page.locator(".browser").scroll_into_view_if_needed()
    page.page.locator("#list button").first.wait_for()
    return page.page


def test_hostile_texts_stay_texts(tmp_path: Path, page: Page) -> None:  # noqa: F811
    name = f"openai:<img src=x onerror={MARKER}>"
    world = make_world(tmp_path, ("none", "I"), systems=(name,))
    for place, text in enumerate(HOSTILE):
        person, task = ("ann", "bob", "cyd")[place % 3], (SD, MD)[place % 2]
        system_context = "none" if place < 6 else "I"
        world.hold(
            person,
            task,
            [text, f"A Thai place? {text}", text, text],
            system_context=system_context,
            told=text,
            system=name,
        )
    judge = f"judge</title>\u202e</style><!--<script>{MARKER}</script>"
    world.judge(lambda dialogue, question, call: HOSTILE[call % len(HOSTILE)], name=judge)
    path = tmp_path / "report.html"
    write_page([DialogueReport(world.store, world.run).part()], path)
    shown = opened(page, path)
    for button in shown.locator("#list button").all():
        button.click()
    assert shown.evaluate("window.__broken") is None
    assert page.odd == []
    assert shown.locator("#detail img, #detail svg, #detail script").count() == 0
    assert shown.locator("img, iframe").count() == 0


def test_the_viewer_shows_who_knew_what_the_marks_and_the_end(tmp_path: Path, page: Page) -> None:  # noqa: F811
    world = make_world(tmp_path, ("none", "I"), tasks=(SD,))
    world.hold(
        "ann",
        SD,
        ["😀 Dinner?", "😀😀 A Thai place on a budget?", "Fine.", "Done."],
        system_context="I",
        told="Loves Thai food.",
    )
    world.hold(
        "bob",
        SD,
        ["Dinner?", "As you told me last week, you adore snails."],
        system_context="none",
        stop=StopReason.GAVE_UP,
    )
    world.judge(good_reply(3))
    path = tmp_path / "report.html"
    write_page([DialogueReport(world.store, world.run).part()], path)
    shown = opened(page, path)
    assert shown.locator("#list button").count() == 2
    context = shown.locator("[data-facet='system context']")
    context.select_option(label="I")
    shown.locator("#detail details.person summary").evaluate_all(
        "all => all.forEach((one) => one.parentNode.open = true)"
    )
    detail = shown.locator("#detail")
    assert "Loves Thai food." in detail.inner_text()
    assert "You are ann." in detail.inner_text()
    # Marks are placed by code points: characters beyond the first plane must not shift them.
    assert shown.locator("#detail mark").all_text_contents() == ["Thai", "budget"]
    assert "brought in first · Cuisine" in detail.inner_text()
    assert "Ended: satisfied" in detail.inner_text()
    assert "3 of 4" in detail.inner_text()
    context.select_option("")
    shown.locator("[data-filter=status]").select_option(label="memory in no history")
    assert shown.locator("#list button").count() == 1
    assert "As you told me last week" in shown.locator("#detail mark").first.inner_text()
    assert "Ended: gave-up" in detail.inner_text()
    shown.locator("[data-filter=status]").select_option("")
    for words, count in (
        ("snails", 1),
        ('"each", "scores"', 2),
        ("each snails", 1),
    ):  # the second in a judge's reply only
        shown.fill("#search", words)
        shown.locator("#count", has_text=f"{count} of 2 items.").wait_for()
    assert page.odd == []


def test_the_report_names_the_style_of_the_simulated_user(tmp_path: Path) -> None:
    world = many(tmp_path)
    instrument = DialogueReport(world.store, world.run).part().instrument
    assert instrument is not None
    assert instrument.facts["style of the simulated user"] == "plain"
