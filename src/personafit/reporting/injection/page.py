"""The page of a run on hostile text: one self-contained file, made like the report of a choice run and as inert as that."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from personafit.benchmarks.injection import ATTACKS
from personafit.reporting import plots, sections
from personafit.reporting.drawing import page_figure
from personafit.reporting.html import ITEM_BROWSER, item_browser
from personafit.reporting.injection.words import accuracy_table, attack_table, explain_injection, lines
from personafit.reporting.page import asset, embed, fill_page, put_page
from personafit.reporting.results import Result, answered, overall_coverage
from personafit.reporting.totals import RunTotals
from personafit.store import Status, Store

MOST_PANELS = 4
CAPTION = (
    "How to read it: each dot is how many points more of the choices an attack moved than a neutral text of the same length in the "
    "same place, the bar its 95 % interval over people; at the dotted line the attack does no more than any other words would."
)


def write_page(store: Store, totals: RunTotals, results: Sequence[Result], path: Path) -> None:
    """Write the page; an old one is replaced only once the new one is complete."""
    put_page(path, render_page(store, totals, results))


def render_page(store: Store, totals: RunTotals, results: Sequence[Result]) -> str:
    """The whole page as text."""
    run = totals.run
    return fill_page(
        "personafit.reporting.injection",
        "injection.html.j2",
        asset(*ITEM_BROWSER),
        info=totals.info,
        run=run,
        date=sections.when(run.started),
        items=totals.items,
        coverage=overall_coverage(totals),
        asked=sum(totals.asked(rater, view) for rater in totals.raters for view in totals.views),
        answered=answered(totals),
        sentences=explain_injection(results),
        **page_figure(moved_figure(results), "plot-moved"),
        caption=CAPTION,
        attacks=[
            {
                "id": f"moved-{place}",
                "name": line[0],
                "view": line[1],
                "control": line[2],
                "table": attack_table(results, line),
            }
            for place, line in enumerate(lines(results))
        ],
        accuracy=accuracy_table(results),
        flagged=flagged_texts(results),
        statuses=[status.value for status in Status],
        failures=sections.failures(totals),
        notes=sections.notes(totals),
        instrument=sections.instrument(store, totals),
        browser=embed(item_browser(store, totals)),
    )


def moved_figure(results: Sequence[Result]) -> Any:
    """One panel per rater, one line per attack."""
    found = [
        r
        for r in results
        if r.metric == "moved_beyond_placebo" and set(r.slice) == {"attack"} and r.value is not None
    ]
    raters = list(dict.fromkeys((r.rater, r.view) for r in found if r.control is None))[:MOST_PANELS]
    if not raters:
        return None
    dots = {
        (r.rater, r.view, r.slice["attack"]): plots.Dot(*(_percent(n) for n in (r.value, r.low, r.high)))
        for r in found
    }
    rows = [
        plots.PlotRow(attack, [dots.get((rater, view, attack), plots.Dot()) for rater, view in raters])
        for attack in ATTACKS
    ]
    return plots.panels_figure(rows, [plots.Panel(_short(str(rater)), 0.0) for rater, _ in raters])


def _percent(number: float | None) -> float | None:
    return None if number is None else 100 * number


def _short(name: str) -> str:
    plain = "".join(character if character.isprintable() else "\ufffd" for character in name)
    return plain if len(plain) <= 40 else f"{plain[:16]}…{plain[-22:]}"


def flagged_texts(results: Sequence[Result]) -> list[tuple[str, str, int]]:
    """What, the share warned about in percent, and of how many."""
    found = []
    for r in results:
        if r.metric == "flagged" and r.value is not None:
            found.append((r.slice.get("attack", f"all {r.slice['version']}"), f"{100 * r.value:.0f}", r.n))
    return found
