"""Who may do what: signed invitations, sessions in cookies, tokens against forged forms, and the researcher's password.

Everything is signed with a secret that is made once and kept in the store. An invitation is good for one study, and names a seat, a
participant or nobody. There is no password until somebody sets one with the token printed at the first start.
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
RESEARCHER_SECONDS = 12 * 3600  # without opening a page
SHORTEST_PASSWORD = 10
SESSIONS_HELD, SESSION_KNOWN_SECONDS = 10_000, 60.0  # a cookie just checked is not checked again


class RaterSession(NamedTuple):
    """A rater in a study."""

    study: str
    seat: int
    csrf: str


class ResearcherSession(NamedTuple):
    """A researcher who has given the password."""

    csrf: str
    cookie: str
    """The cookie to go on with, its time begun anew."""


class Invitation(NamedTuple):
    """What a signed link lets somebody do."""

    study: str
    seat: int | None
    participant: str | None = None
    """Who the link was made for, as they are called elsewhere: an id that nobody can make up."""


class Access:
    """Signs, checks, and keeps the secrets."""

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
        """The stored value, or this one from now on."""
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
        """Remember where the server was reached last."""
        self._put("address", address)

    def address(self) -> str | None:
        """Where the server was reached last."""
        return self._value("address")

    # -- the researcher --------------------------------------------------------------------------------------------

    def has_password(self) -> bool:
        return self._value("password") is not None

    def setup_token(self) -> str:
        """What lets the first visitor set the password; good until it is used."""
        return self._kept("setup", secrets.token_urlsafe(24))

    def set_password(self, token: str, password: str) -> bool:
        """Set the password for the first time; False when the token is wrong or a password is there."""
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
        """Set another password; all sessions end."""
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
        """A token for a study: for one seat, for one participant, or for whoever takes the next free seat."""
        named = [study, seat] if participant is None else [study, None, participant]
        return str(self._invitations.dumps(named))

    def invited(self, token: str) -> Invitation | None:
        """What a token invites to; None when it was not signed here."""
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
        """End all of the researcher's sessions, on every device."""
        self._put("era", secrets.token_urlsafe(12))

    def _era(self) -> str:
        """What all sessions since the last end of all share."""
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
        """Whether it is a researcher's cookie."""
        body = _loaded(self._sessions, cookie, max_age=RESEARCHER_SECONDS)
        if isinstance(body, list) and len(body) == 3 and body[0] == "researcher":
            session, era = str(body[1]), str(body[2])
            if same(self._era(), era):
                return ResearcherSession(self._csrf(session), self._researcher_cookie(session, era))
        return None

    def _csrf(self, session: str) -> str:
        """The token that forms of this session carry."""
        return hmac.new(self._secret, f"csrf:{session}".encode(), sha256).hexdigest()

    def anonymous_csrf(self, about: str) -> str:
        """The token of a form that is shown before there is a session, such as consent to an invitation."""
        return hmac.new(self._secret, f"form:{about}".encode(), sha256).hexdigest()


def same(expected: str, given: str | None) -> bool:
    """Whether a token is the right one."""
    return given is not None and hmac.compare_digest(expected.encode(), given.encode())


def _loaded(serializer: URLSafeSerializer | URLSafeTimedSerializer, token: str | None, **limit: Any) -> Any:
    try:
        return serializer.loads(token, **limit) if token else None
    except BadSignature:
        return None
