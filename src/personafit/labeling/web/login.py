"""How a researcher comes in: the password set once with the token printed at the first start, then asked for.

There is no session yet, so forms are tied to a cookie made for them. Whoever is wrong several times in a row waits, longer each time.
Passwords are hashed one at a time in a thread of their own: however many are tried, raters' pages have theirs.
"""

import asyncio
import secrets
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Cookie, Form, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from personafit.labeling.access import RESEARCHER_SECONDS, SHORTEST_PASSWORD, Access, ResearcherSession, same
from personafit.labeling.web.guard import client_address
from personafit.labeling.web.sessions import (
    RESEARCHER_COOKIE,
    AccessDep,
    NotAllowed,
    RenderDep,
    ResearcherDep,
    checked,
    set_cookie,
)

router = APIRouter(default_response_class=HTMLResponse)
T = TypeVar("T")

FORM_COOKIE = "personafit_form"
FORM_SECONDS = 3600
LONGEST_PASSWORD = 1000
FREE_TRIES = 4  # wrong ones from one address before it has to wait
MOST_WAITING = 32  # passwords of all addresses that wait to be checked
LONGEST_WAIT = 60.0
ADDRESSES_HELD = 1_000
WAIT = "That was wrong {count} times; please wait {seconds} seconds and try again."

Password = Annotated[str, Form(max_length=LONGEST_PASSWORD)]
Token = Annotated[str, Form(max_length=200)]
FormCookie = Annotated[str | None, Cookie(include_in_schema=False, alias=FORM_COOKIE)]


class Passwords:
    """The thread in which passwords are hashed, and who waits for it."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="passwords")
        self._waiting: Counter[str] = Counter()

    async def run(self, address: str, work: Callable[..., T], *args: Any) -> T:
        """What the work returns, once it was its turn. Raises `NotAllowed` where too many wait, of one address or in all."""
        if self._waiting[address] >= FREE_TRIES or self._waiting.total() >= MOST_WAITING:
            raise NotAllowed(
                429, "Too many passwords are being checked at the moment; please try again soon."
            )
        self._waiting[address] += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work, *args)
        finally:
            self._waiting -= Counter([address])  # leaves none at nought

    def close(self) -> None:
        """Let the thread go."""
        self._thread.shutdown(wait=False, cancel_futures=True)


class Attempts:
    """Wrong passwords by address, and when the next may be tried; it is asked in the thread of passwords, so once at a time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._wrong: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def check(self, access: Access, address: str, password: str) -> bool:
        """Whether the password is right. Raises `NotAllowed` while the address has to wait."""
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


async def _hashed(request: Request, work: Callable[..., T], *args: Any) -> T:
    """What the work returns, done in the thread of passwords."""
    passwords: Passwords = request.app.state.passwords
    return await passwords.run(client_address(request.client), work, *args)


async def _right(request: Request, access: Access, password: str) -> bool:
    """Whether the password is right, as far as the address may try one."""
    attempts: Attempts = request.app.state.attempts
    return await _hashed(request, attempts.check, access, client_address(request.client), password)


@router.get("/setup")
def set_up(request: Request, access: AccessDep, render: RenderDep, token: str = "") -> Response:  # nosec B107
    """The form in which the password is set."""
    if access.has_password():
        return RedirectResponse("/login", status_code=303)
    return _form(request, access, render, "researcher/setup.html", token=token)


@router.post("/setup")
async def set_password(
    request: Request,
    access: AccessDep,
    render: RenderDep,
    token: Token,
    password: Password,
    again: Password,
    csrf: Token,
    cookie: FormCookie = None,
) -> Response:
    """Set the password and go in."""
    _unforged(access, cookie, csrf)
    wrong = _unfit(password, again)
    if wrong is None and not await _hashed(request, access.set_password, token, password):
        wrong = "r.password.token"
    if wrong:
        page = "researcher/setup.html"
        return await run_in_threadpool(
            _form, request, access, render, page, code=422, token=token, wrong=wrong
        )
    return await run_in_threadpool(_enter, request, access)


@router.get("/login")
def log_in(request: Request, access: AccessDep, render: RenderDep) -> Response:
    """The form that asks for the password."""
    return _login_form(request, access, render)


@router.post("/login")
async def give_password(
    request: Request,
    access: AccessDep,
    render: RenderDep,
    password: Password,
    csrf: Token,
    cookie: FormCookie = None,
) -> Response:
    """Check the password and go in."""
    _unforged(access, cookie, csrf)
    if await _right(request, access, password):
        return await run_in_threadpool(_enter, request, access)
    return await run_in_threadpool(_login_form, request, access, render, 401, "r.password.wrong")


@router.get("/researcher/password")
def new_password(request: Request, session: ResearcherDep, render: RenderDep) -> Response:
    """The form in which the password is changed."""
    return _change(request, render, session)


@router.post("/researcher/password")
async def change_password(
    request: Request,
    access: AccessDep,
    render: RenderDep,
    session: ResearcherDep,
    current: Password,
    password: Password,
    again: Password,
    csrf: Token,
) -> Response:
    """Change the password; every other session ends."""
    checked(session, csrf)
    if not await _right(request, access, current):
        return _change(request, render, session, "r.password.wrong")
    if wrong := _unfit(password, again):
        return _change(request, render, session, wrong)
    await _hashed(request, access.change_password, password)
    return await run_in_threadpool(_enter, request, access)


@router.post("/logout")
def log_out(access: AccessDep, session: ResearcherDep, csrf: Token) -> Response:
    """Leave, on every device."""
    checked(session, csrf)
    access.end_researchers()
    response = RedirectResponse("/login", status_code=303)
    response.delete_cookie(RESEARCHER_COOKIE, path="/")
    return response


def _login_form(
    request: Request, access: Access, render: RenderDep, code: int = 200, wrong: str | None = None
) -> Response:
    ready = access.has_password()
    return _form(request, access, render, "researcher/login.html", code=code, wrong=wrong, ready=ready)


def _form(
    request: Request,
    access: Access,
    render: RenderDep,
    template: str,
    code: int = 200,
    wrong: str | None = None,
    **values: Any,
) -> Response:
    held = request.cookies.get(FORM_COOKIE) or secrets.token_urlsafe(16)  # two tabs share it
    page = render.page(
        request,
        template,
        code=code,
        csrf=access.anonymous_csrf(held),
        wrong=wrong,
        shortest=SHORTEST_PASSWORD,
        **values,
    )
    set_cookie(page, request, FORM_COOKIE, held, FORM_SECONDS)
    return page


def _change(
    request: Request, render: RenderDep, session: ResearcherSession, wrong: str | None = None
) -> Response:
    return render.page(
        request,
        "researcher/password.html",
        code=422 if wrong else 200,
        csrf=session.csrf,
        wrong=wrong,
        shortest=SHORTEST_PASSWORD,
    )


def _unfit(password: str, again: str) -> str | None:
    """Why a password cannot be set, if it cannot."""
    if len(password) < SHORTEST_PASSWORD:
        return "r.password.short"
    return "r.password.differs" if password != again else None


def _unforged(access: Access, cookie: str | None, csrf: str) -> None:
    if cookie is None or not same(access.anonymous_csrf(cookie), csrf):
        raise NotAllowed(403, "This page is out of date; please reload it.")


def _enter(request: Request, access: Access) -> Response:
    response = RedirectResponse("/researcher", status_code=303)
    set_cookie(response, request, RESEARCHER_COOKIE, access.open_researcher(), RESEARCHER_SECONDS)
    response.delete_cookie(FORM_COOKIE, path="/")
    return response
