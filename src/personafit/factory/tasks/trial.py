"""A few asks before all of them: a writer that is of no use, or always says the same, is found out before it is paid for."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from personafit._errors import UserError
from personafit.factory.asking import Answer, Wanted
from personafit.factory.bench import Batch, Bench

TRIAL = 12


async def ask_after_trial(
    bench: Bench, wanted: Callable[[], Iterable[Wanted]], total: int, what: str
) -> Iterator[Answer]:
    """The writer's answers; if none of the first few can be used, a sentence instead of all the others."""
    writer = bench.model("writer")
    tried = list(
        await bench.ask(
            Batch(writer, lambda: islice(iter(wanted()), TRIAL), min(TRIAL, total), f"{what}, trial")
        )
    )
    if tried and not any(answer.ok for answer in tried):
        raise UserError(
            f"{bench.step}: none of the first {len(tried)} {what} by {writer.name} could be used (such as: "
            f"{tried[0].reason.rstrip('.')}); name a stronger writer, or set templates_only = true in [tasks].",
            code=1,
        )
    return await bench.ask(Batch(writer, wanted, total, what))
