"""The report of a choice run: scores, controls, figures, and a browser of its items."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from personafit.reporting import sections
from personafit.reporting.browse import browser_data
from personafit.reporting.claims import lift_claims
from personafit.reporting.definitions import DEFINITIONS, name
from personafit.reporting.figures import figures
from personafit.reporting.page import PACKAGE, asset, embed, fill_page, put_page
from personafit.reporting.results import Result, answered, overall_coverage
from personafit.reporting.totals import RunTotals
from personafit.reporting.whole.analyses import run_analyses
from personafit.statistics.decisions import MARGIN
from personafit.store import Status, Store

ITEM_BROWSER = (
    PACKAGE,
    "search.js",
    "browser.js",
    "browser-filters.js",
    "browser-finding.js",
    "browser-list.js",
    "browser-item.js",
    "browser-judged.js",
    "browser-begin.js",
)
"""The scripts of the item browser; its markup is `items.html.j2`."""


def write_report(
    store: Store, totals: RunTotals, results: list[Result], path: Path, margin: float = MARGIN
) -> None:
    """Write the report of a run; an old one is replaced only once the new one is complete."""
    put_page(path, render_report(store, totals, results, margin))


def render_report(store: Store, totals: RunTotals, results: Sequence[Result], margin: float = MARGIN) -> str:
    """The whole page as text."""
    view = totals.headline_view
    return fill_page(
        PACKAGE,
        "report.html.j2",
        asset(*ITEM_BROWSER),
        asset("personafit.reporting.whole", "pieces.css"),
        analyses=run_analyses(store, totals),
        info=totals.info,
        run=totals.run,
        date=sections.when(totals.run.started),
        view=view,
        metric=totals.info["metric"].replace("_", " "),
        words=hit_words(totals.info),
        coverage=overall_coverage(totals),
        asked=sum(totals.asked(rater, view) for rater in totals.raters for view in totals.views),
        answered=answered(totals),
        items=totals.items,
        people=totals.people,
        headline=sections.headline(totals, results),
        sentences=lift_claims(results, margin),
        clustering=sections.clustering(results),
        definitions={name(metric): text for metric, text in DEFINITIONS.items()},
        best_control=sections.best_control(totals, results),
        table=sections.score_table(totals, results),
        figures=[f | {"svg": Markup(f["svg"])} for f in figures(totals, results, view)],
        worth=sections.worth_table(totals, results),
        statuses=[status.value for status in Status],
        failures=sections.failures(totals),
        notes=sections.notes(totals),
        instrument=sections.instrument(store, totals),
        browser=embed(item_browser(store, totals)),
    )


def item_browser(store: Store, totals: RunTotals) -> dict[str, Any]:
    """What the item browser shows of a run of choices, under whatever kind of report."""
    return browser_data(store, totals) | {"words": hit_words(totals.info)}


def hit_words(info: dict[str, Any]) -> dict[str, str]:
    """What a hit is called: choosing the gold answer, or a win of the tested one."""
    if info["metric"] == "win_rate":
        restraint = (
            "the share of questions asking for no personal answer where knowing the person did no harm"
        )
        return {"gold": "tested answer", "right": "won", "wrong": "lost", "restraint": restraint}
    restraint = "the share right where the less personal answer is the right one"
    return {"gold": f"gold ({info['gold']})", "right": "right", "wrong": "wrong", "restraint": restraint}
