"""Pairs as the tokens a model reads, and a sentence for every pair that cannot be used or loses something."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict

from personafit._errors import UserError
from personafit.models.reward.rendering import PromptRenderer, TooLongError
from personafit.training.reward.pairs import RewardPair

SIDES: tuple[Literal["chosen_ids"], Literal["rejected_ids"]] = ("chosen_ids", "rejected_ids")


class TokenPair(TypedDict):
    """What one pair is to the trainer."""

    chosen_ids: list[int]
    rejected_ids: list[int]
    margin: float


@dataclass(frozen=True)
class PairTokens:
    """The pairs that can be trained on, and their tokens."""

    pairs: list[RewardPair]
    tokens: list[TokenPair]

    @property
    def longest(self) -> int:
        """How many tokens the longest text has."""
        return max((len(pair[side]) for pair in self.tokens for side in SIDES), default=0)

    @property
    def highest(self) -> int:
        """The highest number of a token."""
        return max((max(pair[side]) for pair in self.tokens for side in SIDES), default=0)

    def largest(self, share: bool) -> int:
        """How many tokens the largest pair takes up in a row."""
        return max((_size(pair, share) for pair in self.tokens), default=0)


def tokenise(
    pairs: Sequence[RewardPair], renderer: PromptRenderer, notes: list[str], kind: str = "pairs"
) -> PairTokens:
    """Render every pair, both answers with the same facets; what is left out or shortened is said in `notes`."""
    kept: list[RewardPair] = []
    tokens: list[TokenPair] = []
    long: list[RewardPair] = []
    same: list[RewardPair] = []
    shortened: list[tuple[RewardPair, int]] = []
    for pair in pairs:
        try:
            chosen, rejected = renderer.render_together(
                pair.facets, pair.question, [pair.chosen, pair.rejected]
            )
        except TooLongError:
            long.append(pair)
            continue
        except ValueError as error:  # two beginnings of sequence: every pair would have them
            raise UserError(f"{pair.place}: {error}.") from error
        if chosen.tokens == rejected.tokens:
            same.append(pair)
            continue
        if chosen.dropped:
            shortened.append((pair, chosen.dropped))
        kept.append(pair)
        tokens.append({"chosen_ids": chosen.tokens, "rejected_ids": rejected.tokens, "margin": pair.margin})
    if long:
        notes.append(
            f"{len(long):,} {kind} are left out, the first at {long[0].place}: question and answer alone are longer than "
            f"{renderer.max_tokens:,} tokens."
        )
    if same:
        notes.append(
            f"{len(same):,} {kind} are left out, the first at {same[0].place}: to this tokenizer both answers are the same."
        )
    if shortened:
        facets = sum(count for _, count in shortened)
        notes.append(
            f"{len(shortened):,} {kind}, the first at {shortened[0][0].place}, lost {facets:,} facets of the person, the last "
            f"ones first, to fit {renderer.max_tokens:,} tokens; no answer was shortened.{_nothing_left(shortened)}"
        )
    return PairTokens(kept, tokens)


def _nothing_left(shortened: Sequence[tuple[RewardPair, int]]) -> str:
    emptied = [pair for pair, dropped in shortened if dropped == len(pair.facets)]
    if not emptied:
        return ""
    return (
        f" Nothing of the person is left in {len(emptied):,} of them, the first at {emptied[0].place}: a person in words is "
        "one facet, so allow more with --max-length, or give fields."
    )


def _size(pair: TokenPair, share: bool) -> int:
    chosen, rejected = pair["chosen_ids"], pair["rejected_ids"]
    if not share:
        return len(chosen) + len(rejected)
    common = next((n for n, (a, b) in enumerate(zip(chosen, rejected, strict=False)) if a != b), None)
    return len(chosen) + len(rejected) - (min(len(chosen), len(rejected)) if common is None else common)
