"""The researcher's pages: progress of a study in figures that refresh automatically, the data behind them, and actions.

Each button submits one form, whose CSRF token is checked, and redirects back. Adjudication shows one disputed answer at a time with all
votes, and a decision that can be changed.
"""

import time
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Depends, Form, Path, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from personafit._errors import UserError
from personafit.label import steering
from personafit.label.access import RESEARCHER_SECONDS
from personafit.label.adjudicating import decide, disputes, labels_of
from personafit.label.overview import Overview, figure, study_overview
from personafit.label.records import RaterState
from personafit.label.studies import Seat
from personafit.label.votes import events, stored_page, study_votes
from personafit.label.web.sessions import (
    RESEARCHER_COOKIE,
    NotAllowed,
    ResearcherVisit,
    checked,
    set_cookie,
)

router = APIRouter(prefix="/researcher", default_response_class=HTMLResponse)

BY_THEMSELVES = ("researcher/numbers.html",)  # refreshed by an open page, so not a sign of activity
SHOWN = 100  # rows of a list per page
MOST_ADDED = 10_000

SeatNumber = Annotated[int, Path(ge=0, lt=2**31)]
From = Annotated[int, Query(alias="from", ge=0, lt=2**31)]
Text = Annotated[str, Form(max_length=steering.LONGEST_MESSAGE)]
Token = Annotated[str, Form(max_length=200)]
Count = Annotated[int, Form(ge=1, le=MOST_ADDED)]


class Desk(ResearcherVisit):
    """The request of a logged-in researcher, with methods to read studies and render pages."""

    def numbers(self, study: str) -> Overview:
        self.check(study)
        return study_overview(self.studies, study)

    def check(self, study: str) -> None:
        if study not in self.studies.names():
            raise NotAllowed(404, "There is no such study.")

    def seat(self, study: str, seat: int) -> Seat:
        self.check(study)
        found = self.studies.seat(study, seat)
        if found is None:
            raise NotAllowed(404, "There is no such rater in this study.")
        return found

    def show(self, template: str, **values: Any) -> HTMLResponse:
        values |= {"when": _when, "seconds": _seconds, "figure": figure}
        page = self.page(template, csrf=self.session.csrf, shown_lines=SHOWN, **values)
        if template not in BY_THEMSELVES:
            set_cookie(page, self.request, RESEARCHER_COOKIE, self.session.cookie, RESEARCHER_SECONDS)
        return page

    def show_study(self, here: str, numbers: Overview, **values: Any) -> HTMLResponse:
        """Render a page about a study, under the tab it belongs to."""
        return self.show(f"researcher/{here}.html", numbers=numbers, here=here, **values)


def _desk(request: Request) -> Desk:
    return Desk(request)


DeskDep = Annotated[Desk, Depends(_desk)]


def _unforged(desk: DeskDep, csrf: Token) -> Desk:
    checked(desk.session, csrf)
    return desk


FormDep = Annotated[Desk, Depends(_unforged)]
"""The desk of a form submission whose CSRF token is valid."""


@router.get("")
def all_studies(desk: DeskDep) -> Response:
    """Show all studies."""
    found = [study_overview(desk.studies, name) for name in desk.studies.names()]
    return desk.show("researcher/studies.html", studies=found)


@router.get("/studies/{study}")
def one_study(desk: DeskDep, study: str) -> Response:
    """Show a study's progress."""
    return desk.show("researcher/study.html", numbers=desk.numbers(study), here="overview")


@router.get("/studies/{study}/numbers")
def live_numbers(desk: DeskDep, study: str) -> Response:
    """Show the part of a study's page that refreshes."""
    return desk.show("researcher/numbers.html", numbers=desk.numbers(study))


@router.get("/studies/{study}/raters/{seat}")
def one_rater(desk: DeskDep, study: str, seat: SeatNumber) -> Response:
    """Show one rater and the possible actions."""
    code, numbers = desk.seat(study, seat).code, desk.numbers(study)
    votes = study_votes(desk.studies, study, excluded=True)
    given = votes.filter(votes["rater"] == code).sort("at", descending=True).head(SHOWN)
    rater = next(rater for rater in numbers.raters if rater.seat.seat == seat)
    shown = {"rater": rater, "votes": list(given.iter_rows(named=True))}
    return desk.show("researcher/rater.html", numbers=numbers, here="overview", **shown)


@router.get("/studies/{study}/remarks")
def all_remarks(desk: DeskDep, study: str) -> Response:
    """Show flags and notes."""
    numbers = desk.numbers(study)
    votes = study_votes(desk.studies, study, excluded=True)
    noted = votes.filter(votes["note"].is_not_null())
    rows = [
        *numbers.remarks.iter_rows(named=True),
        *({**row, "question": "note", "text": row["note"]} for row in noted.iter_rows(named=True)),
    ]
    rows.sort(key=lambda row: row["at"], reverse=True)
    return desk.show_study("remarks", numbers, remarks=rows)


