"""Where local models are loaded: in this process, unless a `ModelHost` such as a Ray cluster is in use.

Requests and fingerprints do not depend on the place: a hosted model is called like any other.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from personafit.models.chat import Model
from personafit.models.spec import Spec


@dataclass(frozen=True, slots=True)
class WorkerModel:
    """A model in a worker process."""

    settings: dict[str, Any]
    """Part of fingerprints; must be the same for the worker and its caller."""
    work: Callable[[Sequence[Any]], Sequence[Any]]
    """Answers a batch, one result per request; a result that is a ModelError concerns its request alone."""


Opener = Callable[[Spec], WorkerModel]


class Batches(Protocol):
    """Takes single requests and answers them in batches."""

    async def submit(self, one: Any) -> Any:
        """Return the answer to one request."""

    async def close(self) -> None:
        """Release it."""


class ModelHost(Protocol):
    """Holds models in other processes, such as Ray workers."""

    @property
    def workers(self) -> int:
        """The largest number of copies of one model."""

    def model(self, spec: Spec, model: Model) -> Model:
        """Return a proxy of a chat model that is loaded on the host."""

    def batches(self, spec: Spec, opener: Opener, settings: dict[str, Any], most: int) -> Batches:
        """Return a proxy of anything else that answers batches of at most `most` requests."""


_PLACE: ContextVar[ModelHost | None] = ContextVar("place", default=None)


@contextmanager
def models_in(place: ModelHost | None) -> Iterator[None]:
    """Load models made within the block on this host."""
    token = _PLACE.set(place)
    try:
        yield
    finally:
        _PLACE.reset(token)


def current_place() -> ModelHost | None:
    """Return the host in use; None for this process."""
    return _PLACE.get()


def anywhere(spec: Spec) -> Spec:
    """Return the spec with an absolute path, so that it holds in any working directory."""
    path = Path(spec.name).expanduser()
    return replace(spec, name=str(path.resolve())) if spec.name and path.exists() else spec
