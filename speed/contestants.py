"""Who asks the stub endpoint: a bare aiohttp loop, personafit, Inspect AI. Each keeps a record of every answer.

A contestant runs in a fresh process, so that no one pays for another's imports and garbage, warms up with a few asks,
and times itself from the first ask to the last record on disk.
"""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

CONCURRENCY = 200
WARM_UP = 200


class Rate(NamedTuple):
    """How fast a contestant was, and what it took: processor time is the same however busy the machine is."""

    per_second: float
    cpu_ms: float


class Watch:
    """Times so many asks, from the moment it is made."""

    def __init__(self, asks: int) -> None:
        self._asks = asks
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def read(self) -> Rate:
        """The rate up to now."""
        wall, cpu = time.perf_counter() - self._wall, time.process_time() - self._cpu
        return Rate(self._asks / wall, 1000 * cpu / self._asks)


def bare(url: str, asks: int) -> Rate:
    """Asks per second of 200 workers that post, read and keep: about the least a Python client can do."""
    with TemporaryDirectory() as folder:
        return asyncio.run(_bare(url, _prompts(asks), Path(folder) / "replies.jsonl"))


async def _bare(url: str, prompts: list[str], path: Path) -> Rate:
    import aiohttp
    import orjson

    replies: list[dict[str, Any]] = []

    async def worker(session: aiohttp.ClientSession, left: Iterator[tuple[int, str]]) -> None:
        for number, prompt in left:
            body = {
                "model": "stub",
                "messages": [{"role": "user", "content": prompt}],
                "max_tokens": 16,
                "temperature": 0.0,
                "logprobs": True,
                "top_logprobs": 20,
            }
            async with session.post(f"{url}/chat/completions", data=orjson.dumps(body)) as response:
                reply = orjson.loads(await response.read())
            replies.append({"ask": number, "reply": reply["choices"][0]["message"]["content"]})

    async def work(session: aiohttp.ClientSession, some: list[str]) -> None:
        left = iter(enumerate(some))
        await asyncio.gather(*(worker(session, left) for _ in range(CONCURRENCY)))
        path.write_bytes(b"\n".join(map(orjson.dumps, replies)))

    headers = {"Content-Type": "application/json"}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), headers=headers) as session:
        await work(session, prompts[:WARM_UP])
        replies.clear()
        watch = Watch(len(prompts))
        await work(session, prompts)
        rate = watch.read()
    assert len(replies) == len(prompts)
    return rate


def personafit(url: str, asks: int) -> Rate:
    """Asks per second of a run as the command line makes it: planned, asked, read, stored in SQLite."""
    with TemporaryDirectory() as folder:
        return asyncio.run(_personafit(url, asks, Path(folder)))


async def _personafit(url: str, asks: int, folder: Path) -> Rate:
    from personafit.benchmarks.config import RunConfig
    from personafit.engine import Runner, Silence
    from personafit.kinds import kind_of
    from personafit.run import plan_run, rating_lanes
    from personafit.store import Store
    from speed.asks import MadeUp

    spec = f"openai:stub@{url},concurrency={CONCURRENCY}"
    config = RunConfig("made-up", raters=[spec], contexts=["profile"])

    async def work(store: Store, count: int) -> Rate:
        benchmark = MadeUp(count // 2)  # both orders: two asks an item
        plan = plan_run(store, config, benchmark, kind_of(benchmark))
        watch = Watch(count)
        run = store.begin_run(plan.name, plan.dataset, plan.record, plan.asks)
        store.add_raters(rater.record for rater in plan.raters)
        summary = await Runner(store, run.id, Silence()).run(rating_lanes(plan))
        rate = watch.read()
        await plan.close()
        assert summary.lanes[0].finished == plan.asks == count
        return rate

    with Store(folder / "warm-up.sqlite") as store:
        await work(store, WARM_UP)
    with Store(folder / "store.sqlite") as store:
        return await work(store, asks)


def inspect(url: str, asks: int) -> Rate:
    """Asks per second of Inspect AI's `eval()`, its log written; no letter scores are asked for, to its advantage."""
    from inspect_ai import Task, eval
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import GenerateConfig, get_model

    samples = [Sample(input=prompt) for prompt in _prompts(asks)]
    model = get_model(
        "openai-api/local/stub",
        base_url=url,
        api_key="none",
        config=GenerateConfig(max_tokens=16, temperature=0.0, max_connections=CONCURRENCY),
    )

    def work(some: list[Any], folder: str) -> Rate:
        watch = Watch(len(some))
        logs = eval(
            Task(dataset=MemoryDataset(some)),
            model=model,
            max_connections=CONCURRENCY,
            display="none",
            log_dir=folder,
        )
        rate = watch.read()
        assert logs[0].status == "success", logs[0].error
        return rate

    with TemporaryDirectory() as folder:
        work(samples[:WARM_UP], folder)
        return work(samples, folder)


def _prompts(asks: int) -> list[str]:
    """The very prompts personafit sends, made beforehand: the peers are not timed on them."""
    from personafit.contexts import People, make_context
    from personafit.items import FIT, Part, Shown
    from speed.asks import MadeUp

    benchmark = MadeUp(asks // 2)
    people = People({person.id: person for person in benchmark.people()})
    context = make_context("profile", people, 0)
    texts = {product.id: product.text for product in benchmark.products()}
    return [
        FIT.messages(
            Shown(
                question=FIT,
                about=item.id,
                content=item.hash,
                person=item.person,
                prompt=item.prompt,
                parts=(Part(item.id),),
                texts=tuple(texts[product] for product in item.products),
                context=context.build(people[item.person], item),
                order=order,
            )
        )[0]["content"]
        for item in benchmark.items()
        for order in ((0, 1), (1, 0))
    ]