@router.get("/studies/{study}/trail")
def trail(desk: DeskDep, study: str, skip: From = 0) -> Response:
    """Show the audit trail."""
    done, count = events(desk.studies, study, SHOWN, skip)
    return desk.show_study("trail", desk.numbers(study), events=done, skip=skip, total=count)


@router.get("/studies/{study}/invitations")
def invitations(desk: DeskDep, study: str) -> Response:
    """Show the invitation links."""
    access = desk.access
    numbers, joining = desk.numbers(study), f"{desk.request.base_url}join/"
    free = [rater.seat for rater in numbers.raters if rater.seat.state is RaterState.FREE]
    return desk.show_study(
        "invitations",
        numbers,
        free=bool(free),
        anyone=None if numbers.study.config.signed_ids else f"{joining}{access.invite(study, None)}",
        links=[(seat.code, f"{joining}{access.invite(study, seat.seat)}") for seat in free],
    )


@router.post("/studies/{study}/state")
def change_state(desk: FormDep, study: str, state: Text) -> Response:
    """Open, pause or close the study."""
    desk.check(study)
    steering.set_state(desk.studies, study, state)
    return _back(study)


@router.post("/studies/{study}/more")
def add_seats(desk: FormDep, study: str, raters: Count) -> Response:
    """Add seats."""
    desk.check(study)
    desk.studies.extend(study, raters)
    return _back(study, "/invitations")


@router.post("/studies/{study}/raters/{seat}/erase")
def erase(desk: FormDep, study: str, seat: SeatNumber, code: Text) -> Response:
    """Erase a rater; their code has to be typed as confirmation."""
    found = desk.seat(study, seat)
    if code.strip() != found.code:
        raise UserError(f"Nothing was erased: type {found.code} to erase this rater.")
    done = steering.erase_rater(desk.studies, found)
    if done.remains is not None:
        raise UserError(steering.REMAIN.format(why=done.remains))
    return _back(study)


@router.post("/studies/{study}/raters/{seat}/{action}")
def change_rater(
    desk: FormDep,
    study: str,
    seat: SeatNumber,
    action: Literal["warn", "pause", "exclude", "resume"],
    message: Text = "",
    reason: Text = "",
) -> Response:
    """Warn, pause, exclude or resume a rater."""
    found = desk.seat(study, seat)
    match action:
        case "warn":
            steering.warn(desk.studies, found, message)
        case "pause":
            steering.pause(desk.studies, found, reason)
        case "exclude":
            steering.exclude(desk.studies, found, reason)
        case "resume":
            steering.resume(desk.studies, found)
    return _back(study, f"/raters/{seat}")


@router.get("/studies/{study}/adjudicate")
def show_dispute(desk: DeskDep, study: str, key: Annotated[str, Query(max_length=200)] = "") -> Response:
    """Show the requested disputed answer, or the first undecided one."""
    numbers, found = desk.numbers(study), disputes(desk.studies, study)
    wanted = (n for n, one in enumerate(found) if (one.key == key if key else one.decided is None))
    place = next(wanted, None)
    dispute = found[place] if place is not None else None
    return desk.show_study(
        "adjudicate",
        numbers,
        dispute=dispute,
        shown=stored_page(desk.studies.form(study), dispute.page) if dispute else {},
        labels=list(labels_of(desk.studies, study, dispute.page, dispute.field)) if dispute else [],
        left=sum(one.decided is None for one in found),
        total=len(found),
        before=found[place - 1].key if place else None,
        after=found[place + 1].key if place is not None and place + 1 < len(found) else None,
    )


@router.post("/studies/{study}/adjudicate")
def store_decision(
    desk: FormDep,
    study: str,
    key: Annotated[str, Form(max_length=200)],
    label: Annotated[str, Form(max_length=200)],
    why: Text = "",
) -> Response:
    """Store a decision and show the next dispute; an empty label withdraws the decision."""
    desk.check(study)
    decide(desk.studies, study, key, label or None, why)
    return _back(study, "/adjudicate" if label else f"/adjudicate?key={quote(key, safe='')}")


def _back(study: str, where: str = "") -> Response:
    return RedirectResponse(f"/researcher/studies/{quote(study, safe='')}{where}", status_code=303)


def _when(at: float | None) -> str:
    """Format a time in UTC; times outside the calendar, which a browser's clock may report, are shown as a dash."""
    try:
        return "–" if at is None else time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(at))
    except (OverflowError, OSError, ValueError):
        return "–"


def _seconds(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.1f} s" if value < 60 else f"{int(value // 60)} min {int(value % 60):02d} s"
