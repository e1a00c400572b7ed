"""The page of a run of every kind: short, whole and inert, its tables holding the results."""

import re
from pathlib import Path

import pytest

from personafit.api.report import collect_parts
from personafit.reports.kind_report import HEADS, KindReport, line_id
from personafit.reports.pieces import Grid, Picture
from personafit.reports.report_page import write_page
from personafit.reports.run_report import open_report, verdict_of, with_verdict
from tests.reports.kinds_world import KINDS, Kinds
from tests.reports.test_report_page import Page, browser, page  # noqa: F401

TALLEST, TALLEST_OF_TWO = 2_500, 2_400  # pixels before the item browser
Reports = dict[str, tuple[KindReport, Path]]


@pytest.fixture(scope="module")
def reports(kinds: Kinds, tmp_path_factory: pytest.TempPathFactory) -> Reports:
    """Made before the browser opens, whose driver keeps a loop running."""
    folder = tmp_path_factory.mktemp("pages")
    made: Reports = {}
    for kind in KINDS:
        run = kinds.runs[kind][0]
        report = open_report(kinds.store, run)
        path = folder / f"{kind}.html"
        write_page([with_verdict(report.part(), verdict_of(report, kinds.store, run))], path)
        runs = [one.name for one in kinds.runs[kind]]
        write_page(collect_parts(runs, kinds.store), folder / f"two-{kind}.html")
        made[kind] = report, path
    return made


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_is_short_whole_and_inert(reports: Reports, page: Page, kind: str) -> None:  # noqa: F811
    report, path = reports[kind]
    page.page.goto(path.as_uri())
    browsed = page.page.locator("[data-browser]")
    assert browsed.evaluate("node => node.getBoundingClientRect().top + scrollY") <= TALLEST
    browsed.scroll_into_view_if_needed()
    page.page.locator("#list button").first.click()
    assert page.page.locator("#detail").text_content()
    sections = page.page.locator("details.section > summary").all_text_contents()
    assert len(sections) >= len(report.part().sections)
    page.page.wait_for_load_state("networkidle")
    assert page.requests == [path.as_uri()]
    assert page.odd == []


@pytest.mark.parametrize("kind", KINDS)
def test_findings_do_not_repeat_the_verdict(reports: Reports, kinds: Kinds, kind: str) -> None:
    report, _ = reports[kind]
    verdict = verdict_of(report, kinds.store, kinds.runs[kind][0])
    for subject in verdict.subjects:
        own = [one for one in report.sentences() if one.startswith(subject.subject.partition(" on ")[0])]
        said, again = (set(re.findall(r"\d+\.\d+", text)) for text in (subject.sentence, " ".join(own)))
        assert not said & again


@pytest.mark.parametrize("kind", KINDS)
def test_the_items_of_the_first_of_two_runs_are_near(reports: Reports, page: Page, kind: str) -> None:  # noqa: F811
    _, path = reports[kind]
    page.page.goto(path.with_name(f"two-{kind}.html").as_uri())
    items = page.page.locator("details.items").first
    assert items.evaluate("node => node.getBoundingClientRect().top + scrollY") <= TALLEST_OF_TWO


@pytest.mark.parametrize("kind", KINDS)
def test_a_part_has_one_picture_one_small_table_and_sections_with_something_in_them(
    reports: Reports, kind: str
) -> None:
    report, _ = reports[kind]
    part = report.part()
    lead = [piece for piece in part.lead if isinstance(piece, Grid | Picture)]
    assert [type(piece) for piece in lead] == [Picture, Grid]
    small = lead[1]
    assert isinstance(small, Grid)
    assert len(small.columns) <= 6
    controls = [row.control is not None for row in small.rows]
    assert controls == sorted(controls), "those asked for come first"
    assert part.sections[-1].title == "Asks"
    assert all(section.pieces for section in part.sections)
    for grid in (piece for piece in part.pieces() if isinstance(piece, Grid)):
        assert all(len(row.cells) == len(grid.columns) for row in grid.rows), grid.title
        assert all(len(row.names) == len(grid.heads) for row in grid.rows), grid.title


@pytest.mark.parametrize("kind", KINDS)
def test_the_small_table_holds_the_results(reports: Reports, kind: str) -> None:
    report, _ = reports[kind]
    small = report.table()
    values = {
        (*(line_id(one)[HEADS.index(head)] or "" for head in small.heads), one.value)
        for one in report.results
        if one.control != "published"
    }
    shares = {one.coverage for one in report.results}
    for row in small.rows:
        for heading, cell in zip(small.columns, row.cells, strict=True):
            if cell.text:
                assert cell.sort in shares if heading == "coverage, %" else (*row.names, cell.sort) in values
