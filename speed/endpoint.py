"""Asks per second of a run against a stub endpoint: beside a bare aiohttp loop and beside Inspect AI.

50 ms latency, 1,600-token prompts, 200 asks at once, a record kept of every answer. Process start, imports and the
making of the texts are not counted for anyone; planning, prompts, hashing, reading and storing are counted for us.
"""

import importlib.util
import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from statistics import median

from speed import contestants
from speed.contestants import Rate
from speed.stub import stub_endpoint
from speed.table import Measurement, paired

ROUNDS = 9
ASKS = 10_000
INSPECT_ROUNDS, INSPECT_ASKS = 3, 800  # a rate needs no more, and it takes its time
BARE_BAR, INSPECT_BAR = 0.6, 3.0


def measure() -> list[Measurement]:
    """Take turns, round by round."""
    with_inspect = all(importlib.util.find_spec(name) for name in ("inspect_ai", "openai"))
    bare: list[Rate] = []
    ours: list[Rate] = []
    inspect: list[Rate] = []
    with stub_endpoint() as url:
        for number in range(1, ROUNDS + 1):
            turns = [(contestants.bare, bare), (contestants.personafit, ours)]
            for contestant, rates in turns if number % 2 else turns[::-1]:
                rates.append(_alone(contestant, url, ASKS))
            said = f"bare aiohttp {bare[-1].per_second:,.0f}, ours {ours[-1].per_second:,.0f}"
            if with_inspect and number <= INSPECT_ROUNDS:
                inspect.append(_alone(contestants.inspect, url, INSPECT_ASKS))
                said += f", Inspect {inspect[-1].per_second:,.0f}"
            print(f"endpoint, round {number} of {ROUNDS}: {said} asks/s", flush=True)
    measured = [_race("bare aiohttp", ours, bare, BARE_BAR)]
    if with_inspect:
        measured.append(_race("Inspect AI eval()", ours[:INSPECT_ROUNDS], inspect, INSPECT_BAR))
    else:
        print("endpoint: Inspect AI is left out; pip install inspect-ai openai")
    return measured


def _race(peer_name: str, ours: list[Rate], peer: list[Rate], bar: float) -> Measurement:
    cost, theirs = median(rate.cpu_ms for rate in ours), median(rate.cpu_ms for rate in peer)
    print(f"endpoint: processor time per ask {cost:.2f} ms, {peer_name} {theirs:.2f} ms")
    rates = [[rate.per_second for rate in side] for side in (ours, peer)]
    return paired("asks to an endpoint", peer_name, "asks/s", rates[0], rates[1], bar)


def _alone(contestant: Callable[[str, int], Rate], url: str, asks: int) -> Rate:
    """The contestant's rate, measured in a fresh process."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(contestant, url, asks).result()
