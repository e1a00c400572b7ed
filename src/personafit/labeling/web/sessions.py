"""Who is asking: the dependencies by which every route says whom it is for, and that forms are not forged."""

from typing import Annotated

from fastapi import Depends, Request
from fastapi.responses import Response

from personafit.labeling.access import Access, RaterSession, ResearcherSession, same
from personafit.labeling.records import RaterState
from personafit.labeling.studies import PageAssignment, Seat, Studies, Study
from personafit.labeling.web.rendering import PageRenderer

CSRF_HEADER = "x-csrf-token"
RATER_COOKIE = "personafit_rater"
RESEARCHER_COOKIE = "personafit_researcher"


class NotAllowed(Exception):
    """A request that may not be made: code, a sentence and what stands in its braces, and where to log in if that would help."""

    def __init__(self, code: int, sentence: str, login: str = "", **parts: object) -> None:
        super().__init__(sentence)
        self.code, self.sentence, self.login, self.parts = code, sentence, login, parts


async def _studies(request: Request) -> Studies:
    studies: Studies = request.app.state.studies
    return studies


async def _access(request: Request) -> Access:
    access: Access = request.app.state.access
    return access


async def _renderer(request: Request) -> PageRenderer:
    render: PageRenderer = request.app.state.render
    return render


StudiesDep = Annotated[Studies, Depends(_studies)]
AccessDep = Annotated[Access, Depends(_access)]
RenderDep = Annotated[PageRenderer, Depends(_renderer)]


# Each asks for the request alone: what dependencies ask for in turn is worked out anew at every request.


async def _rater(request: Request) -> RaterSession:
    session = (await _access(request)).rater(request.cookies.get(RATER_COOKIE))
    if session is None:
        raise NotAllowed(401, "Please open the link of your invitation again.")
    return session


async def _researcher(request: Request) -> ResearcherSession:
    session = (await _access(request)).researcher(request.cookies.get(RESEARCHER_COOKIE))
    if session is None:
        raise NotAllowed(401, "Please log in.", login="/login")
    return session


RaterDep = Annotated[RaterSession, Depends(_rater)]
ResearcherDep = Annotated[ResearcherSession, Depends(_researcher)]


def checked(session: RaterSession | ResearcherSession, token: str | None) -> None:
    """Refuse a request whose form or script did not come from this session's pages."""
    if not same(session.csrf, token):
        raise NotAllowed(403, "This page is out of date; please reload it.")


async def rater_script(request: Request) -> RaterSession:
    """Whose script is asking, with its token."""
    session = await _rater(request)
    checked(session, request.headers.get(CSRF_HEADER))
    return session


RaterScriptDep = Annotated[RaterSession, Depends(rater_script)]
"""A rater's request that changes something, with its token in the X-CSRF-Token header."""


def taking_part(studies: Studies, session: RaterSession, ended: bool = False) -> tuple[Study, Seat]:
    """The rater's study and seat, if they may go on; `ended` does not ask whether the study is open still."""
    study, seat = studies.study(session.study), studies.seat(session.study, session.seat)
    if seat is None or seat.state in (RaterState.ERASED, RaterState.FREE):
        raise NotAllowed(401, "Please open the link of your invitation again.")
    if seat.state is RaterState.EXCLUDED:
        raise NotAllowed(403, "Your part in this study has ended. Thank you.")
    if seat.state is RaterState.PAUSED or (study.state == "paused" and not ended):
        raise NotAllowed(403, "This study is paused at the moment; your answers so far are kept.")
    if study.state == "closed" and not ended:
        raise NotAllowed(403, "This study is closed. Thank you.")
    return study, seat


CHECK_FIRST = "Please answer the questions about the guidelines first."


def page_at(pages: list[PageAssignment], position: int) -> PageAssignment:
    """The page at a position."""
    if not 0 <= position < len(pages):
        raise NotAllowed(404, "There is no such page in this study.")
    return pages[position]


def set_cookie(response: Response, request: Request, name: str, value: str, seconds: int) -> None:
    """A cookie that scripts cannot read and other sites cannot send."""
    response.set_cookie(
        name,
        value,
        max_age=seconds,
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
        path="/",
    )
