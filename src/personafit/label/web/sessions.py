"""Requests and pages: sessions, CSRF checks, templates in the reader's language, and sanitized Markdown.

Every route declares who may use it by the visit it depends on: anybody, a rater, a rater's script with its token, or the researcher.
"""

import re
from pathlib import Path
from typing import Annotated, Any

import nh3
from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from markdown_it import MarkdownIt
from markupsafe import Markup

from personafit.label.access import Access, RaterSession, ResearcherSession, same
from personafit.label.chats import LINK_AGAIN
from personafit.label.records import RaterState
from personafit.label.studies import PageAssignment, Seat, Studies, Study
from personafit.label.texts import TEXTS, text

CSRF_HEADER = "x-csrf-token"
RATER_COOKIE = "personafit_rater"
RESEARCHER_COOKIE = "personafit_researcher"
LANGUAGE_COOKIE = "personafit_language"
LANGUAGE_SECONDS = 365 * 24 * 3600
CHECK_FIRST = "Please answer the questions about the guidelines first."
OUT_OF_DATE = "This page is out of date; please reload it."
NO_PAGE = "There is no such page in this study."

TEMPLATES = Path(__file__).parents[1] / "templates"
TAGS = {
    "p", "br", "hr", "strong", "em", "del", "code", "pre", "blockquote", "ul", "ol", "li",
    "h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip
DEEPEST = 4
_LINE = re.compile(r"( *)(?:([^:：]{1,60})[:：] ?)?(.*)")


class NotAllowed(Exception):
    """A rejected request: status code, a sentence with the values of its placeholders, and where to log in if that would help."""

    def __init__(self, code: int, sentence: str, login: str = "", **parts: object) -> None:
        super().__init__(sentence)
        self.code, self.sentence, self.login, self.parts = code, sentence, login, parts


class Visit:
    """One request, with the studies, access control and renderer needed to answer it."""

    def __init__(self, request: Request) -> None:
        state = request.app.state
        self.request = request
        self.studies: Studies = state.studies
        self.access: Access = state.access
        self._render: PageRenderer = state.render

    def language(self, study: Study | None = None) -> str:
        return self._render.language(self.request, study.config.language if study else None)

    def page(
        self, template: str, about: Study | None = None, /, code: int = 200, **values: Any
    ) -> HTMLResponse:
        title = {"title": about.title} if about else {}
        return self._render.page(self.request, template, code, self.language(about), **title | values)


class RaterVisit(Visit):
    """A request from a rater; raises `NotAllowed` for anybody else."""

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        session = self.access.rater(request.cookies.get(RATER_COOKIE))
        if session is None:
            raise NotAllowed(401, LINK_AGAIN)
        self.session: RaterSession = session

    def taking_part(self, ended: bool = False) -> tuple[Study, Seat]:
        """Return the rater's study and seat if they may continue; `ended` also allows studies that are no longer open."""
        studies, (name, number, _) = self.studies, self.session
        study, seat = studies.study(name), studies.seat(name, number)
        if seat is None or seat.state in (RaterState.ERASED, RaterState.FREE):
            raise NotAllowed(401, LINK_AGAIN)
        if seat.state is RaterState.EXCLUDED:
            raise NotAllowed(403, "Your participation in this study has ended. Thank you.")
        if seat.state is RaterState.PAUSED or (study.state == "paused" and not ended):
            raise NotAllowed(403, "This study is paused at the moment; your answers so far are kept.")
        if study.state == "closed" and not ended:
            raise NotAllowed(403, "This study is closed. Thank you.")
        return study, seat


class ResearcherVisit(Visit):
    """A request from the researcher; raises `NotAllowed` for anybody else."""

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        session = self.access.researcher(request.cookies.get(RESEARCHER_COOKIE))
        if session is None:
            raise NotAllowed(401, "Please log in.", login="/login")
        self.session: ResearcherSession = session


# Each depends on the request alone, since FastAPI resolves nested dependencies anew for every request.


async def _visit(request: Request) -> Visit:
    return Visit(request)


async def _rater(request: Request) -> RaterVisit:
    return RaterVisit(request)


def _researcher(request: Request) -> ResearcherVisit:  # not async, so run in a thread: it reads the store
    return ResearcherVisit(request)


async def rater_script(request: Request) -> RaterVisit:
    """Return the visit of a rater's script that changes something, after checking the token in the X-CSRF-Token header."""
    visit = RaterVisit(request)
    checked(visit.session, request.headers.get(CSRF_HEADER))
    return visit


VisitDep = Annotated[Visit, Depends(_visit)]
RaterDep = Annotated[RaterVisit, Depends(_rater)]
ResearcherDep = Annotated[ResearcherVisit, Depends(_researcher)]
ScriptDep = Annotated[RaterVisit, Depends(rater_script)]


def checked(session: RaterSession | ResearcherSession, token: str | None) -> None:
    """Raise `NotAllowed` if a form or script does not carry this session's CSRF token."""
    if not same(session.csrf, token):
        raise NotAllowed(403, OUT_OF_DATE)


def page_at(pages: list[PageAssignment], position: int) -> PageAssignment:
    """Return the page at a position; raise `NotAllowed` if there is none."""
    if not 0 <= position < len(pages):
        raise NotAllowed(404, NO_PAGE)
    return pages[position]


def set_cookie(response: Response, request: Request, name: str, value: str, seconds: int) -> None:
    """Set a cookie that scripts cannot read and cross-site requests do not send."""
    secure = request.url.scheme == "https"
    response.set_cookie(name, value, max_age=seconds, httponly=True, samesite="lax", secure=secure, path="/")


class PageRenderer:
    """Renders the pages of the labelling app, with autoescaping and compiled templates."""

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
        self._templates.filters |= {"markdown": self.markdown, "outline": outline}

    def markdown(self, source: str) -> Markup:
        """Render Markdown as HTML without anything that could run, load or link."""
        return Markup(nh3.clean(self._markdown.render(source), tags=TAGS, attributes={}))

    def language(self, request: Request, default: str | None = None) -> str:
        """Return the reader's language: from `?lang=`, a cookie, the study, or the browser, in this order."""
        for wanted in (request.query_params.get("lang"), request.cookies.get(LANGUAGE_COOKIE), default):
            if wanted in TEXTS:
                return str(wanted)
        return "zh" if request.headers.get("accept-language", "").lower().startswith("zh") else "en"

    def page(self, request: Request, template: str, code: int, language: str, **values: Any) -> HTMLResponse:
        def say(key: str, **parts: Any) -> str:
            return text(language, key, **parts)

        other = request.url.include_query_params(lang="en" if language == "zh" else "zh")
        about = {"say": say, "language": language, "switch": f"{other.path}?{other.query}"}
        html = self._templates.get_template(template).render(**about, **values)
        response = HTMLResponse(html, status_code=code)
        if request.query_params.get("lang") in TEXTS:
            set_cookie(response, request, LANGUAGE_COOKIE, language, LANGUAGE_SECONDS)
        return response


def outline(source: str) -> list[tuple[int, str, str]]:
    """Parse a person's outline into depth, name and text of each line."""
    lines = []
    for line in source.splitlines():
        if line.strip() and (match := _LINE.fullmatch(line)):
            lines.append((min(len(match[1]) // 2, DEEPEST), match[2] or "", match[3]))
    return lines
