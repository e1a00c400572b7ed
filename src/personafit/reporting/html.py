"""The report: one self-contained HTML file that opens from disk, with no network and no framework.

Texts of people, questions, answers, replies and even raters' names come from outside and are data: the template escapes
them, the item browser gets them as inert JSON and writes them only as text, and a content security policy lets nothing
run but the one script whose hash it names.
"""

import base64
import hashlib
import os
import re
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from personafit import __version__
from personafit.reporting import sections
from personafit.reporting.browse import browser_data
from personafit.reporting.figures import figures
from personafit.reporting.results import Result, answered, overall_coverage
from personafit.reporting.tables import explain
from personafit.reporting.totals import RunTotals
from personafit.store import Status, Store

# Inside a script element these could end it or, in old engines, a string; as escapes they are the same JSON.
INERT = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}

# Characters that turn the direction of all that follows; in item texts they stay, there each text has a box of its own.
DIRECTIONS = re.compile("[\u202a-\u202e\u2066-\u2069]")


def write_report(store: Store, totals: RunTotals, results: list[Result], path: Path) -> None:
    """Write the report of a run; an old one is replaced only once the new one is complete."""
    page = render_report(store, totals, results)
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(page, encoding="utf-8", newline="\n")
    os.replace(partial, path)


def render_report(store: Store, totals: RunTotals, results: Sequence[Result]) -> str:
    """The whole page as text."""
    script = _asset("report.js")
    environment = Environment(
        loader=PackageLoader("personafit.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    view = totals.headline_view
    return environment.get_template("report.html.j2").render(
        policy=_policy(script),
        style=Markup(_asset("report.css")),
        script=Markup(script),
        version=__version__,
        info=totals.info,
        run=totals.run,
        date=sections.when(totals.run.started),
        view=view,
        metric=totals.info["metric"].replace("_", " "),
        words=_words(totals.info),
        coverage=overall_coverage(totals),
        asked=sum(totals.asked(rater) for rater in totals.raters) * len(totals.views),
        answered=answered(totals),
        items=totals.items,
        people=totals.people,
        headline=sections.headline(totals, results),
        sentences=explain(results),
        best_control=sections.best_control(totals, results),
        table=sections.score_table(totals, results),
        figures=[f | {"svg": Markup(f["svg"])} for f in figures(totals, results, view)],
        worth=sections.worth_table(totals, results),
        statuses=[status.value for status in Status],
        failures=sections.failures(totals),
        notes=sections.notes(totals),
        instrument=sections.instrument(store, totals),
        browser=embed(browser_data(store, totals) | {"words": _words(totals.info)}),
    )


def embed(value: Any) -> Markup:
    """Any JSON-like value as JSON that nothing in it can break out of."""
    text = orjson.dumps(value).decode()
    for character, escape in INERT.items():
        text = text.replace(character, escape)
    return Markup(text)


def _visible(value: Any) -> Any:
    """Names stand in sentences and commands, which must not be turned around by them."""
    return DIRECTIONS.sub("\ufffd", value) if type(value) is str else value


def _policy(script: str) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # Styles may be inline, since figures carry style attributes; nothing can be loaded by them (default-src).
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _asset(name: str) -> str:
    return (files("personafit.reporting") / "templates" / name).read_text(encoding="utf-8")


def _words(info: dict[str, Any]) -> dict[str, str]:
    """What a hit is called: choosing the gold answer, or a win of the tested one."""
    if info["metric"] == "win_rate":
        restraint = (
            "the share of questions asking for no personal answer where knowing the person did no harm"
        )
        return {"gold": "tested answer", "right": "won", "wrong": "lost", "restraint": restraint}
    restraint = "the share right where the less personal answer is the right one"
    return {"gold": f"gold ({info['gold']})", "right": "right", "wrong": "wrong", "restraint": restraint}
