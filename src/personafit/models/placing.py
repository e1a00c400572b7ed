"""Where the models of this machine are held: within this process, unless a place was opened for them around the work.

A place holds models elsewhere, such as in the workers of a cluster. What is asked, and everything that goes into a
fingerprint, stays the same: a model in a place is asked through the same calls.
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
    """What goes into fingerprints; it must be the same for the worker as for whoever asks."""
    work: Callable[[Sequence[Any]], Sequence[Any]]
    """Answers a batch, one for one; an answer that is a ModelError belongs to its request alone."""


Opener = Callable[[Spec], WorkerModel]


class Batches(Protocol):
    """Where requests are handed in one by one."""

    async def submit(self, one: Any) -> Any:
        """The answer to one request."""

    async def close(self) -> None:
        """Nothing more will be asked."""


class ModelHost(Protocol):
    """Holds models in other processes, such as Ray workers."""

    @property
    def workers(self) -> int:
        """The most copies of one model it may hold."""

    def model(self, spec: Spec, model: Model) -> Model:
        """A chat model, held there."""

    def batches(self, spec: Spec, opener: Opener, settings: dict[str, Any], most: int) -> Batches:
        """Whatever else answers batches of at most so many, held there."""


_PLACE: ContextVar[ModelHost | None] = ContextVar("place", default=None)


@contextmanager
def models_in(place: ModelHost | None) -> Iterator[None]:
    """Hold all models that are made within the block in this place."""
    token = _PLACE.set(place)
    try:
        yield
    finally:
        _PLACE.reset(token)


def current_place() -> ModelHost | None:
    """The place that is open; None for this process."""
    return _PLACE.get()


def anywhere(spec: Spec) -> Spec:
    """The spec as it reads in any folder of the machine: with the whole path where it names one."""
    path = Path(spec.name).expanduser()
    return replace(spec, name=str(path.resolve())) if spec.name and path.exists() else spec
