"""The collected report as one page: chapters in their order, a table of contents that stays in view, one script for all browsers."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from personafit.reporting.html import ITEM_BROWSER
from personafit.reporting.page import asset, fill_page, put_page
from personafit.reporting.whole import audits, choices, ending, headline, judging, kinds, making, people
from personafit.reporting.whole.collected import Collected
from personafit.reporting.whole.content import Browser, Chapter, all_pieces, picture_svg
from personafit.reporting.whole.others import others
from personafit.reporting.writing.chapter import writing

PACKAGE = "personafit.reporting.whole"
CHAPTERS: tuple[Callable[[Collected], Chapter], ...] = (
    headline.headline,
    choices.comparison,
    choices.views,
    choices.tiers,
    choices.controls,
    audits.audits,
    people.people,
    judging.agreement,
    judging.bias,
    judging.aspects,
    judging.shortfalls,
    kinds.dialogues,
    kinds.relevance,
    kinds.preference,
    kinds.hostile,
    writing,
    others,
    making.stages,
    making.training,
    ending.failures,
    ending.items,
    ending.instrument,
)
# Each browser's script as it stands in its own page; here each is a function of a document that knows only its own part.
BROWSERS = {
    "choice": ITEM_BROWSER,
    "dialogue": ("personafit.reporting.dialogues", "dialogues.js"),
    "relevance": ("personafit.reporting.relevance", "relevance.js"),
    "preference": ("personafit.reporting.preference", "preference.js"),
}


def make_chapters(given: Collected) -> list[Chapter]:
    """All chapters, those without anything to show included."""
    return [chapter(given) for chapter in CHAPTERS]


def write_whole(given: Collected, chapters: Sequence[Chapter], path: Path) -> None:
    """Write the page; an old one is replaced only once the new one is complete."""
    put_page(path, render_whole(given, chapters))


def render_whole(given: Collected, chapters: Sequence[Chapter]) -> str:
    """The whole page as text."""
    browsers = [one.script for one in all_pieces(chapters) if isinstance(one, Browser)]
    return fill_page(
        PACKAGE,
        "whole.html.j2",
        _script(list(dict.fromkeys(browsers))),
        "".join(
            asset(package, name)
            for package, name in (
                ("personafit.reporting.dialogues", "dialogues.css"),
                ("personafit.reporting.relevance", "relevance.css"),
                ("personafit.reporting.preference", "preference.css"),
                (PACKAGE, "pieces.css"),
                (PACKAGE, "whole.css"),
            )
        ),
        chapters=[one for one in chapters if not one.missing],
        missing=[one for one in chapters if one.missing],
        title=_title(given),
        parts=given.names,
        date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        svg=picture_svg(chapters, "plot"),
    )


def _title(given: Collected) -> str:
    infos = [one.totals.info for one in given.choices.values()]
    infos += [one.scores.info for one in given.writings.values()]
    infos += [one.lines.info for one in given.others.values()]
    titles = dict.fromkeys(str(info["title"] or info["name"]) for info in infos)
    return " · ".join(title.rstrip(".:") for title in titles) or "Collected report"


def _script(names: Sequence[str]) -> str:
    parts = [f"BROWSERS.{name} = (document) => {{\n{asset(*BROWSERS[name])}\n}};\n" for name in names]
    return asset(PACKAGE, "whole.js").replace("// BROWSERS\n", "".join(parts))
