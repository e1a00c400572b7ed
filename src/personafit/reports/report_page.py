"""A report as one self-contained page: findings, one picture and one table first, everything else folded, then the item browser.

The page opens from disk, loads nothing, and only its own script can run. Texts of people, questions, answers, replies and even raters'
names are untrusted data: templates escape them, scripts get them as inert JSON and write them only as text, and a content security
policy allows only the script whose hash it names.
"""

import base64
import hashlib
import os
import re
from collections.abc import Callable, Sequence
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
"""The scripts of the item browser, wrapped as a function of its own part of the page."""
NOTEBOOK = "".join(f"--{name}:{colour};" for colour, name in VARIABLES.items())
NOTEBOOK += f"--sans:sans-serif;background:{PAPER};max-width:62rem"
"""The page's colour variables, which figures use, for notebooks without the page's style."""
LONGEST_TITLE = 80  # characters: of two titles longer than this together, only the first is shown
FEW_SUBJECTS = 3  # of more there is a summary table; the figures of fewer are in the sentences above it
NAMING = r'(\s(?:id|for|aria-labelledby|aria-describedby|aria-controls))="'  # attributes that refer to an element's id


def write_page(
    parts: Sequence[ReportPart], path: Path, title: str = "", findings: Sequence[tuple[str, str]] = ()
) -> None:
    """Write the page; an existing file is replaced only once the new one is complete."""
    page = render_page(parts, title, findings)
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(page, encoding="utf-8", newline="\n")
    os.replace(partial, path)


def render_page(
    parts: Sequence[ReportPart], title: str = "", findings: Sequence[tuple[str, str]] = ()
) -> str:
    """Return the page; `findings` are the questions and answers of its summary, by default the parts' own sentences."""
    titles = dict.fromkeys(part.title.rstrip(".:") for part in parts)
    script = asset("page.js") + _script(parts)
    return fill(
        "parts.html.j2",
        policy=_policy(script),
        style=Markup(asset("report.css", "pieces.css")),
        script=Markup(script),
        version=__version__,
        parts=parts,
        findings=findings,
        titles=[part.title for part in parts],
        summary=[] if findings else _summary(parts),
        title=title or _title(list(titles)),
        date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        svg=_drawn(parts),
        browsers=_browsers(parts),
    )


def _title(titles: Sequence[str]) -> str:
    """Return the title of the page: that of one part or two, or the number of parts."""
    if len(titles) > 2:
        return f"{len(titles)} results"
    both = " · ".join(titles)
    return both if len(both) <= LONGEST_TITLE else titles[0]


def _summary(parts: Sequence[ReportPart]) -> list[Grid]:
    """Return the table of all verdicts, if it says more than the sentences above it."""
    tested = [part.subjects for part in parts if part.subjects]
    if len(tested) < 2 or sum(map(len, tested)) <= FEW_SUBJECTS:
        return []
    return [summary_grid(parts)]


def summary_grid(parts: Sequence[ReportPart], title: str = "All results") -> Grid:
    """Return the headline figure of everything that was tested, in one table."""
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
    """Return tables and pictures as plain HTML without scripts, for notebooks."""
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
    numbers = [f"{one.text} ({one.interval})" if one.interval else one.text for one in row.cells]
    return [escape(text) for text in (*row.called, *numbers)]


def _drawn(parts: Sequence[ReportPart]) -> Callable[[Picture], Markup]:
    """Return the function by which the template draws a picture, with ids unique to each figure."""
    pictures = [piece for part in parts for piece in part.pieces() if isinstance(piece, Picture)]
    drawn = {id(piece): Markup(svg(piece.figure, f"plot-{place}")) for place, piece in enumerate(pictures)}
    return lambda picture: drawn[id(picture)]


def browser_piece(name: str, data: Any, **values: Any) -> Browser:
    """Return the browser of a run's items; `values` override the template's texts for choices."""
    return Browser(name, fill("items.html.j2", **values), embed(data))


def _browsers(parts: Sequence[ReportPart]) -> dict[int, tuple[str, Markup]]:
    """Return the prefix and markup of each browser by the id of its piece; with several browsers, their ids are prefixed."""
    found = [piece for part in parts for piece in part.browser if isinstance(piece, Browser)]
    return {
        id(piece): _prefixed(piece, f"b{place}-" if len(found) > 1 else "")
        for place, piece in enumerate(found)
    }


def _prefixed(piece: Browser, prefix: str) -> tuple[str, Markup]:
    markup = str(piece.markup)
    if prefix:
        # External texts are escaped, so only our own tags match.
        markup = re.sub(r"<[a-z][^>]*>", lambda tag: re.sub(NAMING, rf'\1="{prefix}', tag[0]), markup)
        called = f"of {escape(piece.name)}"  # otherwise all search landmarks would have the same name
        markup = re.sub(r'(role="search" aria-label="[^"]*)', lambda found: f"{found[1]} {called}", markup)
    markup += f'<script type="application/json" id="{prefix}browser-data">{piece.data}</script>'
    return prefix, Markup(markup)


def _script(parts: Sequence[ReportPart]) -> str:
    """Return the script of the item browser, if the page has one."""
    if not any(part.browser for part in parts):
        return ""
    return asset("browsers.js").replace("// BROWSER\n", asset(*BROWSER))


# -- filling templates -----------------------------------------------------------------------------------------------

PACKAGE = "personafit.reports"

# Escape what could end a script element or, in old engines, a string; the JSON stays the same.
INERT = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}

JOINTS = re.compile("[/:,=_+]")  # none of these occurs in an escaped character

# Direction marks, which affect all text that follows, and lone surrogates, which cannot be encoded (a folder's name may have them).
# Item texts keep direction marks, since each is in a box of its own.
NOT_SHOWN = re.compile("[\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def fill(template: str, **values: Any) -> Markup:
    """Render a template, to be inserted into a page."""
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
    """Return a name that may break after separators."""
    return Markup(JOINTS.sub(r"\g<0><wbr>", str(escape(_visible(str(name))))))


def asset(*names: str) -> str:
    """Return the concatenated scripts or styles from the templates folder."""
    return "".join((files(PACKAGE) / "templates" / name).read_text(encoding="utf-8") for name in names)


def embed(value: Any) -> Markup:
    """Return a value as JSON that cannot break out of a script element."""
    text = orjson.dumps(value).decode()
    for character, escaped in INERT.items():
        text = text.replace(character, escaped)
    return Markup(text)


def _visible(value: Any) -> Any:
    """Replace direction marks and surrogates in text, which could reorder the sentences and commands around it."""
    return NOT_SHOWN.sub("\ufffd", value) if type(value) is str else value


def _policy(script: str) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # Styles may be inline, since figures carry style attributes; nothing can be loaded by them (default-src).
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
