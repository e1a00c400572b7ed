"""How often somebody may ask: buckets that fill by themselves, and whom an address stands for."""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network
from math import inf
from typing import Any

HELD = 10_000
IPV6_PREFIX = 64  # what one subscriber is given; all addresses in it are one


class Buckets:
    """A bucket for each name that is full at first; every admission takes one out."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buckets: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def wait(self, name: Hashable, rate: float, burst: float) -> float:
        """Admit whoever it is and return 0, or return the seconds until they will be; a bucket holds `burst` and gets `rate` a second."""
        now = self._clock()
        tokens, last = self._buckets.pop(name, (burst, now))
        tokens = min(burst, tokens + (now - last) * rate)
        admitted = tokens >= 1
        self._buckets[name] = (tokens - 1 if admitted else tokens, now)
        if len(self._buckets) > HELD:
            self._buckets.popitem(last=False)
        if admitted:
            return 0.0
        return (1 - tokens) / rate if rate else inf


def client_address(client: Any) -> str:
    """Whom a connection counts for: its IPv4 address, or the network of its IPv6 address; empty where there is none."""
    return _counted(str(client[0])) if client else ""


@lru_cache(HELD)
def _counted(host: str) -> str:
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if not isinstance(address, IPv6Address):
        return host
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ip_network((address, IPV6_PREFIX), strict=False))
