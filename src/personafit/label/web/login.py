"""Researcher login: the password is set once with the token printed at the first start, and required from then on.

There is no session yet, so forms are tied to a cookie made for them. After several wrong passwords an address has to wait, longer each
time. Passwords are hashed one at a time in a separate thread, so that many attempts do not slow down raters' pages.
"""

import asyncio
import secrets
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Cookie, Form
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from personafit.label.access import RESEARCHER_SECONDS, SHORTEST_PASSWORD, Access, same
from personafit.label.web.guard import client_address
from personafit.label.web.sessions import (
    OUT_OF_DATE,
    RESEARCHER_COOKIE,
    NotAllowed,
    ResearcherDep,
    ResearcherVisit,
    Visit,
    VisitDep,
    checked,
    set_cookie,
)

router = APIRouter(default_response_class=HTMLResponse)
T = TypeVar("T")

FORM_COOKIE = "personafit_form"
FORM_SECONDS = 3600
LONGEST_PASSWORD = 1000
FREE_TRIES = 4  # wrong passwords from one address before it has to wait
MOST_WAITING = 32  # passwords waiting to be checked, over all addresses
LONGEST_WAIT = 60.0
ADDRESSES_HELD = 1_000
WAIT = "That was wrong {count} times; please wait {seconds} seconds and try again."

Password = Annotated[str, Form(max_length=LONGEST_PASSWORD)]
Token = Annotated[str, Form(max_length=200)]
FormCookie = Annotated[str | None, Cookie(include_in_schema=False, alias=FORM_COOKIE)]


class Passwords:
    """The thread in which passwords are hashed, and the number of requests waiting by address."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="passwords")
        self._waiting: Counter[str] = Counter()

    async def run(self, address: str, work: Callable[..., T], *args: Any) -> T:
        """Run `work` in the thread and return its result; raise `NotAllowed` if too many wait, per address or in all."""
        if self._waiting[address] >= FREE_TRIES or self._waiting.total() >= MOST_WAITING:
            raise NotAllowed(
                429, "Too many passwords are being checked at the moment; please try again soon."
            )
        self._waiting[address] += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work, *args)
        finally:
            self._waiting -= Counter([address])  # drops entries that reach zero

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)


class Attempts:
    """Wrong passwords by address, and when the next may be tried; used only in the password thread, so without locks."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._wrong: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def check(self, access: Access, address: str, password: str) -> bool:
        """Return whether the password is right; raise `NotAllowed` while the address has to wait."""
        count, until = self._wrong.get(address, (0, 0.0))
        left = until - self._clock()
        if left > 0:
            raise NotAllowed(429, WAIT, count=count, seconds=int(left) + 1)
        if access.check_password(password):
            self._wrong.pop(address, None)
            return True
        wait = min(LONGEST_WAIT, 2.0 ** (count + 1 - FREE_TRIES)) if count + 1 >= FREE_TRIES else 0.0
        self._wrong[address] = (count + 1, self._clock() + wait)
        self._wrong.move_to_end(address)
        while len(self._wrong) > ADDRESSES_HELD:
            self._wrong.popitem(last=False)
        return False


async def _hashed(visit: Visit, work: Callable[..., T], *args: Any) -> T:
    """Run `work` in the password thread and return its result."""
    passwords: Passwords = visit.request.app.state.passwords
    return await passwords.run(client_address(visit.request.client), work, *args)


async def _right(visit: Visit, password: str) -> bool:
    """Return whether the password is right, subject to the limit on attempts."""
    attempts: Attempts = visit.request.app.state.attempts
    return await _hashed(visit, attempts.check, visit.access, client_address(visit.request.client), password)


@router.get("/setup")
def set_up(visit: VisitDep, token: str = "") -> Response:  # nosec B107
    """Show the form that sets the password."""
    if visit.access.has_password():
        return RedirectResponse("/login", status_code=303)
    return _form(visit, "researcher/setup.html", token=token)


