"""Pairs to train on: who asks, what is asked, the answer that was chosen and the one that was not; who is held out, and in which order.

They come from a benchmark folder, from PersonaFeedback as published, or from a JSON-lines file in TRL's layout with a
`person` beside each pair. General pairs, which are nobody's, come from a file in HelpSteer2's layout.

People are held out whole, and a batch holds whole people as far as they fit. What a person's pairs share is computed once where they stand
in one row, so the pairs of a person stay together. Every batch is full, since the number of pairs in a step is part of a recipe; a person
is split only when nobody left fits.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from personafit._errors import UserError, json_kind, located
from personafit._hashing import content_hash, hash_text
from personafit.benchmarks import Benchmark
from personafit.benchmarks.lines import read_lines
from personafit.benchmarks.rewardbench import GAP, rated_pairs
from personafit.factory.pairs.step import NOT_PERSONAL
from personafit.people import FacetValue, flatten
from personafit.training.pairwise import PreferencePair
from personafit.training.pairwise_quality import load_choices, open_choices
from personafit.training.reward.settings import RECIPES, RewardSettings


@dataclass(frozen=True)
class RewardPair:
    """Two answers of which one was chosen; a pair without a person is a general one."""

    person: str
    facets: Mapping[str, FacetValue]
    question: str
    chosen: str
    rejected: str
    tier: str = ""
    margin: float = 0.0
    """By how much the chosen answer should score higher, where ratings tell."""
    place: str = ""
    """Where it stands, for people."""

    @property
    def owner(self) -> str:
        """Whose pair it is; a general pair belongs to its question."""
        return self.person or f"?{hash_text(self.question)}"

    def choice(self) -> PreferencePair:
        """The pair in the shape that reports on quality take."""
        return PreferencePair(self.owner, self.facets, self.question, self.chosen, self.rejected, self.tier)


def read_pairs(path: Path) -> list[RewardPair]:
    """The pairs of a benchmark folder, of PersonaFeedback's published layout, of the starter set or of a JSON-lines file."""
    if path.is_file():
        return [_from_trl(row, path, number) for number, row in read_lines(path)]
    if not path.is_dir() and str(path) != "starter":
        raise UserError(f"{path} is neither a folder nor a file; --data takes pairs.")
    return pairs_of(open_choices(path), f"{path}, ")


def pairs_of(benchmark: Benchmark, where: str = "") -> list[RewardPair]:
    """The decided pairs of a benchmark."""
    return [
        RewardPair(
            c.person, c.facets, c.question, c.chosen, c.rejected, c.tier, place=f"{where}pair {number}"
        )
        for number, c in enumerate(load_choices(benchmark), 1)
    ]


def read_helpsteer(path: Path) -> list[RewardPair]:
    """General pairs from rated answers in HelpSteer2's layout."""
    pairs = [
        RewardPair("", {}, one.prompt, one.better, one.worse, NOT_PERSONAL, place=located(path, one.line))
        for one in rated_pairs(path)
    ]
    if not pairs:
        raise UserError(
            f"{path} holds no two answers to one prompt that are {GAP} points of helpfulness apart."
        )
    return pairs


def without_ties(pairs: Sequence[RewardPair], notes: list[str]) -> list[RewardPair]:
    """The pairs whose answers differ; what is left out is said."""
    same = [pair for pair in pairs if pair.chosen == pair.rejected]
    if same:
        notes.append(
            f"Left out because both answers are one text: {len(same):,}, the first at {same[0].place}."
        )
    return [pair for pair in pairs if pair.chosen != pair.rejected]


def fingerprint(pairs: Iterable[RewardPair]) -> str:
    """Hash of what is trained on."""
    return content_hash(
        [[p.person, dict(p.facets), p.question, p.chosen, p.rejected, p.tier, p.margin] for p in pairs]
    )


def _from_trl(row: dict[str, Any], path: Path, number: int) -> RewardPair:
    # Rows that the factory mixed in are nobody's, and say so.
    general = row.get("tier") == NOT_PERSONAL and not row.get("person")
    facets = {} if general else _facets(row.get("person"), path, number)
    person = "" if general else row.get("person_id") or content_hash(facets)[:12]
    prompt, chosen, rejected = (row.get(name) for name in ("prompt", "chosen", "rejected"))
    if prompt is None and isinstance(chosen, list) and isinstance(rejected, list):  # the prompt is in both
        prompt, chosen, rejected = chosen[:-1], chosen[-1:], rejected[-1:]
    margin = 0.0 if row.get("margin") is None else row["margin"]
    if isinstance(margin, bool) or not isinstance(margin, int | float) or not abs(margin) < float("inf"):
        raise UserError(f"{located(path, number, 'margin')} must be a number, not {margin!r:.40}.")
    return RewardPair(
        str(person),
        facets,
        _text(prompt, path, number, "prompt"),
        _text(chosen, path, number, "chosen"),
        _text(rejected, path, number, "rejected"),
        str(row.get("tier") or ""),
        float(margin),
        located(path, number),
    )


