"""Episodes per second of a world: its loop alone (scripted agents, the template user and the figures), and through the store.

No model is asked, so this is what a world adds to the cost of one. All scripted agents take turns: the one that asks everything makes
the longest episodes.
"""

import asyncio
import multiprocessing
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from speed.commands import peak_memory
from speed.table import Measurement

ROUNDS = 5
EPISODES = 4_000
FEW, MANY = 10, 240  # samples of each request
BAR = 1_000.0  # episodes a second
STORED_BAR = 150.0  # episodes a second through the store
FLAT = 0.83  # of the peak memory of many episodes, what a few take


def loop(episodes: int) -> float:
    """Play and score so many episodes; the rate in episodes per second of processor time."""
    from personafit.worlds.scoring import score
    from personafit.worlds.scripted import AGENTS, play, told_to
    from personafit.worlds.sources import shipped

    world = shipped()
    for request in world.requests.values():
        _ = request.yardstick
    pairs = ((request, agent) for request in world.requests.values() for agent in AGENTS)
    begun = time.process_time()
    for number, (request, agent) in enumerate(islice(cycle(pairs), episodes)):
        episode = play(world, request, agent, number)
        score(episode, told_to(agent, request))
    return episodes / (time.process_time() - begun)


def stored() -> float:
    """Run the shipped world with its controls into a new store; the rate in episodes per second of processor time."""
    from personafit.benchmarks.config import RunConfig
    from personafit.benchmarks.world import open_world
    from personafit.engine import Silence
    from personafit.run import execute
    from personafit.store import Store

    world = open_world(None)
    with TemporaryDirectory() as folder, Store(Path(folder) / "store.db") as store:
        begun = time.process_time()
        done = asyncio.run(execute(store, RunConfig("world"), Silence(), world))
        seconds = time.process_time() - begun
    return sum(lane.finished for lane in done.summary.lanes) / seconds


def peak(samples: int) -> float:
    """Play every request so many times with a Python agent, through the store; the peak memory of the process in MB."""
    from personafit.benchmarks.config import RunConfig
    from personafit.benchmarks.world import open_world
    from personafit.engine import Silence
    from personafit.run import execute
    from personafit.store import Store

    config = RunConfig(
        "world", systems=["python:speed.worlds:searches"], system_contexts=["none"], samples=samples
    )
    with TemporaryDirectory() as folder, Store(Path(folder) / "store.db") as store:
        done = asyncio.run(execute(store, config, Silence(), open_world(None)))
    assert sum(lane.finished for lane in done.summary.lanes) > samples * 400
    return peak_memory()


def searches(request: str, tools: Any) -> str:
    """An agent that looks and does nothing."""
    tools.search(domain="meals")
    tools.search(domain="music")
    return "Done."


def measure() -> list[Measurement]:
    """Each round in a fresh process."""
    rates = []
    for number in range(1, ROUNDS + 1):
        rates.append(_alone(loop, EPISODES))
        print(f"worlds, round {number} of {ROUNDS}: {rates[-1]:,.0f} episodes/s", flush=True)
    rate, kept = median(rates), _alone(stored)
    few, many = _alone(peak, FEW), _alone(peak, MANY)
    return [
        Measurement("episodes of a world", "the bar", "episodes/s", rate, BAR, rate / BAR, 1.0),
        Measurement("episodes through the store", "the bar", "episodes/s", kept, STORED_BAR, kept / STORED_BAR, 1.0),
        Measurement("peak memory, 100,000 episodes", "8,000 episodes", "MB", many, few, few / many, FLAT),
    ]  # fmt: skip


def _alone(contestant: Callable[..., float], *arguments: int) -> float:
    """What it measures in a fresh process."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(contestant, *arguments).result()
