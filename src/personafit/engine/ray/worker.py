"""What runs in a worker of the cluster: it holds one model and answers batches. It knows no store."""

import asyncio
import socket
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from personafit import __version__
from personafit._errors import UserError
from personafit.models import ChatReply, ChatRequest, Model, ModelError, Spec, open_model
from personafit.models.placing import Opener, WorkerModel


class Worker:
    """The actor: one process, one model."""

    def __init__(self, opener: Opener, spec: Spec) -> None:
        self._opener, self._spec = opener, spec
        self._held: WorkerModel | None = None

    def greet(self, version: str) -> str | None:
        """See that the code is the same; returns what is wrong, or nothing."""
        if version == __version__:
            return None
        return (
            f"The worker on {socket.gethostname()} has personafit {__version__} and this is {version}: "
            "install the same on all nodes."
        )

    def open(self, settings: dict[str, Any]) -> str | None:
        """Find the model and see that it is the one that is meant; returns what is wrong, or nothing."""
        try:
            self._held = self._opener(self._spec)
        except (UserError, ModelError) as error:
            return unopened(self._spec, error)
        return otherness(self._spec, self._held.settings, settings)

    def work(self, batch: Sequence[Any]) -> list[Any] | None:
        """Answers, one for one; an error that belongs to the model is an answer too. None before the model is opened."""
        if self._held is None:
            return None
        try:
            return list(self._held.work(batch))
        except ModelError as error:
            return [error] * len(batch)


def unopened(spec: Spec, error: Exception) -> str:
    """The sentence for a model that is not to be had on this node."""
    return f"The worker on {socket.gethostname()} cannot open {spec.text}: {error}"


def otherness(spec: Spec, found: dict[str, Any], meant: dict[str, Any]) -> str | None:
    """What makes the model here another one than is meant, so that its answers would not be the same."""
    for name, value in meant.items():
        if found.get(name) != value:
            return (
                f"The worker on {socket.gethostname()} has another {spec.text} ({name} is {found.get(name)} and not {value}): put "
                "the same files on all nodes, and give the command on a node like them."
            )
    return None


def open_chat(spec: Spec) -> WorkerModel:
    """A chat model for a worker."""
    model = local_model(spec)
    loop = asyncio.new_event_loop()

    def answer(request: ChatRequest) -> ChatReply | ModelError:
        try:
            return loop.run_until_complete(model.chat(request))
        except ModelError as error:
            return error

    return WorkerModel(model.settings, lambda batch: [answer(request) for request in batch])


def local_model(spec: Spec) -> Model:
    """The model of a spec within this process; as each worker has one core, it takes one thread."""
    if spec.kind == "embedded":
        spec = replace(spec, options={"threads": "1", **spec.options})
    return open_model(spec)
