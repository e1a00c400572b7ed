"""Pairs as model tokens, with notes on every pair that is left out or shortened.

Swapped pairs are one answer for two people: the one it was chosen by, and another who did not get it. Both sides have the same answer, so
only the person can tell them apart, not length or style. The other person might like the answer too: nobody was asked.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict

import numpy as np

from personafit._errors import UserError
from personafit.models.reward.rendering import PromptRenderer, TooLongError
from personafit.train.pairs import PreferencePair

TRIES = 20  # draws per wanted pair, as two people may render alike or a text be too long
SIDES: tuple[Literal["chosen_ids"], Literal["rejected_ids"]] = ("chosen_ids", "rejected_ids")


class TokenPair(TypedDict):
    """One pair as the trainer reads it."""

    chosen_ids: list[int]
    rejected_ids: list[int]
    margin: float


@dataclass(frozen=True)
class PairTokens:
    """The pairs that can be trained on, with their tokens."""

    pairs: list[PreferencePair]
    tokens: list[TokenPair]

    @property
    def longest(self) -> int:
        """Number of tokens of the longest text."""
        return max((len(pair[side]) for pair in self.tokens for side in SIDES), default=0)

    @property
    def highest(self) -> int:
        """The highest token id."""
        return max((max(pair[side]) for pair in self.tokens for side in SIDES), default=0)

    def largest(self, share: bool) -> int:
        """Return the number of tokens the largest pair takes in a row; `share` counts its common beginning once."""
        return max((_size(pair, share) for pair in self.tokens), default=0)


def tokenise(
    pairs: Sequence[PreferencePair], renderer: PromptRenderer, notes: list[str], kind: str = "pairs"
) -> PairTokens:
    """Render every pair, both answers with the same facets; pairs left out or shortened are added to `notes`."""
    found = PairTokens([], [])
    long: list[PreferencePair] = []
    same: list[PreferencePair] = []
    shortened: list[tuple[PreferencePair, int]] = []
    for pair in pairs:
        try:
            chosen, rejected = renderer.render_together(
                pair.facets, pair.question, [pair.chosen, pair.rejected]
            )
        except TooLongError:
            long.append(pair)
            continue
        except ValueError as error:  # two beginning-of-sequence tokens, which every pair would have
            raise UserError(f"{pair.place}: {error}.") from error
        if chosen.tokens == rejected.tokens:
            same.append(pair)
            continue
        if chosen.dropped:
            shortened.append((pair, chosen.dropped))
        found.pairs.append(pair)
        found.tokens.append(
            {"chosen_ids": chosen.tokens, "rejected_ids": rejected.tokens, "margin": pair.margin}
        )
    most = f"{renderer.max_tokens:,} tokens"
    for left, why in (
        (long, f"question and answer alone are longer than {most}"),
        (same, "to this tokenizer both answers are the same"),
    ):
        if left:
            notes.append(f"{len(left):,} {kind} are left out, the first at {left[0].place}: {why}.")
    if shortened:
        facets = sum(count for _, count in shortened)
        emptied = [pair for pair, dropped in shortened if dropped == len(pair.facets)]
        note = (
            f"{len(shortened):,} {kind} were too long for {most}: {facets:,} facets of the person were left out of them, the last "
            f"ones first (the first such pair: {shortened[0][0].place}); no answer was shortened."
        )
        if emptied:
            note += (
                f" Nothing of the person is left in {len(emptied):,} of them, the first at {emptied[0].place}: a person in "
                "words is one facet, so allow more with --max-length, or give fields."
            )
        notes.append(note)
    return found


def swapped(
    pairs: Sequence[PreferencePair], ratio: float, renderer: PromptRenderer, seed: int, notes: list[str]
) -> PairTokens:
    """Return swapped pairs in the given ratio to the personal ones; they are tokens only, since nobody chose."""
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


def _pair(own: PreferencePair, other: PreferencePair, renderer: PromptRenderer) -> TokenPair | None:
    """Return the answer for its own person and for the other; None if both render alike or are too long."""
    try:
        chosen, rejected = (
            renderer.render(one.facets, own.question, own.chosen).tokens for one in (own, other)
        )
    except TooLongError:
        return None
    if chosen == rejected:
        return None
    return {"chosen_ids": chosen, "rejected_ids": rejected, "margin": 0.0}


def _size(pair: TokenPair, share: bool) -> int:
    chosen, rejected = pair["chosen_ids"], pair["rejected_ids"]
    shorter = min(len(chosen), len(rejected))
    differ = (place for place in range(shorter) if chosen[place] != rejected[place])
    return len(chosen) + len(rejected) - (next(differ, shorter) if share else 0)
