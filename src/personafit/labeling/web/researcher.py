"""The researcher's pages: how a study goes, in numbers that refresh by themselves, and everything behind them."""

import time
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import HTMLResponse, Response

from personafit.labeling.access import RESEARCHER_SECONDS, ResearcherSession
from personafit.labeling.overview import Overview, RaterNumbers, overview
from personafit.labeling.records import RaterState
from personafit.labeling.studies import Studies
from personafit.labeling.trail import answer_events, events
from personafit.labeling.votes import study_votes
from personafit.labeling.web.rendering import PageRenderer
from personafit.labeling.web.sessions import (
    RESEARCHER_COOKIE,
    AccessDep,
    NotAllowed,
    RenderDep,
    ResearcherDep,
    StudiesDep,
    set_cookie,
)
from personafit.statistics import Estimate

router = APIRouter(prefix="/researcher", default_response_class=HTMLResponse)

BY_THEMSELVES = ("researcher/numbers.html",)  # fetched by a page left open, which is no sign of anybody
SHOWN = 100  # lines of a list on one page

SeatNumber = Annotated[int, Path(ge=0, lt=2**31)]
From = Annotated[int, Query(alias="from", ge=0, lt=2**31)]


@router.get("")
def all_studies(request: Request, session: ResearcherDep, studies: StudiesDep, render: RenderDep) -> Response:
    """All studies."""
    found = [overview(studies, name) for name in studies.names()]
    return filled(request, render, session, "researcher/studies.html", studies=found)


@router.get("/studies/{study}")
def one_study(
    request: Request, study: str, session: ResearcherDep, studies: StudiesDep, render: RenderDep
) -> Response:
    """How a study goes."""
    numbers = known(studies, study)
    return filled(request, render, session, "researcher/study.html", numbers=numbers, here="overview")


@router.get("/studies/{study}/numbers")
def live_numbers(
    request: Request, study: str, session: ResearcherDep, studies: StudiesDep, render: RenderDep
) -> Response:
    """The part of a study's page that refreshes."""
    return filled(request, render, session, "researcher/numbers.html", numbers=known(studies, study))


@router.get("/studies/{study}/raters/{seat}")
def one_rater(
    request: Request,
    study: str,
    seat: SeatNumber,
    session: ResearcherDep,
    studies: StudiesDep,
    render: RenderDep,
) -> Response:
    """One rater, and what can be done."""
    numbers = known(studies, study)
    rater = known_rater(numbers, seat)
    votes = study_votes(studies, study, excluded=True)
    given = votes.filter(votes["rater"] == rater.code).sort("at", descending=True).head(SHOWN)
    return filled(
        request,
        render,
        session,
        "researcher/rater.html",
        numbers=numbers,
        here="overview",
        rater=rater,
        votes=list(given.iter_rows(named=True)),
    )


@router.get("/studies/{study}/pages")
def all_pages(
    request: Request,
    study: str,
    session: ResearcherDep,
    studies: StudiesDep,
    render: RenderDep,
    skip: From = 0,
) -> Response:
    """How far each page is, and what was voted."""
    numbers = known(studies, study)
    return filled(
        request,
        render,
        session,
        "researcher/pages.html",
        numbers=numbers,
        here="pages",
        lines=numbers.pages[skip : skip + SHOWN],
        skip=skip,
        total=len(numbers.pages),
    )


@router.get("/studies/{study}/remarks")
def all_remarks(
    request: Request, study: str, session: ResearcherDep, studies: StudiesDep, render: RenderDep
) -> Response:
    """What raters flagged and noted."""
    numbers = known(studies, study)
    votes = study_votes(studies, study, excluded=True)
    noted = votes.filter(votes["note"].is_not_null())
    rows = [
        *numbers.remarks.iter_rows(named=True),
        *({**row, "question": "note", "text": row["note"]} for row in noted.iter_rows(named=True)),
    ]
    rows.sort(key=lambda row: row["at"], reverse=True)
    return filled(
        request, render, session, "researcher/remarks.html", numbers=numbers, here="remarks", remarks=rows
    )


@router.get("/studies/{study}/trail")
def trail(
    request: Request,
    study: str,
    session: ResearcherDep,
    studies: StudiesDep,
    render: RenderDep,
    skip: From = 0,
) -> Response:
    """What was done by whom, and every answer with both clocks."""
    numbers = known(studies, study)
    done, count = events(studies, study, SHOWN, skip)
    answers, answered = answer_events(studies, study, SHOWN, skip)
    return filled(
        request,
        render,
        session,
        "researcher/trail.html",
        numbers=numbers,
        here="trail",
        events=done,
        answers=answers,
        skip=skip,
        total=max(count, answered),
    )


@router.get("/studies/{study}/invitations")
def invitations(
    request: Request,
    study: str,
    session: ResearcherDep,
    studies: StudiesDep,
    access: AccessDep,
    render: RenderDep,
) -> Response:
    """Links to send."""
    numbers = known(studies, study)
    base = str(request.base_url)
    free = [rater for rater in numbers.raters if rater.state is RaterState.FREE]
    return filled(
        request,
        render,
        session,
        "researcher/invitations.html",
        numbers=numbers,
        here="invitations",
        free=bool(free),
        anyone=None if studies.study(study).config.signed_ids else f"{base}join/{access.invite(study, None)}",
        links=[(rater.code, f"{base}join/{access.invite(study, rater.seat)}") for rater in free],
    )


def known(studies: Studies, study: str) -> Overview:
    """A study's numbers; 404 when there is no such study."""
    if study not in studies.names():
        raise NotAllowed(404, "There is no such study.")
    return overview(studies, study)


def known_rater(numbers: Overview, seat: int) -> RaterNumbers:
    """A rater of the study; 404 when there is none."""
    for rater in numbers.raters:
        if rater.seat == seat:
            return rater
    raise NotAllowed(404, "There is no such rater in this study.")


def filled(
    request: Request, render: PageRenderer, session: ResearcherSession, template: str, **values: Any
) -> HTMLResponse:
    """A researcher's page; whoever opens one stays logged in."""
    page = render.page(
        request,
        template,
        csrf=session.csrf,
        when=_when,
        seconds=_seconds,
        figure=_figure,
        interval=_interval,
        shown_lines=SHOWN,
        **values,
    )
    if template not in BY_THEMSELVES:
        set_cookie(page, request, RESEARCHER_COOKIE, session.cookie, RESEARCHER_SECONDS)
    return page


def _when(at: float | None) -> str:
    """A time for people, in UTC, which is the same for everybody; a browser's clock may say anything."""
    try:
        return "–" if at is None else time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(at))
    except (OverflowError, OSError, ValueError):
        return "–"


def _seconds(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.1f} s" if value < 60 else f"{int(value // 60)} min {int(value % 60):02d} s"


def _figure(estimate: Estimate | None) -> str:
    return "–" if estimate is None or estimate.value is None else f"{estimate.value:.2f}"


def _interval(estimate: Estimate | None) -> str:
    if estimate is None or estimate.low is None or estimate.high is None:
        return ""
    return f"{estimate.low:.2f} to {estimate.high:.2f}"
