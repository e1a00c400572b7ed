"""The FastAPI application and its error handlers."""

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
from personafit.label.access import Access
from personafit.label.chats import NotNow
from personafit.label.places import Places
from personafit.label.studies import Studies
from personafit.label.texts import text
from personafit.label.web import answering, chat, login, rater, researcher
from personafit.label.web.guard import Guard
from personafit.label.web.sessions import NotAllowed, PageRenderer
from personafit.label.writing import Writer
from personafit.store import Store

STATIC = Path(__file__).parents[1] / "static"
UNAVAILABLE = "The server cannot read or write its store just now; please try again in a moment."


def create_app(store: str | Path, models: Sequence[str] = ()) -> FastAPI:
    """Create the labelling app for a store; chats may use these models and no others that the store names."""

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
        title="personafit label",
        version=__version__,
        lifespan=lifespan,
        openapi_url=None,  # `login` serves it, to researchers
        docs_url=None,
        redoc_url=None,
    )
    app.add_middleware(Guard)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    for module in (answering, rater, chat, login, researcher):
        app.include_router(module.router)
    app.add_exception_handler(RequestValidationError, _not_understood)
    for kind in (NotAllowed, NotNow, UserError, SQLAlchemyError, HTTPException):
        app.add_exception_handler(kind, _refused)
    return app


async def _refused(request: Request, error: Exception) -> Response:
    """Return an error as a page for people and as JSON for scripts."""
    parts: dict[str, object] = {}
    people = not request.url.path.startswith("/api/") and "text/html" in request.headers.get("accept", "")
    if isinstance(error, NotAllowed):
        if error.login and people:
            return RedirectResponse(error.login, status_code=303)
        code, sentence, parts = error.code, error.sentence, error.parts
    elif isinstance(error, HTTPException):
        code, sentence = error.status_code, str(error.detail)
    elif isinstance(error, SQLAlchemyError):
        code, sentence = 503, UNAVAILABLE
    else:
        code, sentence = 409 if isinstance(error, NotNow) else 400, str(error)
    render: PageRenderer = request.app.state.render
    language = render.language(request)
    sentence = text(language, sentence, **parts)
    if not people:
        return JSONResponse({"error": sentence}, status_code=code)
    return render.page(request, "message.html", code, language, title=str(code), sentence=sentence)


async def _not_understood(_request: Request, error: Exception) -> Response:
    """Return validation errors without the input, which may hold a password or values that JSON cannot represent."""
    assert isinstance(error, RequestValidationError)
    detail = [{name: one[name] for name in ("type", "loc", "msg")} for one in error.errors()]
    return Response(json.dumps({"detail": detail}), status_code=422, media_type="application/json")
