"""Connections to one address, shared by all models behind it: a user, an assistant and a judge on one server need one pool."""

import asyncio
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    import aiohttp

_Pools = dict[str, tuple["aiohttp.TCPConnector", int]]
_POOLS: "WeakKeyDictionary[asyncio.AbstractEventLoop, _Pools]" = WeakKeyDictionary()


def borrow_pool(url: str) -> "aiohttp.TCPConnector":
    """The pool for an address; whoever borrows it gives it back."""
    import aiohttp

    pools = _POOLS.setdefault(asyncio.get_running_loop(), {})
    pool, borrowers = pools.get(url, (None, 0))
    if pool is None:
        # The engine decides how many calls run at once; the pool must not be a second, hidden limit.
        pool = aiohttp.TCPConnector(limit=0, ttl_dns_cache=300)
    pools[url] = (pool, borrowers + 1)
    return pool


async def give_pool_back(url: str) -> None:
    """Give a pool back; the last one closes its connections."""
    pools = _POOLS.get(asyncio.get_running_loop(), {})
    if url not in pools:
        return
    pool, borrowers = pools.pop(url)
    if borrowers > 1:
        pools[url] = (pool, borrowers - 1)
    else:
        await pool.close()
