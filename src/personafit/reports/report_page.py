"""A report as one self-contained page: what came out first, one picture, one table, everything else folded, then the items.

The page opens from disk, loads nothing, and nothing in it can run but our own script. Texts of people, questions, answers, replies
and even raters' names come from outside and are data: templates escape them, scripts get them as inert JSON and write them only as
text, and a content security policy lets nothing run but the one script whose hash it names.
"""

import base64
import hashlib
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from personafit import __version__
from personafit.reports.pieces import (
    Browser,
    Cell,
    Grid,
    Picture,
    Piece,
    Prose,
    Row,
    headline_text,
    metric_name,
)
from personafit.reports.plots import PAPER, VARIABLES, svg
from personafit.reports.report import ReportPart
from personafit.reports.verdict import SubjectVerdict

BROWSER = (
    "search.js",
    "browser.js",
    "browser-filters.js",
    "browser-finding.js",
    "browser-list.js",
    "browser-item.js",
    "browser-judged.js",
    "browser-begin.js",
)
"""The item browser's script, a function of a document that knows only its own part of the page."""
NOTEBOOK = "".join(f"--{name}:{colour};" for colour, name in VARIABLES.items())
NOTEBOOK += f"--sans:sans-serif;background:{PAPER};max-width:62rem"
"""The page's colours, which figures are drawn with, where there is no page around them."""
LONGEST_TITLE = 80  # characters: two titles that are longer together leave the first alone
FEW_SUBJECTS = (
    3  # more than these have a table in the summary; the sentences above it have said the others' figures
)
NAMING = r'(\s(?:id|for|aria-labelledby|aria-describedby|aria-controls))="'  # attributes that name an element


def write_page(
    parts: Sequence[ReportPart], path: Path, title: str = "", findings: Sequence[tuple[str, str]] = ()
) -> None:
    """Write the page; an old one is replaced only once the new one is complete."""
    page = render_page(parts, title, findings)
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(page, encoding="utf-8", newline="\n")
    os.replace(partial, path)


def render_page(
    parts: Sequence[ReportPart], title: str = "", findings: Sequence[tuple[str, str]] = ()
) -> str:
    """The page as text; `findings` are questions and answers for its summary, the parts' own sentences by default."""
    titles = dict.fromkeys(part.title.rstrip(".:") for part in parts)
    return fill_page(
        "parts.html.j2",
        _script(parts),
        asset("pieces.css"),
        parts=parts,
        findings=findings,
        titles=[part.title for part in parts],
        summary=_summary(parts, folded=bool(findings)),
        title=title or _title(list(titles)),
        date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        svg=_drawn(parts),
        browsers=_browsers(parts),
    )


def _title(titles: Sequence[str]) -> str:
    """The title of the page: one part's, those of two, or how many parts there are."""
    if len(titles) > 2:
        return f"{len(titles)} results"
    both = " · ".join(titles)
    return both if len(both) <= LONGEST_TITLE else titles[0]


def _summary(parts: Sequence[ReportPart], folded: bool) -> list[Grid]:
    """The table of everything that was tested, where it says more than the sentences above it."""
    tested = [part.subjects for part in parts if part.subjects]
    if len(tested) < 2 or sum(map(len, tested)) <= FEW_SUBJECTS:
        return []
    return [replace(summary_grid(parts), folded=folded)]


def summary_grid(parts: Sequence[ReportPart], title: str = "All results") -> Grid:
    """Everything that was tested in one table."""
    rows = [
        Row(
            [one.subject, part.name],
            [
                _figure(one),
                Cell(metric_name(one.metric)),
                Cell(f"{one.n:,}", sort=one.n),
                Cell(f"{one.people:,}", sort=one.people),
            ],
        )
        for part in parts
        for one in part.subjects
    ]
    return Grid(
        title,
        "The headline figure of everything that was tested: shares in %, lift and other differences in points; 95 % interval below.",
        ["tested", "run"],
        ["value", "metric", "items", "people"],
        rows,
    )


def _figure(one: SubjectVerdict) -> Cell:
    if one.value is None:
        return Cell()
    value, *ends = (
        headline_text(one.metric, end) for end in (one.value, one.low, one.high) if end is not None
    )
    return Cell(value, " to ".join(ends), one.value)


def notebook_html(pieces: Sequence[Piece]) -> str:
    """Tables and pictures as a notebook shows them: plain HTML without scripts."""
    parts = []
    for place, piece in enumerate(pieces):
        if isinstance(piece, Picture):
            parts.append(f'<div style="{NOTEBOOK}">{svg(piece.figure, f"plot-{place}")}</div>')
            parts.append(f"<p>{escape(piece.caption.replace('`', ''))}</p>")
        elif isinstance(piece, Grid):
            head = "".join(f"<th>{escape(name)}</th>" for name in (*piece.heads, *piece.columns))
            rows = ["".join(f"<td>{text}</td>" for text in _cells(row)) for row in piece.rows]
            body = "".join(f"<tr>{row}</tr>" for row in rows)
            parts.append(
                f"<table><caption>{escape(piece.caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
            )
        elif isinstance(piece, Prose):
            parts.append(f"<p>{escape(piece.text)}</p>")
    return "\n".join(parts)


