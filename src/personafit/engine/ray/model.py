"""A chat model whose weights are in workers of the cluster: asked like any other."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from personafit._errors import UserError
from personafit.engine.jobs import Job
from personafit.engine.ray.pipeline import pipeline
from personafit.engine.ray.pool import ActorPool
from personafit.engine.ray.worker import local_model, otherness, unopened
from personafit.models import ChatReply, ChatRequest, Model, ModelError, Spec, Unusable
from personafit.store import Outcome

if TYPE_CHECKING:
    from personafit.engine.ray.place import RayPlace

AHEAD = 2  # requests for each worker: one is answered while the next is on its way
FEW = 8  # jobs for each worker: not worth a pipeline, which starts processes and loads weights of its own

_OPEN: dict[str, Model] = {}
"""The models of this process, where it is a worker: jobs come one after the other and mean the same one."""


class RayModel:
    """A model in an actor pool; taken along to a worker by a job, it becomes the worker's own."""

    def __init__(self, spec: Spec, model: Model, pool: ActorPool, place: "RayPlace") -> None:
        self._spec, self._model, self._pool, self._place = spec, model, pool, place
        self.name, self.settings, self.endpoint = model.name, model.settings, model.endpoint
        self.price = model.price
        self.max_concurrency = AHEAD * place.workers

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Answer one request in whichever worker is free."""
        reply: ChatReply = await self._pool.submit(request)
        return reply

    async def close(self) -> None:
        """Leave the pool."""
        await self._model.close()
        await self._pool.close()

    async def together(
        self, jobs: Sequence[tuple[Job, int]], others: Sequence["RayModel"]
    ) -> AsyncIterator[tuple[int, Outcome | ModelError]]:
        """Do jobs or chains that ask this model and others as a pipeline, each in one worker; a few are left to the pools."""
        if len(jobs) < FEW * self._place.workers:
            return
        for model in (self, *others):
            await model._pool.rest()  # so that the weights are not held twice
        async with aclosing(pipeline(jobs, self._place.workers, self._place.needs())) as outcomes:
            async for number, outcome in outcomes:
                yield number, outcome

    def __reduce__(self) -> tuple[Callable[[Spec, dict[str, Any]], Model], tuple[Spec, dict[str, Any]]]:
        return _within_a_worker, (self._spec, self.settings)


def _within_a_worker(spec: Spec, settings: dict[str, Any]) -> Model:
    key = repr(spec)
    if key not in _OPEN:
        try:
            model = local_model(spec)
        except UserError as error:
            raise Unusable(unopened(spec, error)) from error
        if (fault := otherness(spec, model.settings, settings)) is not None:
            raise Unusable(fault)
        _OPEN[key] = model
    return _OPEN[key]
