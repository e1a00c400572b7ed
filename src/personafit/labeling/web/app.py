"""The app itself: what it is made of, and the answers it gives when something is wrong."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException

from personafit import __version__
from personafit._errors import UserError
from personafit.labeling.access import Access
from personafit.labeling.chats import NotNow
from personafit.labeling.places import Places
from personafit.labeling.studies import Studies
from personafit.labeling.texts import text
from personafit.labeling.web import (
    answering,
    chat,
    joining,
    login,
    rating,
    researcher,
)
from personafit.labeling.web.guard import Guard
from personafit.labeling.web.rendering import PageRenderer
from personafit.labeling.web.sessions import NotAllowed
from personafit.labeling.writing import Writer
from personafit.store import Store

STATIC = Path(__file__).parents[1] / "static"
UNAVAILABLE = "The server cannot read or write its store just now; please try again in a moment."


def create_app(store: str | Path, models: Sequence[str] = ()) -> FastAPI:
    """The labelling app on a store; people may talk with these models and with no other that the store names."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        with Store(store) as opened:
            app.state.studies = studies = Studies(opened)
            app.state.places = Places(studies)
            app.state.access = Access(opened.engine)
            app.state.writer = Writer(opened.engine)
            app.state.render = PageRenderer()
            app.state.models = chat.ChatModels(models)
            app.state.replies = chat.Replies()
            app.state.attempts = login.Attempts()
            app.state.passwords = login.Passwords()
            yield
            app.state.passwords.close()
            app.state.writer.close()
            await app.state.models.close()

    app = FastAPI(
        title="personafit label", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None
    )
    app.add_middleware(Guard)
    answering.add_route(app)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    app.include_router(joining.router)
    app.include_router(rating.router)
    app.include_router(chat.router)
    app.include_router(login.router)
    app.include_router(researcher.router)
    app.add_exception_handler(NotAllowed, _not_allowed)
    app.add_exception_handler(NotNow, _not_now)
    app.add_exception_handler(UserError, _user_error)
    app.add_exception_handler(SQLAlchemyError, _database)
    app.add_exception_handler(RequestValidationError, _not_understood)
    app.add_exception_handler(HTTPException, _http)
    return app


async def _not_allowed(request: Request, error: Exception) -> Response:
    assert isinstance(error, NotAllowed)
    if error.login and _wants_page(request):
        return RedirectResponse(error.login, status_code=303)
    return _said(request, error.code, error.sentence, **error.parts)


async def _not_now(request: Request, error: Exception) -> Response:
    return _said(request, 409, str(error))


async def _user_error(request: Request, error: Exception) -> Response:
    return _said(request, 400, str(error))


async def _database(request: Request, _error: Exception) -> Response:
    return _said(request, 503, UNAVAILABLE)


async def _not_understood(_request: Request, error: Exception) -> Response:
    """What is wrong with a body or a form, without what was sent: it may hold a password, or what JSON cannot say."""
    assert isinstance(error, RequestValidationError)
    detail = [{name: one[name] for name in ("type", "loc", "msg")} for one in error.errors()]
    return Response(json.dumps({"detail": detail}), status_code=422, media_type="application/json")


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _said(request, error.status_code, str(error.detail))


def _said(request: Request, code: int, sentence: str, **parts: object) -> Response:
    """The sentence, as a page for people and as JSON for scripts."""
    render: PageRenderer = request.app.state.render
    sentence = text(render.language(request), sentence, **parts)
    if not _wants_page(request):
        return JSONResponse({"error": sentence}, status_code=code)
    return render.page(request, "message.html", code=code, title=str(code), sentence=sentence)


def _wants_page(request: Request) -> bool:
    return not request.url.path.startswith("/api/") and "text/html" in request.headers.get("accept", "")
