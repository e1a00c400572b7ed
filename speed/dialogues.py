"""Calls per second of a run of dialogues against a stub endpoint: beside a bare aiohttp client, and beside one at a time.

500 dialogues of ten exchanges at once, 50 ms a call, user, assistant and judge at one endpoint. The bare client holds the same
number of dialogues of the same length with the same words and writes what was said; ours also plans, hashes, reads signals,
and stores every turn as it happens. `one at a time` is how the published code works: a call after the other.
"""

import asyncio
import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import orjson

from speed.commands import peak_memory
from speed.contestants import Rate, Watch
from speed.stub import Stub, stub_endpoint
from speed.table import Measurement, paired

ROUNDS = 5
AT_ONCE = 500
DIALOGUES = 1_000
FEW = 4  # dialogues held one at a time: a rate needs no more
EXCHANGES = 10
BAR = 0.6
FLAT_KB = 64.0  # a finished dialogue may leave so much behind: queues and caches that have not filled up yet
_SPOKEN = b'"role":"assistant"'


class Talked(NamedTuple):
    """How fast the dialogues went, and how large the process became."""

    rate: Rate
    calls: int
    peak_mb: float


def _http(content: str) -> bytes:
    message = {"role": "assistant", "content": content}
    usage = {"prompt_tokens": 500, "completion_tokens": 40}
    body = orjson.dumps(
        {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage}
    )
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


SAYS = "Something in the middle would suit me best, and not too late in the evening if that can be arranged."
DOES = "I have found three places that would fit. The first is close by, quiet, and has a table at seven. Shall I book it?"
GOES_ON, DONE, ANSWER = _http(f"{SAYS}\n[CONTINUE]"), _http("Thank you.\n[SATISFIED]"), _http(DOES)
MARKS = _http(orjson.dumps({"complete": True, "score": 3, "scores": [3] * EXCHANGES}).decode())


class Talk(Stub):
    """Plays whichever role the request names."""

    def reply(self, request: bytes) -> bytes:
        """What is answered."""
        if b'"model":"judge"' in request:
            return MARKS
        if b'"model":"assistant"' in request:
            return ANSWER
        return GOES_ON if request.count(_SPOKEN) < EXCHANGES else DONE


def bare(url: str, dialogues: int) -> Talked:
    """So many dialogues, 500 at once, by the least a Python client can do."""
    return asyncio.run(_bare(url, dialogues, AT_ONCE))


def one_at_a_time(url: str, dialogues: int) -> Talked:
    """So many dialogues, a call after the other."""
    return asyncio.run(_bare(url, dialogues, 1))


async def _bare(url: str, dialogues: int, at_once: int) -> Talked:
    import aiohttp

    from personafit.items.dialogue import DIALOGUE_QUESTIONS

    system = {"role": "system", "content": "You take part in a conversation. " * 40}  # as long as ours
    said: list[bytes] = []

    async def call(session: aiohttp.ClientSession, model: str, messages: list[dict[str, str]]) -> str:
        body = {"model": model, "messages": messages, "max_tokens": 800, "temperature": 0.0}
        async with session.post(f"{url}/chat/completions", data=orjson.dumps(body)) as response:
            text: str = orjson.loads(await response.read())["choices"][0]["message"]["content"]
        said.append(orjson.dumps([model, text]))
        return text

    async def talk(session: aiohttp.ClientSession, left: Iterator[int]) -> None:
        for _ in left:
            user, assistant = [system, {"role": "user", "content": "Begin."}], [system]
            for _exchange in range(EXCHANGES):
                words = await call(session, "user", user)
                user.append({"role": "assistant", "content": words})
                assistant.append({"role": "user", "content": words})
                words = await call(session, "assistant", assistant)
                user.append({"role": "user", "content": words})
                assistant.append({"role": "assistant", "content": words})
            await call(session, "user", user)
            for _question in DIALOGUE_QUESTIONS:
                await call(session, "judge", [{"role": "user", "content": str(assistant)}])

    headers = {"Content-Type": "application/json"}
    calls = dialogues * _calls(len(DIALOGUE_QUESTIONS))
    with TemporaryDirectory() as folder:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), headers=headers) as session:
            watch = Watch(calls)
            left = iter(range(dialogues))
            await asyncio.gather(*(talk(session, left) for _ in range(at_once)))
            (Path(folder) / "said.jsonl").write_bytes(b"\n".join(said))
            rate = watch.read()
    assert len(said) == calls
    return Talked(rate, calls, peak_memory())


def personafit(url: str, dialogues: int) -> Talked:
    """The same number of dialogues as the command line holds, judges and stores them."""
    with TemporaryDirectory() as folder:
        return asyncio.run(_personafit(url, dialogues, Path(folder)))