def _cells(row: Row) -> list[Markup]:
    first = f"{row.names[0]} ({row.tag})" if row.control else row.names[0]
    numbers = [f"{one.text} ({one.interval})" if one.interval else one.text for one in row.cells]
    return [escape(text) for text in (first, *row.names[1:], *numbers)]


def _drawn(parts: Sequence[ReportPart]) -> Callable[[Picture], Markup]:
    """How the template gets a figure; the ids inside figures stay apart."""
    pictures = [piece for part in parts for piece in part.pieces() if isinstance(piece, Picture)]
    drawn = {id(piece): Markup(svg(piece.figure, f"plot-{place}")) for place, piece in enumerate(pictures)}
    return lambda picture: drawn[id(picture)]


def browser_piece(name: str, data: Any, **values: Any) -> Browser:
    """A browser of a run's items; `values` are what its template says otherwise than for choices."""
    return Browser(name, fill("items.html.j2", **values), embed(data))


def _browsers(parts: Sequence[ReportPart]) -> dict[int, tuple[str, Markup]]:
    """By the id of its piece, a browser's prefix and markup: where there are several, their ids stay apart."""
    found = [piece for part in parts for piece in part.browser if isinstance(piece, Browser)]
    return {
        id(piece): _prefixed(piece, f"b{place}-" if len(found) > 1 else "")
        for place, piece in enumerate(found)
    }


def _prefixed(piece: Browser, prefix: str) -> tuple[str, Markup]:
    markup = str(piece.markup)
    if prefix:
        # Texts from outside are escaped, so that only our own tags look like tags.
        markup = re.sub(r"<[a-z][^>]*>", lambda tag: re.sub(NAMING, rf'\1="{prefix}', tag[0]), markup)
        called = f"of {escape(piece.name)}"  # or all landmarks of this kind would have one name
        markup = re.sub(r'(role="search" aria-label="[^"]*)', lambda found: f"{found[1]} {called}", markup)
    markup += f'<script type="application/json" id="{prefix}browser-data">{piece.data}</script>'
    return prefix, Markup(markup)


def _script(parts: Sequence[ReportPart]) -> str:
    """The script of the item browser, where the page has any items."""
    if not any(part.browser for part in parts):
        return ""
    return asset("browsers.js").replace("// BROWSER\n", asset(*BROWSER))


# -- filling templates -----------------------------------------------------------------------------------------------

PACKAGE = "personafit.reports"

# Inside a script element these could end it or, in old engines, a string; as escapes they are the same JSON.
INERT = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}

JOINTS = re.compile("[/:,=_+]")  # none of these stands in an escaped character

# Characters that turn the direction of all that follows, and halves of a pair, which no file takes (a folder's name may have them).
# In item texts directions stay: there each text has a box of its own.
NOT_SHOWN = re.compile("[\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def fill_page(template: str, script: str, style: str = "", **values: Any) -> str:
    """The whole page as text: a template with the common script and style before its own."""
    whole = asset("page.js") + script
    return fill(
        template,
        policy=_policy(whole),
        style=Markup(asset("report.css") + style),
        script=Markup(whole),
        version=__version__,
        **values,
    )


def fill(template: str, **values: Any) -> Markup:
    """A template by itself, to be put into a page."""
    return Markup(_templates().get_template(template).render(**values))


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader(PACKAGE),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["breaking"] = breaking
    environment.filters["id_of"] = id
    return environment


def breaking(name: str) -> Markup:
    """A name that may break after what joins its parts, and first there, where there is little room for it."""
    return Markup(JOINTS.sub(r"\g<0><wbr>", str(escape(_visible(str(name))))))


def asset(*names: str) -> str:
    """Scripts or styles that lie beside the templates, one after the other."""
    return "".join((files(PACKAGE) / "templates" / name).read_text(encoding="utf-8") for name in names)


def embed(value: Any) -> Markup:
    """Any JSON-like value as JSON that nothing in it can break out of."""
    text = orjson.dumps(value).decode()
    for character, escaped in INERT.items():
        text = text.replace(character, escaped)
    return Markup(text)


def _visible(value: Any) -> Any:
    """Names stand in sentences and commands, which must not be turned around by them."""
    return NOT_SHOWN.sub("\ufffd", value) if type(value) is str else value


def _policy(script: str) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # Styles may be inline, since figures carry style attributes; nothing can be loaded by them (default-src).
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
