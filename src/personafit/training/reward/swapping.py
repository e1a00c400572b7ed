"""Pairs of one answer before two people: the one it was chosen by, and another to whom it was not given.

Both sides are the same words, so length and style say nothing and only the person can. The other may like the answer too: nobody was asked.
"""

from collections.abc import Sequence

import numpy as np

from personafit._errors import UserError
from personafit.models.reward.rendering import PromptRenderer, TooLongError
from personafit.training.reward.pairs import RewardPair
from personafit.training.reward.tokens import PairTokens, TokenPair

TRIES = 20  # draws for each pair wanted; two people may be alike, or a text too long


def swapped(
    pairs: Sequence[RewardPair], ratio: float, renderer: PromptRenderer, seed: int, notes: list[str]
) -> PairTokens:
    """So many swapped pairs for each personal one, drawn from them; they are tokens alone, since nobody chose."""
    personal = [pair for pair in pairs if pair.person]
    wanted = round(ratio * len(personal))
    if not wanted:
        return PairTokens([], [])
    if len({pair.person for pair in personal}) < 2:
        raise UserError(
            "--swap puts an answer before another person, and the pairs to train on are one person's; leave it out."
        )
    answers = list({(pair.person, pair.question, pair.chosen): pair for pair in personal}.values())
    random = np.random.default_rng([seed, wanted])
    found: list[TokenPair] = []
    for _ in range(TRIES * wanted):
        own, other = (answers[place] for place in random.integers(0, len(answers), 2))
        if own.person != other.person and (pair := _pair(own, other, renderer)) is not None:
            found.append(pair)
        if len(found) == wanted:
            break
    else:
        notes.append(f"{wanted:,} swapped pairs were asked for and {len(found):,} could be made.")
    return PairTokens([], found)


def _pair(own: RewardPair, other: RewardPair, renderer: PromptRenderer) -> TokenPair | None:
    """The answer before its own person and before the other; None where both read alike or are too long."""
    try:
        chosen, rejected = (
            renderer.render(one.facets, own.question, own.chosen).tokens for one in (own, other)
        )
    except TooLongError:
        return None
    if chosen == rejected:
        return None
    return {"chosen_ids": chosen, "rejected_ids": rejected, "margin": 0.0}