async def _personafit(url: str, dialogues: int, folder: Path) -> Talked:
    import aiohttp  # noqa: F401 # loaded at the first call; imports are not counted for any contestant

    from personafit.benchmarks.config import RunConfig
    from personafit.engine import Silence
    from personafit.items.dialogue import DIALOGUE_QUESTIONS
    from personafit.run import execute
    from personafit.store import Store

    _write_people(folder, dialogues)
    options = f",concurrency={AT_ONCE}"
    system, user, judge = (f"openai:{role}@{url}{options}" for role in ("assistant", "user", "judge"))
    config = RunConfig(
        "personalens", data=folder, systems=[system], user=user, raters=[judge], system_contexts=["D+I+S"]
    )
    calls = dialogues * _calls(len(DIALOGUE_QUESTIONS))
    with Store(folder / "store.sqlite") as store:
        watch = Watch(calls)
        finished = await execute(store, config, Silence())
        rate = watch.read()
    assert [lane.finished for lane in finished.summary.lanes] == [
        dialogues,
        dialogues * len(DIALOGUE_QUESTIONS),
    ]
    return Talked(rate, calls, peak_memory())


def _write_people(folder: Path, count: int) -> None:
    summary = "They asked for something quiet. They came back twice. They would rather not wait. " * 8
    person: dict[str, Any] = {
        "language": "en",
        "facets": {"Demographics.Age": 40, "Meals.Dish": ["soup", "stew"], "Meals.Time": "seven"},
        "summaries": {"Meals": summary},
    }
    task: dict[str, Any] = {
        "id": "SD-Meals-1",
        "domains": ["Meals"],
        "description": "A table.",
        "intent": "Book a table for two.",
        "goal": "A table is booked that suits them.",
        "preferences": ["Meals.Dish"],
        "situation": {"Location": "Home", "Time of Day": "Evening"},
    }
    people = [orjson.dumps({**person, "id": f"p{n}"}) for n in range(count)]
    tasks = [orjson.dumps({**task, "person": f"p{n}"}) for n in range(count)]
    (folder / "people.jsonl").write_bytes(b"\n".join(people))
    (folder / "tasks.jsonl").write_bytes(b"\n".join(tasks))


def measure() -> list[Measurement]:
    """Take turns, round by round."""
    ours: list[Talked] = []
    theirs: list[Talked] = []
    with stub_endpoint(Talk) as url:
        for number in range(1, ROUNDS + 1):
            turns: list[tuple[Callable[[str, int], Talked], list[Talked]]] = [
                (bare, theirs),
                (personafit, ours),
            ]
            for contestant, results in turns if number % 2 else turns[::-1]:
                results.append(_alone(contestant, url, DIALOGUES))
            print(
                f"dialogues, round {number} of {ROUNDS}: bare aiohttp {theirs[-1].rate.per_second:,.0f}, "
                f"ours {ours[-1].rate.per_second:,.0f} calls/s",
                flush=True,
            )
        single = _alone(one_at_a_time, url, FEW)
        small, large = _alone(personafit, url, DIALOGUES // 2), _alone(personafit, url, 4 * DIALOGUES)
    growth = 1000 * (large.peak_mb - small.peak_mb) / (4 * DIALOGUES - DIALOGUES // 2)
    cpu = [median(talked.rate.cpu_ms for talked in side) for side in (ours, theirs)]
    print(f"dialogues: processor time per call {cpu[0]:.2f} ms, bare aiohttp {cpu[1]:.2f} ms")
    print(
        f"dialogues: peak memory {small.peak_mb:,.0f} MB at {DIALOGUES // 2:,} and {large.peak_mb:,.0f} MB at "
        f"{4 * DIALOGUES:,} dialogues, {growth:.0f} kB for each"
    )
    rates = [[talked.rate.per_second for talked in side] for side in (ours, theirs)]
    middle = median(rates[0])
    alone = single.rate.per_second
    return [
        paired("dialogues at an endpoint", "bare aiohttp", "calls/s", rates[0], rates[1], BAR),
        Measurement("dialogues at an endpoint", "one at a time", "calls/s", middle, alone, middle / alone),
        Measurement("memory of a finished dialogue", f"{FLAT_KB:g} kB", "kB", growth, FLAT_KB, FLAT_KB / max(growth, 0.1), 1.0),
    ]  # fmt: skip


def _calls(questions: int) -> int:
    """Calls of one dialogue: ten exchanges, the user's last word, and the judge's questions."""
    return 2 * EXCHANGES + 1 + questions


def _alone(contestant: Callable[[str, int], Talked], url: str, dialogues: int) -> Talked:
    """The contestant's figures, measured in a fresh process."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(contestant, url, dialogues).result()
