"""Money is not spent in vain: a few asks are tried before all of them, and what was rejected is replaced until it cannot be.

A model that is of no use, or always says the same, is found out by a trial. A quota is filled in rounds, each of as many candidates
as are missing, more where few were kept before; several rounds without anything kept end the step with a sentence.
"""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from personafit._errors import UserError
from personafit.build.asking import Generation
from personafit.build.bench import Bench, RequestBatch

PATIENCE = 3  # rounds in a row without anything kept
DEAREST = 30  # candidates tried for each one wanted, at the most
SPARE = 1.1  # a little more than the missing, so that the last rounds are not of one candidate each


class Quota:
    """Counts towards a number of things of one kind."""

    def __init__(self, what: str, wanted: int) -> None:
        self.what, self.wanted = what, wanted
        self.kept = self.tried = 0
        self.reasons: Counter[str] = Counter()
        self._kept_before = self._rounds_without = 0

    @property
    def full(self) -> bool:
        """Whether there are enough."""
        return self.kept >= self.wanted

    def keep(self) -> None:
        """One more is there."""
        self.kept += 1

    def reject(self, reason: str) -> None:
        """One could not be kept."""
        self.reasons[reason] += 1

    def most_often(self) -> str:
        """The reason most were rejected for; empty where none was."""
        return next((reason for reason, _ in self.reasons.most_common(1)), "")

    def round(self) -> range:
        """The numbers of the candidates to try next, none of them tried before; empty when the quota is full."""
        if self.full:
            return range(0)
        if self.tried:
            self._rounds_without = 0 if self.kept > self._kept_before else self._rounds_without + 1
        self._kept_before = self.kept
        if self._rounds_without >= PATIENCE:
            raise UserError(self._sentence(f"{PATIENCE} rounds in a row gave nothing new"), code=1)
        if self.tried >= DEAREST * max(self.wanted, 10):
            raise UserError(self._sentence(f"{self.tried:,} were tried"), code=1)
        missing = self.wanted - self.kept
        share = max(self.kept / self.tried, 0.1) if self.tried else 1.0
        size = missing if not self.tried else min(math.ceil(SPARE * missing / share), 10 * missing)
        start, self.tried = self.tried, self.tried + size
        return range(start, start + size)

    def _sentence(self, why: str) -> str:
        because = f" (most often: {self.most_often()})" if self.reasons else ""
        return (
            f"{self.what}: {self.kept:,} of {self.wanted:,} could be made, then {why}{because}; what was made is kept, "
            "and a stronger model, another seed or a smaller quota in the config goes on from there."
        )


TRIAL = 12
ENOUGH_TO_TELL = 10  # asks of which not one could be used
ENOUGH_ALIKE = 6  # usable answers that are all the same


REMEDY = 'name a stronger model in [models], or "template" in its place'


async def ask_after_trial(bench: Bench, batch: RequestBatch, differ: bool = False) -> Iterator[Generation]:
    """The answers of a batch; where the first few show that the rest would be of no use, a sentence instead.

    With `differ`, answers about different people must not all be the same.
    """
    if batch.model is None:
        return await bench.ask(batch)
    few, label = min(TRIAL, batch.total), f"{batch.label}, trial"
    first = replace(batch, wanted=lambda: islice(batch.wanted(), TRIAL), total=few, label=label)
    tried = list(await bench.ask(first))
    usable = [answer for answer in tried if answer.ok]
    if len(tried) >= ENOUGH_TO_TELL and not usable:
        raise UserError(
            f"{bench.step}: none of the first {len(tried)} {batch.label} by {batch.model.name} could be used (such as: "
            f"{tried[0].reason.rstrip('.')}); {REMEDY}.",
            code=1,
        )
    languages = {answer.target.language for answer in usable}
    texts = {(answer.target.language, answer.text) for answer in usable}
    if differ and len(usable) >= ENOUGH_ALIKE and len(texts) == len(languages):
        raise UserError(
            f"{bench.step}: {batch.model.name} says one and the same of everybody; {REMEDY}.", code=1
        )
    return await bench.ask(batch)