def _facets(person: Any, path: Path, number: int) -> dict[str, FacetValue]:
    place = located(path, number, "person")
    if isinstance(person, str) and person.strip():
        return {"About": person.strip()}
    if isinstance(person, Mapping) and (facets := flatten(person)):
        return facets
    if person is None or not person or isinstance(person, str | Mapping):
        wrong = "is missing" if not person else "says nothing"
        raise UserError(
            f"{place} {wrong}: a pair needs who asks, as a text or as fields; general pairs go to --mix."
        )
    raise UserError(f"{place} must be a text or an object with fields, not {json_kind(person)}.")


def _text(value: Any, path: Path, number: int, field: str) -> str:
    """A text, or the text of the one message that counts; what stands in for the person is told by `person`."""
    place = located(path, number, field)
    if isinstance(value, list):
        turns = [turn for turn in value if isinstance(turn, dict) and turn.get("role") != "system"]
        if len(turns) != 1:
            raise UserError(f"{place} has {len(turns)} messages; one question and one answer make a pair.")
        value = turns[0].get("content")
    if value is None:
        raise UserError(f"{place} is missing.")
    if not isinstance(value, str) or not value.strip():
        raise UserError(f"{place} must be a text that is not empty, not {value!r:.40}.")
    return value


def limited(pairs: Sequence[RewardPair], limit: int | None, seed: int) -> list[RewardPair]:
    """At most so many pairs, of people drawn one after the other."""
    if limit is None or len(pairs) <= limit:
        return list(pairs)
    own = _by_owner(pairs)
    drawn = _shuffled(sorted(own), seed)
    kept = [index for owner in drawn for index in own[owner]][:limit]
    return [pairs[index] for index in sorted(kept)]


def held_out(
    pairs: Sequence[RewardPair], share: float, seed: int
) -> tuple[list[RewardPair], list[RewardPair]]:
    """The pairs to train on and those of the people held out: a share of the people, at least one of two."""
    owners = _shuffled(sorted({pair.owner for pair in pairs}), seed)
    count = min(max(1, round(share * len(owners))), len(owners) - 1) if share and owners else 0
    out = set(owners[:count])
    return [p for p in pairs if p.owner not in out], [p for p in pairs if p.owner in out]


def sampled(pairs: Sequence[RewardPair], count: int, seed: int) -> list[RewardPair]:
    """So many of the pairs, drawn without putting back."""
    chosen = np.random.default_rng(seed).permutation(len(pairs))[:count]
    return [pairs[index] for index in sorted(chosen.tolist())]


def grouped_order(
    owners: Sequence[str], batch: int, epochs: float, seed: int, together: int | None = None
) -> list[int]:
    """The indices of all epochs in the order they are trained on; each `batch` of them are one batch.

    No more than `together` pairs of a person are drawn at once, so that several people meet in a batch.
    """
    own: defaultdict[str, list[int]] = defaultdict(list)
    for index, owner in enumerate(owners):
        own[owner].append(index)
    names = sorted(own)
    order: list[int] = []
    total = round(epochs * len(owners))
    epoch = 0
    while len(order) < total:
        random = np.random.default_rng([seed, epoch])
        groups = [
            drawn[start : start + (together or batch)]
            for owner in names
            for drawn in [[own[owner][place] for place in random.permutation(len(own[owner]))]]
            for start in range(0, len(drawn), together or batch)
        ]
        waiting = deque(groups[place] for place in random.permutation(len(groups)))
        while waiting:
            room = batch - len(order) % batch
            fits = next((place for place, pairs in enumerate(waiting) if len(pairs) <= room), None)
            if fits is None:
                order += waiting[0][:room]
                waiting[0] = waiting[0][room:]
            else:
                order += waiting[fits]
                del waiting[fits]
        epoch += 1
    return order[:total]


def _by_owner(pairs: Sequence[RewardPair]) -> dict[str, list[int]]:
    own: defaultdict[str, list[int]] = defaultdict(list)
    for index, pair in enumerate(pairs):
        own[pair.owner].append(index)
    return own


def _shuffled(owners: Sequence[str], seed: int) -> list[str]:
    return [owners[place] for place in np.random.default_rng(seed).permutation(len(owners))]


def read(settings: RewardSettings, notes: list[str]) -> list[RewardPair]:
    """The pairs asked for, without those that say nothing."""
    pairs = limited(without_ties(read_pairs(settings.data), notes), settings.limit, settings.seed)
    if not pairs:
        raise UserError(f"{settings.data} holds no pairs. {' '.join(notes)}".rstrip())
    return pairs


def divided(
    settings: RewardSettings, pairs: list[RewardPair], notes: list[str]
) -> tuple[list[RewardPair], list[RewardPair]]:
    """The pairs to train on and those to measure on, by recipe; people and general prompts are held out alike."""
    recipe = RECIPES[settings.preset]
    train, test = ([], pairs) if not recipe.personal else held_out(pairs, settings.held_out, settings.seed)
    if settings.mix is not None and recipe.general:
        general = without_ties(read_helpsteer(settings.mix.path), notes)
        learn, check_on = held_out(general, settings.held_out, settings.seed)
        if settings.mix.ratio is not None:
            wanted = round(settings.mix.ratio * (len(train) or len(pairs)))
            if wanted > len(learn):
                notes.append(
                    f"{settings.mix.path} has {len(learn):,} pairs to train on; {wanted:,} were asked for."
                )
            learn = sampled(learn, wanted, settings.seed)
        train, test = [*train, *learn], [*test, *check_on]
    return train, test
