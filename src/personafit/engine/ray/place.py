"""A cluster as the host of models: the share of it that each model gets, and chat models whose weights are in its workers."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from typing import Any

from personafit._errors import UserError
from personafit.engine.jobs import Job
from personafit.engine.ray.pipeline import pipeline
from personafit.engine.ray.pool import ActorPool, local_model, open_chat, otherness, unopened
from personafit.models import ChatReply, ChatRequest, Model, ModelError, Spec, Unusable
from personafit.models.placing import Opener, anywhere
from personafit.store import Outcome

AHEAD = 2  # requests per worker: one is answered while the next is on its way
FEW = 8  # with fewer jobs per worker, a pipeline is not worth its own processes and weights

_OPEN: dict[str, Model] = {}
"""Models of this process if it is a worker; successive jobs share them."""


class RayModel:
    """A proxy of a model in an actor pool; pickled into a worker with a job, it becomes the worker's own model."""

    def __init__(self, spec: Spec, model: Model, pool: ActorPool, place: "RayPlace") -> None:
        self._spec, self._model, self._pool, self._place = spec, model, pool, place
        self.name, self.settings, self.endpoint = model.name, model.settings, model.endpoint
        self.price = model.price
        self.max_concurrency = AHEAD * place.workers

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Answer one request in a free worker."""
        reply: ChatReply = await self._pool.submit(request)
        return reply

    async def close(self) -> None:
        await self._model.close()
        await self._pool.close()

    async def together(
        self, jobs: Sequence[tuple[Job, int]], others: Sequence["RayModel"]
    ) -> AsyncIterator[tuple[int, Outcome | ModelError]]:
        """Run jobs or chains that ask this model and others as a pipeline, each in one worker; few jobs are left to the pools."""
        if len(jobs) < FEW * self._place.workers:
            return
        for model in (self, *others):
            await model._pool.rest()  # the weights would be in memory twice
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


HELD = ("embedded", "hf")  # kinds whose weights are local; endpoints need no workers
PARTS = 10_000  # Ray divides a core into at most this many parts


class RayPlace:
    """Holds every model in one worker per GPU of the cluster, or per core if it has no GPU.

    Models of one run share each GPU or core. So no model is left without a worker when a node is lost, and when one model
    has nothing left to do, the others use the whole cluster.
    """

    def __init__(self, resources: dict[str, float]) -> None:
        self._gpus = resources.get("GPU", 0) >= 1
        self.workers = max(1, int(resources.get("GPU" if self._gpus else "CPU", 1)))
        self._pools: dict[str, ActorPool] = {}
        self._taken: dict[str, float] = {}
        """Share of each GPU or core taken by the pools that have started."""

    def model(self, spec: Spec, model: Model) -> Model:
        """Return a proxy of a chat model whose weights are in the workers; other models are returned unchanged."""
        if spec.kind not in HELD:
            return model
        return RayModel(anywhere(spec), model, self.batches(spec, open_chat, model.settings, 1), self)

    def batches(self, spec: Spec, opener: Opener, settings: dict[str, Any], most: int) -> ActorPool:
        """Return the pool of a spec, shared by all users of the same spec."""
        there = anywhere(spec)
        key = repr((there.kind, there.name, sorted(there.options.items())))
        if key not in self._pools:
            self._pools[key] = ActorPool(
                there,
                opener,
                settings,
                most,
                lambda: self._begin(key),
                lambda: self._rested(key),
                lambda: self._gone(key),
            )
        self._pools[key].join()
        return self._pools[key]

    def needs(self, part: float | None = None) -> dict[str, Any]:
        """Return the resources of one worker; by default an even share of what is free."""
        part = self._part() if part is None else part
        return {"num_gpus": part, "num_cpus": 0} if self._gpus else {"num_cpus": part}

    def _part(self) -> float:
        waiting = max(1, len(self._pools) - len(self._taken))
        # Nothing may be left for a late model. It then gets a share of 0 and crowds in, which is better than waiting for the run's end.
        return int(PARTS * max(0.0, 1.0 - sum(self._taken.values())) / waiting) / PARTS

    def _begin(self, key: str) -> list[dict[str, Any]]:
        part = self._taken[key] = self._part()
        # Spread over the nodes, so that no node has two workers of a model while another has none.
        return [{**self.needs(part), "scheduling_strategy": "SPREAD"}] * self.workers

    def _rested(self, key: str) -> None:
        self._taken.pop(key, None)

    def _gone(self, key: str) -> None:
        self._rested(key)
        self._pools.pop(key, None)
