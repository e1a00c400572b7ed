"""What calls cost, noted as they are made: an ask that breaks off after a paid call has cost it all the same."""

from contextvars import ContextVar

_PAID: ContextVar[list[float] | None] = ContextVar("paid", default=None)


def note_calls() -> list[float]:
    """From now on, what each call of this task costs in USD goes into the list."""
    paid: list[float] = []
    _PAID.set(paid)
    return paid


def paid_for(cost: float) -> float:
    """Note what a call cost."""
    paid = _PAID.get()
    if paid is not None and cost:
        paid.append(cost)
    return cost
