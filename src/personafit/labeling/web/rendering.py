"""Pages and fragments from templates: autoescaped, in the reader's language, Markdown made safe."""

import re
from pathlib import Path
from typing import Any

import nh3
from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from markdown_it import MarkdownIt
from markupsafe import Markup

from personafit.labeling.texts import TEXTS, text

TEMPLATES = Path(__file__).parents[1] / "templates"
TAGS = {
    "p", "br", "hr", "strong", "em", "del", "code", "pre", "blockquote", "ul", "ol", "li",
    "h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip
LANGUAGE_COOKIE = "personafit_language"
LANGUAGE_SECONDS = 365 * 24 * 3600
DEEPEST = 4
_LINE = re.compile(r"( *)(?:([^:：]{1,60})[:：] ?)?(.*)")


class PageRenderer:
    """Renders the pages of the labelling app; templates are compiled once."""

    def __init__(self) -> None:
        self._markdown = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(
            ["table", "strikethrough"]
        )
        self._templates = Environment(
            loader=FileSystemLoader(TEMPLATES),
            autoescape=select_autoescape(default=True),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters["markdown"] = self.markdown
        self._templates.filters["outline"] = outline

    def markdown(self, source: str) -> Markup:
        """Markdown as HTML with nothing in it that could run, load or link anywhere."""
        return Markup(nh3.clean(self._markdown.render(source), tags=TAGS, attributes={}))

    def html(self, template: str, language: str = "en", **values: Any) -> str:
        """A template filled in."""
        chosen = language if language in TEXTS else "en"

        def say(key: str, **parts: Any) -> str:
            return text(chosen, key, **parts)

        return self._templates.get_template(template).render(say=say, language=chosen, **values)

    def language(self, request: Request, default: str | None = None) -> str:
        """The language somebody reads: chosen with `?lang=`, chosen before, the study's, or the browser's."""
        for wanted in (request.query_params.get("lang"), request.cookies.get(LANGUAGE_COOKIE), default):
            if wanted in TEXTS:
                return str(wanted)
        return "zh" if request.headers.get("accept-language", "").lower().startswith("zh") else "en"

    def page(
        self, request: Request, template: str, code: int = 200, language: str | None = None, **values: Any
    ) -> HTMLResponse:
        """A response in the reader's language; a language that was just chosen is remembered."""
        chosen = self.language(request, language)
        other = request.url.include_query_params(lang="en" if chosen == "zh" else "zh")
        switch = f"{other.path}?{other.query}"
        response = HTMLResponse(self.html(template, chosen, switch=switch, **values), status_code=code)
        if request.query_params.get("lang") in TEXTS:
            response.set_cookie(
                LANGUAGE_COOKIE,
                chosen,
                max_age=LANGUAGE_SECONDS,
                httponly=True,
                samesite="lax",
                secure=request.url.scheme == "https",
            )
        return response


def outline(source: str) -> list[tuple[int, str, str]]:
    """A person's outline as depth, name and text of each line."""
    lines = []
    for line in source.splitlines():
        if line.strip() and (match := _LINE.fullmatch(line)):
            lines.append((min(len(match[1]) // 2, DEEPEST), match[2] or "", match[3]))
    return lines
