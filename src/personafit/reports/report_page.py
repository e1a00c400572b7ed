"""A report as one self-contained page: what came out first, one picture, one table, everything else folded, then the items."""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from personafit.reports.drawing import svg
from personafit.reports.page import asset, embed, fill, fill_page, put_page
from personafit.reports.pieces import Browser, Cell, Grid, Picture, Piece, Prose, Row
from personafit.reports.report import ReportPart
from personafit.reports.verdict import SubjectVerdict
from personafit.reports.written import plain

# Each browser's script is a function of a document that knows only its own part of the page.
BROWSERS = {
    "choice": (
        "search.js",
        "browser.js",
        "browser-filters.js",
        "browser-finding.js",
        "browser-list.js",
        "browser-item.js",
        "browser-judged.js",
        "browser-begin.js",
    ),
    "dialogue": ("dialogues.js",),
}
MARKUP = {"choice": ("items.html.j2", "browser-data"), "dialogue": ("dialogues.html.j2", "viewer-data")}
"""The template of each browser, and the id of the element that its script reads."""
NAMING = r'(\s(?:id|for|aria-labelledby|aria-describedby|aria-controls))="'  # attributes that name an element
STYLES = {"dialogue": ("dialogues.css",)}
"""Styles that only one browser needs."""


def write_page(parts: Sequence[ReportPart], path: Path, title: str = "") -> None:
    """Write the page; an old one is replaced only once the new one is complete."""
    put_page(path, render_page(parts, title))


def render_page(parts: Sequence[ReportPart], title: str = "") -> str:
    """The page as text."""
    titles = dict.fromkeys(part.title.rstrip(".:") for part in parts)
    return fill_page(
        "parts.html.j2",
        _script(parts),
        asset("pieces.css", *(name for script in _scripts(parts) for name in STYLES.get(script, ()))),
        parts=parts,
        titles=[part.title for part in parts],
        summary=[summary_grid(parts)] if sum(bool(part.subjects) for part in parts) > 1 else [],
        title=title or " · ".join(titles) or "Report",
        date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        svg=_drawn(parts),
        browsers=_browsers(parts),
    )


def summary_grid(parts: Sequence[ReportPart], title: str = "All results") -> Grid:
    """Everything that was tested in one table."""
    rows = [
        Row(
            [one.subject, part.name],
            [
                Cell(one.metric.replace("_", " ")),
                _figure(one),
                Cell(f"{one.n:,}", sort=one.n),
                Cell(f"{one.people:,}", sort=one.people),
            ],
        )
        for part in parts
        for one in part.subjects
    ]
    return Grid(
        title,
        "The headline figure of everything that was tested, 95 % interval below.",
        ["tested", "run"],
        ["metric", "value", "items", "people"],
        rows,
    )


def _figure(one: SubjectVerdict) -> Cell:
    if one.value is None:
        return Cell()
    ends = "" if one.low is None or one.high is None else f"{plain(one.low, 3)} to {plain(one.high, 3)}"
    return Cell(plain(one.value, 3), ends, one.value)


def notebook_html(pieces: Sequence[Piece]) -> str:
    """Tables and pictures as a notebook shows them: plain HTML without scripts."""
    parts = []
    for place, piece in enumerate(pieces):
        if isinstance(piece, Picture):
            parts.append(f"<div>{svg(piece.figure, f'plot-{place}')}</div>")
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


def browser_piece(name: str, script: str, data: Any, **values: Any) -> Browser:
    """A browser of a run's items, by a name in `BROWSERS`; `values` are what its template needs."""
    template, data_id = MARKUP[script]
    return Browser(script, name, fill(template, **values), data_id, embed(data))


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
    markup += f'<script type="application/json" id="{prefix}{piece.data_id}">{piece.data}</script>'
    return prefix, Markup(markup)


def _scripts(parts: Sequence[ReportPart]) -> list[str]:
    """The browsers that a page needs, each once."""
    found = (piece.script for part in parts for piece in part.browser if isinstance(piece, Browser))
    return list(dict.fromkeys(found))


def _script(parts: Sequence[ReportPart]) -> str:
    scripts = [
        f"BROWSERS.{name} = (document) => {{\n{asset(*BROWSERS[name])}\n}};\n" for name in _scripts(parts)
    ]
    return asset("browsers.js").replace("// BROWSERS\n", "".join(scripts))
