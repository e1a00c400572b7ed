"""A few asks before all of them: a model that is of no use, or always says the same, is found out before it is paid for."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice

from personafit._errors import UserError
from personafit.factory.asking import Generation, Target
from personafit.factory.bench import Bench, RequestBatch

TRIAL = 12
ENOUGH_TO_TELL = 10  # asks of which not one could be used
ENOUGH_ALIKE = 6  # usable answers that are all the same


async def ask_after_trial(
    bench: Bench, batch: RequestBatch, remedy: str, differ: bool = False
) -> Iterator[Generation]:
    """The answers of a batch; where the first few show that the rest would be of no use, a sentence instead.

    `remedy` says what to do then. With `differ`, answers about different people must not all be the same.
    """
    first = replace(
        batch,
        wanted=partial(_few, batch),
        total=min(TRIAL, batch.total),
        label=f"{batch.label}, trial",
    )
    tried = list(await bench.ask(first))
    usable = [answer for answer in tried if answer.ok]
    if len(tried) >= ENOUGH_TO_TELL and not usable:
        raise UserError(
            f"{bench.step}: none of the first {len(tried)} {batch.label} by {batch.model.name} could be used (such as: "
            f"{tried[0].reason.rstrip('.')}); {remedy}.",
            code=1,
        )
    if differ and len(usable) >= ENOUGH_ALIKE and _all_the_same(usable):
        raise UserError(
            f"{bench.step}: {batch.model.name} says one and the same of everybody; {remedy}.", code=1
        )
    return await bench.ask(batch)


def _few(batch: RequestBatch) -> Iterator[Target]:
    return islice(iter(batch.wanted()), TRIAL)


def _all_the_same(answers: Sequence[Generation]) -> bool:
    """In each language by itself."""
    languages = {answer.target.language for answer in answers}
    return len({(answer.target.language, answer.text) for answer in answers}) == len(languages)
