"""What a single run's own page says beyond its scores: agreement, bias, aspects, shortfalls, where the run has what they need."""

from dataclasses import dataclass

from markupsafe import Markup

from personafit import __version__
from personafit.reporting.page import fill_block
from personafit.reporting.totals import RunTotals
from personafit.reporting.whole import judging
from personafit.reporting.whole.collected import ChoiceRun, Collected
from personafit.reporting.whole.content import Chapter, PieceGroup, Prose, picture_svg
from personafit.store import Store

PACKAGE = "personafit.reporting.whole"
MOST_ITEMS = (
    1_000  # beyond that the rules that look for shortfalls alone take longer than all the rest of the page
)


@dataclass(frozen=True)
class Analyses:
    """Sections to put into a page, and the id and title of each for its contents."""

    links: list[tuple[str, str]]
    markup: Markup


def run_analyses(store: Store, totals: RunTotals) -> Analyses:
    """The further analyses of a run; of a large one, a line that says how to get them."""
    if totals.items > MOST_ITEMS:
        chapters = [_large(totals)]
    else:
        one = ChoiceRun(store, totals.run)
        one.totals = totals  # it is there already
        given = Collected(store, choices={totals.run.name: one})
        made = (judging.agreement, judging.bias, judging.aspects, judging.shortfalls)
        chapters = [chapter for make in made if not (chapter := make(given)).missing and chapter.groups]
    return Analyses([(one.name, one.title) for one in chapters], chapters_markup(chapters))


def chapters_markup(chapters: list[Chapter]) -> Markup:
    """Chapters as sections of any page that has the style of pieces."""
    return fill_block(
        PACKAGE,
        "whole.html.j2",
        "chapters",
        chapters=chapters,
        version=__version__,
        svg=picture_svg(chapters, "plot-more"),
    )


def _large(totals: RunTotals) -> Chapter:
    name = totals.run.name
    how = (
        f"Of a run of {totals.items:,} items they are worked out when asked for: `personafit agree {name}`, `personafit bias {name}`, "
        f"`personafit aspects {name}` and `personafit failures {name}` print them, `personafit report {name} --whole FILE.html` puts "
        "them all on a page."
    )
    lead = "Agreement, bias, aspects, and how chosen answers fall short."
    return Chapter("analyses", "Further analyses", lead, [PieceGroup("", [Prose(how, "small")])])
