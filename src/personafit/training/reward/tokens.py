"""Pairs as the tokens a model reads, and a sentence for every pair that cannot be used or loses something."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

from personafit._errors import UserError
from personafit.models.reward.rendering import Renderer, TooLongError
from personafit.training.reward.pairs import Pair


class TokenPair(TypedDict):
    """What one pair is to the trainer."""

    chosen_ids: list[int]
    rejected_ids: list[int]
    margin: float


@dataclass(frozen=True)
class Tokenised:
    """The pairs that can be used, and their tokens."""

    pairs: list[Pair]
    tokens: list[TokenPair]

    def largest(self, share: bool) -> int:
        """How many tokens the largest pair takes up in a row."""
        return max((_size(pair, share) for pair in self.tokens), default=0)


def tokenise(pairs: Sequence[Pair], renderer: Renderer, notes: list[str]) -> Tokenised:
    """Render every pair, both answers with the same facets; what is left out or shortened is said in `notes`."""
    kept: list[Pair] = []
    tokens: list[TokenPair] = []
    long: list[Pair] = []
    same: list[Pair] = []
    shortened: list[tuple[Pair, int]] = []
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
            f"{len(long):,} pairs are left out, the first at {long[0].place}: question and answer alone are longer than "
            f"{renderer.max_tokens:,} tokens."
        )
    if same:
        notes.append(
            f"{len(same):,} pairs are left out, the first at {same[0].place}: to this tokenizer both answers are the same."
        )
    if shortened:
        facets = sum(count for _, count in shortened)
        notes.append(
            f"{len(shortened):,} pairs, the first at {shortened[0][0].place}, lost {facets:,} facets of the person, the last "
            f"ones first, to fit {renderer.max_tokens:,} tokens; no answer was shortened."
        )
    return Tokenised(kept, tokens)


def _size(pair: TokenPair, share: bool) -> int:
    chosen, rejected = pair["chosen_ids"], pair["rejected_ids"]
    if not share:
        return len(chosen) + len(rejected)
    common = next((n for n, (a, b) in enumerate(zip(chosen, rejected, strict=False)) if a != b), None)
    return len(chosen) + len(rejected) - (min(len(chosen), len(rejected)) if common is None else common)
