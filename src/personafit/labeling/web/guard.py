"""What stands before every request: security headers, a limit on bodies and one on the rate of requests.

Written against ASGI directly: it costs microseconds where a middleware of functions costs a task for each request.
"""

from collections.abc import Hashable

from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from personafit.labeling.access import Access
from personafit.labeling.web.limits import Buckets, client_address
from personafit.labeling.web.sessions import RATER_COOKIE

LARGEST_BODY = 256 * 1024
RATE, BURST = (
    40.0,
    400.0,
)  # requests a second in the long run, and at once, of one seat or, without a seat, one address

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
]


class Guard:
    """The middleware."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._buckets = Buckets()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it here."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > LARGEST_BODY or b"transfer-encoding" in headers:
            await _refuse(send, 413, "That is more than one request may hold. 请求内容过长。")
            return
        if self._buckets.wait(_who(scope, headers), RATE, BURST):
            await _refuse(send, 429, "Too many requests; please wait a moment. 请求过于频繁，请稍候。")
            return
        static = scope["path"].startswith("/static/")

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                cache = b"public, max-age=3600" if static else b"no-store"
                message["headers"] = [*message.get("headers", ()), *HEADERS, (b"cache-control", cache)]
            await send(message)

        await self._app(scope, receive, guarded)


def _who(scope: Scope, headers: dict[bytes, bytes]) -> Hashable:
    """Whose bucket a request is taken from: the seat's whose signed cookie it carries, and else its address's.

    A seat cannot be made up, and a class of raters behind one address is not slowed down by each other.
    """
    cookies = headers.get(b"cookie", b"")
    if RATER_COOKIE.encode() in cookies:
        access: Access = scope["app"].state.access
        session = access.rater(cookie_parser(cookies.decode("latin-1")).get(RATER_COOKIE))
        if session is not None:
            return session.study, session.seat
    return client_address(scope.get("client"))


async def _refuse(send: Send, code: int, sentence: str) -> None:
    body = sentence.encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": code, "headers": headers + HEADERS})
    await send({"type": "http.response.body", "body": body})