@router.post("/setup")
async def set_password(
    visit: VisitDep,
    token: Token,
    password: Password,
    again: Password,
    csrf: Token,
    cookie: FormCookie = None,
) -> Response:
    """Set the password and log in."""
    _unforged(visit, cookie, csrf)
    wrong = _unfit(password, again)
    if wrong is None and not await _hashed(visit, visit.access.set_password, token, password):
        wrong = "r.password.token"
    if wrong:
        return await run_in_threadpool(_form, visit, "researcher/setup.html", 422, wrong, token=token)
    return await run_in_threadpool(_enter, visit)


@router.get("/login")
def log_in(visit: VisitDep) -> Response:
    """Show the login form."""
    return _form(visit, "researcher/login.html", ready=visit.access.has_password())


@router.post("/login")
async def give_password(
    visit: VisitDep, password: Password, csrf: Token, cookie: FormCookie = None
) -> Response:
    """Check the password and log in."""
    _unforged(visit, cookie, csrf)
    if await _right(visit, password):
        return await run_in_threadpool(_enter, visit)
    ready = await run_in_threadpool(visit.access.has_password)
    return _form(visit, "researcher/login.html", 401, "r.password.wrong", ready=ready)


@router.get("/researcher/password")
def new_password(visit: ResearcherDep) -> Response:
    """Show the form that changes the password."""
    return _change(visit)


@router.post("/researcher/password")
async def change_password(
    visit: ResearcherDep, current: Password, password: Password, again: Password, csrf: Token
) -> Response:
    """Change the password and end every other session."""
    checked(visit.session, csrf)
    if not await _right(visit, current):
        return _change(visit, "r.password.wrong")
    if wrong := _unfit(password, again):
        return _change(visit, wrong)
    await _hashed(visit, visit.access.change_password, password)
    return await run_in_threadpool(_enter, visit)


@router.get("/openapi.json", include_in_schema=False)
def describe_api(visit: ResearcherDep) -> JSONResponse:
    """Return the OpenAPI description of all routes; only the researcher may read it."""
    return JSONResponse(visit.request.app.openapi())


@router.post("/logout")
def log_out(visit: ResearcherDep, csrf: Token) -> Response:
    """Log out on all devices."""
    checked(visit.session, csrf)
    visit.access.end_researchers()
    response = RedirectResponse("/login", status_code=303)
    response.delete_cookie(RESEARCHER_COOKIE, path="/")
    return response


def _form(visit: Visit, template: str, code: int = 200, wrong: str | None = None, **values: Any) -> Response:
    held = visit.request.cookies.get(FORM_COOKIE) or secrets.token_urlsafe(16)  # shared by tabs
    values |= {"csrf": visit.access.anonymous_csrf(held), "wrong": wrong, "shortest": SHORTEST_PASSWORD}
    page = visit.page(template, code=code, **values)
    set_cookie(page, visit.request, FORM_COOKIE, held, FORM_SECONDS)
    return page


def _change(visit: ResearcherVisit, wrong: str | None = None) -> Response:
    code, csrf = 422 if wrong else 200, visit.session.csrf
    page = "researcher/password.html"
    return visit.page(page, code=code, csrf=csrf, wrong=wrong, shortest=SHORTEST_PASSWORD)


def _unfit(password: str, again: str) -> str | None:
    """Return the text key of why a password cannot be set; None if it can."""
    if len(password) < SHORTEST_PASSWORD:
        return "r.password.short"
    return "r.password.differs" if password != again else None


def _unforged(visit: Visit, cookie: str | None, csrf: str) -> None:
    if cookie is None or not same(visit.access.anonymous_csrf(cookie), csrf):
        raise NotAllowed(403, OUT_OF_DATE)


def _enter(visit: Visit) -> Response:
    response = RedirectResponse("/researcher", status_code=303)
    cookie = visit.access.open_researcher()
    set_cookie(response, visit.request, RESEARCHER_COOKIE, cookie, RESEARCHER_SECONDS)
    response.delete_cookie(FORM_COOKIE, path="/")
    return response
