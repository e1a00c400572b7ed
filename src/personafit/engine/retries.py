"""How often and how long a failing call is tried again: with growing, jittered pauses, and an end to both."""

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Bounds on tries of one job."""

    attempts: int = 6
    seconds: float = 180.0
    first_pause: float = 0.5
    longest_pause: float = 30.0
    stop_after: int = 10
    """A lane ends when so many jobs in a row have failed for good and the endpoint is down, not the items."""

    def pause(self, attempt: int, elapsed: float, retry_after: float | None) -> float | None:
        """Seconds to wait before the next try, or None when it is time to give up."""
        if attempt >= self.attempts or elapsed >= self.seconds:
            return None
        if retry_after:  # "at once" is no advice to follow six times in a row
            # A server that asks for more patience than the policy has will not be waited for.
            return retry_after if elapsed + retry_after <= self.seconds else None
        ceiling = min(self.longest_pause, self.first_pause * 2.0 ** (attempt - 1))
        return ceiling * random.uniform(0.5, 1.0)  # nosec B311 # jitter only spreads load, it never touches a result
