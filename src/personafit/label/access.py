"""Access control: signed invitations, session cookies, CSRF tokens and the researcher's password.

Everything is signed with a secret that is generated once and kept in the store. An invitation is valid for one study and names a seat, a
participant or neither. There is no password until somebody sets one with the token printed at the first start.
"""

import hmac
import secrets
import time
from hashlib import sha256
from typing import Any, NamedTuple

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError
from itsdangerous import BadSignature, URLSafeSerializer, URLSafeTimedSerializer
from sqlalchemy import Engine, delete, select, update

from personafit.label.planning import kept, store_secret
from personafit.store.tables import label_settings

SESSION_SECONDS = 30 * 24 * 3600
RESEARCHER_SECONDS = 12 * 3600  # of inactivity
SHORTEST_PASSWORD = 10
SESSIONS_HELD, SESSION_KNOWN_SECONDS = 10_000, 60.0  # a cookie's signature is verified again after this time


class RaterSession(NamedTuple):
    """The session of a rater in one study."""

    study: str
    seat: int
    csrf: str


class ResearcherSession(NamedTuple):
    """The session of a researcher who has logged in."""

    csrf: str
    cookie: str
    """The renewed cookie to send back, whose lifetime starts again."""


class Invitation(NamedTuple):
    """The study, and the seat or participant, that a signed link is for."""

    study: str
    seat: int | None
    participant: str | None = None
    """External id of the participant the link was made for; being signed, it cannot be forged."""


class Access:
    """Signs and verifies invitations, sessions and CSRF tokens, and stores the secrets behind them."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        with engine.begin() as connection:
            secret = store_secret(connection)
        self._secret = secret.encode()
        self._invitations = URLSafeSerializer(secret, salt="invitation")
        self._sessions = URLSafeTimedSerializer(secret, salt="session")
        self._known: dict[str | None, tuple[RaterSession, float]] = {}

    # -- secrets ---------------------------------------------------------------------------------------------------

    def _kept(self, name: str, fresh: str) -> str:
        """Return the stored value of a setting; store `fresh` first if there is none."""
        with self._engine.begin() as connection:
            return kept(connection, name, fresh)

    def _value(self, name: str) -> str | None:
        query = select(label_settings.c.value).where(label_settings.c.name == name)
        with self._engine.connect().execution_options(read_only=True) as connection:
            found = connection.execute(query).scalar()
        return None if found is None else str(found)

    def _put(self, name: str, value: str) -> None:
        mine = label_settings.c.name == name
        with self._engine.begin() as connection:
            kept(connection, name, value)
            connection.execute(update(label_settings).where(mine).values(value=value))

    def note_address(self, address: str) -> None:
        self._put("address", address)

    def address(self) -> str | None:
        return self._value("address")

    # -- the researcher --------------------------------------------------------------------------------------------

    def has_password(self) -> bool:
        return self._value("password") is not None

    def setup_token(self) -> str:
        """Return the token that lets the first visitor set the password; it is valid until used."""
        return self._kept("setup", secrets.token_urlsafe(24))

    def set_password(self, token: str, password: str) -> bool:
        """Set the password for the first time; return False if the token is wrong or a password is already set."""
        expected = self._value("setup")
        if self.has_password() or expected is None or not same(expected, token):
            return False
        hashed = PasswordHasher().hash(password)
        if self._kept("password", hashed) != hashed:
            return False
        with self._engine.begin() as connection:
            connection.execute(delete(label_settings).where(label_settings.c.name == "setup"))
        return True

    def change_password(self, password: str) -> None:
        self._put("password", PasswordHasher().hash(password))
        self.end_researchers()

    def check_password(self, password: str) -> bool:
        hashed = self._value("password")
        try:
            return hashed is not None and PasswordHasher().verify(hashed, password)
        except (Argon2Error, InvalidHashError):
            return False

    # -- invitations and sessions ----------------------------------------------------------------------------------

    def invite(self, study: str, seat: int | None, participant: str | None = None) -> str:
        """Return a token for a study: for one seat, for one participant, or for whoever takes the next free seat."""
        named = [study, seat] if participant is None else [study, None, participant]
        return str(self._invitations.dumps(named))

    def invited(self, token: str) -> Invitation | None:
        """Return the invitation that a token encodes; None if it was not signed by this store."""
        body = _loaded(self._invitations, token)
        if isinstance(body, list) and len(body) in (2, 3) and isinstance(body[0], str):
            seat = body[1] if isinstance(body[1], int) else None
            return Invitation(body[0], seat, str(body[2]) if len(body) == 3 else None)
        return None

    def open_session(self, study: str, seat: int) -> str:
        return str(self._sessions.dumps(["rater", study, seat, secrets.token_urlsafe(12)]))

    def open_researcher(self) -> str:
        return self._researcher_cookie(secrets.token_urlsafe(12), self._era())

    def end_researchers(self) -> None:
        self._put("era", secrets.token_urlsafe(12))

    def _era(self) -> str:
        """Return the id shared by all sessions opened since sessions were last ended."""
        return self._value("era") or self._kept("era", secrets.token_urlsafe(12))

    def _researcher_cookie(self, session: str, era: str) -> str:
        return str(self._sessions.dumps(["researcher", session, era]))

    def rater(self, cookie: str | None) -> RaterSession | None:
        if cookie in self._known and self._known[cookie][1] > time.monotonic():
            return self._known[cookie][0]
        body = _loaded(self._sessions, cookie, max_age=SESSION_SECONDS)
        if isinstance(body, list) and len(body) == 4 and body[0] == "rater":
            session = RaterSession(str(body[1]), int(body[2]), self._csrf(str(cookie)))
            if len(self._known) >= SESSIONS_HELD:
                self._known.clear()
            self._known[str(cookie)] = (session, time.monotonic() + SESSION_KNOWN_SECONDS)
            return session
        return None

    def researcher(self, cookie: str | None) -> ResearcherSession | None:
        """Return the session of a researcher's cookie; None if the cookie is invalid or expired."""
        body = _loaded(self._sessions, cookie, max_age=RESEARCHER_SECONDS)
        if isinstance(body, list) and len(body) == 3 and body[0] == "researcher":
            session, era = str(body[1]), str(body[2])
            if same(self._era(), era):
                return ResearcherSession(self._csrf(session), self._researcher_cookie(session, era))
        return None

    def _csrf(self, session: str) -> str:
        return hmac.new(self._secret, f"csrf:{session}".encode(), sha256).hexdigest()

    def anonymous_csrf(self, about: str) -> str:
        """Return the CSRF token of a form shown before there is a session, such as consent to an invitation."""
        return hmac.new(self._secret, f"form:{about}".encode(), sha256).hexdigest()


def same(expected: str, given: str | None) -> bool:
    """Return whether a token matches, compared in constant time."""
    return given is not None and hmac.compare_digest(expected.encode(), given.encode())


def _loaded(serializer: URLSafeSerializer | URLSafeTimedSerializer, token: str | None, **limit: Any) -> Any:
    try:
        return serializer.loads(token, **limit) if token else None
    except BadSignature:
        return None
