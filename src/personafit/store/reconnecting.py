"""When a database server goes away and comes back: whatever was under way is done once more.

That is safe because writing is idempotent: should the server have gone after it committed and before it said so, the same rows
are found there and left alone.
"""

import time
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0  # seconds
PATIENCE = 60.0  # seconds in all: a restart takes a few, handing over to another server somewhat more

# Of SQLSTATE: lost connections, shutting down or starting up, too many clients, and deadlocks, which end one of two writers.
_PASSING = ("08", "57P", "53300", "40")

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class HasEngine(Protocol):
    """Whatever works on a database."""

    @property
    def engine(self) -> Engine:
        """The database."""


Owner = TypeVar("Owner", bound=HasEngine)


def repeated_when_lost(
    method: Callable[Concatenate[Owner, Arguments], Result],
) -> Callable[Concatenate[Owner, Arguments], Result]:
    """Do one transaction, and again if the server went away in it; arguments must bear being gone through twice."""

    @wraps(method)
    def patient(self: Owner, /, *arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        pause, until = FIRST_PAUSE, time.monotonic() + PATIENCE
        while True:
            try:
                return method(self, *arguments, **named)
            except DBAPIError as error:
                if not is_passing(error) or time.monotonic() + pause > until:
                    raise
                self.engine.dispose()  # connections that lie ready lead to the same lost server
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    return patient


def is_passing(error: DBAPIError) -> bool:
    """Whether the same may well succeed in a moment: the server went away, is on its way back or had to choose."""
    if not isinstance(error, OperationalError | InterfaceError):
        return False
    state = getattr(error.orig, "sqlstate", "unknown")  # None when there was no server to give one
    return state is None or state.startswith(_PASSING)
