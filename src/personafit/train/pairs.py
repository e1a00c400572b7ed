"""Preference pairs to train on: reading them, holding out people, and ordering them into batches.

They come from a benchmark folder, from PersonaFeedback as published, or from a JSON-lines file in TRL's layout with a `person` beside each
pair. General pairs, without a person, come from a file in HelpSteer2's layout.

People are held out whole, and a batch holds whole people as far as they fit. What a person's pairs share is computed once if they are in
one row, so the pairs of a person stay together. Every batch is full, since the number of pairs per step is part of a recipe; a person is
split only if no other fits.
"""

import json
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from personafit._errors import UserError, located, writing
from personafit._hashing import content_hash, hash_text
from personafit.benchmarks import Benchmark, FolderBenchmark, PersonaFeedback, starter
from personafit.benchmarks.lines import read_lines, required_text
from personafit.benchmarks.rewardbench import GAP, rated_pairs
from personafit.build.pairs import NOT_PERSONAL, trl_row
from personafit.people import FacetValue, flatten


@dataclass(frozen=True)
class PreferencePair:
    """Two answers to a question, one chosen and one rejected; a pair without a person is a general one."""

    person: str
    facets: Mapping[str, FacetValue]
    question: str
    chosen: str
    rejected: str
    tier: str = ""
    """For reports only, never an input."""
    margin: float = 0.0
    """How much higher the chosen answer should score, if ratings say so."""
    place: str = ""
    """Where the pair was read from, for messages."""

    @property
    def owner(self) -> str:
        """The person of the pair; a general pair belongs to its question."""
        return self.person or f"?{hash_text(self.question)}"


def open_choices(data: Path) -> Benchmark:
    """Open the benchmark given by --data: a benchmark folder, PersonaFeedback as published, or `starter`."""
    if str(data) == "starter":
        return starter()
    return FolderBenchmark(data) if (data / "benchmark.toml").is_file() else PersonaFeedback(data)


def load_choices(benchmark: Benchmark, where: str = "") -> list[PreferencePair]:
    """Return every decided pair of a benchmark with the person's facets; `where` prefixes the place of each pair."""
    people = {person.id: person for person in benchmark.people()}
    texts = {product.id: product.text for product in benchmark.products()}
    gold = {row.item: row for row in benchmark.gold() if row.rater == benchmark.info.gold}
    pairs: list[PreferencePair] = []
    for item in benchmark.items():
        row = gold.get(item.id)
        if row is None or len(item.products) != 2 or row.label not in ("0", "1"):
            continue
        chosen, rejected = (texts[item.products[place]] for place in (int(row.label), 1 - int(row.label)))
        tier, facets = str((row.extra or {}).get("tier") or ""), people[item.person].facets
        place = f"{where}pair {len(pairs) + 1}"
        pairs.append(PreferencePair(item.person, facets, item.prompt, chosen, rejected, tier, place=place))
    if len({pair.person for pair in pairs}) < 2:
        raise UserError(
            f"{benchmark.info.name} has no decided pairs of two people or more: there is nothing to fit."
        )
    return pairs


def read_pairs(path: Path) -> list[PreferencePair]:
    """Read the pairs of a benchmark folder, PersonaFeedback's published layout, the starter set or a JSON-lines file."""
    if path.is_file():
        return [_from_trl(row, path, number) for number, row in read_lines(path)]
    if not path.is_dir() and str(path) != "starter":
        raise UserError(f"{path} is neither a folder nor a file; --data takes pairs.")
    return load_choices(open_choices(path), f"{path}, ")


def read_helpsteer(path: Path) -> list[PreferencePair]:
    """Read general pairs from rated answers in HelpSteer2's layout."""
    pairs = [
        PreferencePair("", {}, one.prompt, one.better, one.worse, NOT_PERSONAL, place=located(path, one.line))
        for one in rated_pairs(path)
    ]
    if not pairs:
        raise UserError(
            f"{path} holds no two answers to one prompt that are {GAP} points of helpfulness apart."
        )
    return pairs


def write_trl(pairs: Sequence[PreferencePair], path: Path) -> None:
    """Write the pairs in TRL's layout, with the person in the system turn and as fields, so that they can be read back."""
    if not pairs:
        raise UserError("There are no decided pairs of two answers to write.")
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8") as file:
            for pair in pairs:
                row = trl_row(pair.person, pair.facets, pair.question, pair.chosen, pair.rejected, pair.tier)
                row |= {"margin": pair.margin} if pair.margin else {}
                file.write(json.dumps(row, ensure_ascii=False) + "\n")


def without_ties(pairs: Sequence[PreferencePair], notes: list[str]) -> list[PreferencePair]:
    """Return the pairs whose answers differ; those left out are added to `notes`."""
    same = [pair for pair in pairs if pair.chosen == pair.rejected]
    if same:
        notes.append(
            f"Left out because both answers are one text: {len(same):,}, the first at {same[0].place}."
        )
    return [pair for pair in pairs if pair.chosen != pair.rejected]


def fingerprint(pairs: Iterable[PreferencePair]) -> str:
    """Return a hash of the training data."""
    return content_hash(
        [[p.person, dict(p.facets), p.question, p.chosen, p.rejected, p.tier, p.margin] for p in pairs]
    )


def _from_trl(row: dict[str, Any], path: Path, number: int) -> PreferencePair:
    # General rows mixed in by `build` are marked and have no person.
    general = row.get("tier") == NOT_PERSONAL and not row.get("person")
    facets = {} if general else _facets(row.get("person"), located(path, number, "person"))
    person = "" if general else row.get("person_id") or content_hash(facets)[:12]
    prompt, chosen, rejected = (row.get(name) for name in ("prompt", "chosen", "rejected"))
    if prompt is None and isinstance(chosen, list) and isinstance(rejected, list):  # both contain it
        prompt, chosen, rejected = chosen[:-1], chosen[-1:], rejected[-1:]
    margin = 0.0 if row.get("margin") is None else row["margin"]
    if isinstance(margin, bool) or not isinstance(margin, int | float) or not abs(margin) < float("inf"):
        raise UserError(f"{located(path, number, 'margin')} must be a number, not {margin!r:.40}.")
    return PreferencePair(
        str(person),
        facets,
        _text(prompt, path, number, "prompt"),
        _text(chosen, path, number, "chosen"),
        _text(rejected, path, number, "rejected"),
        str(row.get("tier") or ""),
        float(margin),
        located(path, number),
    )


def _facets(person: Any, place: str) -> dict[str, FacetValue]:
    if isinstance(person, str) and person.strip():
        return {"About": person.strip()}
    if isinstance(person, Mapping) and (facets := flatten(person)):
        return facets
    raise UserError(f"{place} must say who asks, as a text or as fields; general pairs go to --mix.")


def _text(value: Any, path: Path, number: int, field: str) -> str:
    """Return a text, or the text of the only message that is not a system turn, as the person comes from `person`."""
    if isinstance(value, list):
        turns = [turn for turn in value if isinstance(turn, dict) and turn.get("role") != "system"]
        if len(turns) != 1:
            raise UserError(
                f"{located(path, number, field)} has {len(turns)} messages; one question and one answer make a pair."
            )
        value = turns[0].get("content")
    return required_text({field: value}, field, path, number)


def limited(pairs: Sequence[PreferencePair], limit: int | None, seed: int) -> list[PreferencePair]:
    """Return at most `limit` pairs, taking people one after the other in random order."""
    if limit is None or len(pairs) <= limit:
        return list(pairs)
    own = _places([pair.owner for pair in pairs])
    kept = [index for owner in _shuffled(sorted(own), seed) for index in own[owner]][:limit]
    return [pairs[index] for index in sorted(kept)]


def held_out(
    pairs: Sequence[PreferencePair], share: float, seed: int
) -> tuple[list[PreferencePair], list[PreferencePair]]:
    """Split the pairs by person into training and held-out ones: a share of the people, at least one of two."""
    owners = _shuffled(sorted({pair.owner for pair in pairs}), seed)
    count = min(max(1, round(share * len(owners))), len(owners) - 1) if share and owners else 0
    out = set(owners[:count])
    return [p for p in pairs if p.owner not in out], [p for p in pairs if p.owner in out]


def sampled(pairs: Sequence[PreferencePair], count: int, seed: int) -> list[PreferencePair]:
    """Return `count` of the pairs, drawn without replacement."""
    chosen = np.random.default_rng(seed).permutation(len(pairs))[:count]
    return [pairs[index] for index in sorted(chosen.tolist())]


def grouped_order(
    owners: Sequence[str], batch: int, epochs: float, seed: int, together: int | None = None
) -> list[int]:
    """Return the indices of all epochs in training order; every `batch` of them form a batch.

    At most `together` pairs of a person are drawn at once, so that a batch contains several people.
    """
    own = sorted(_places(owners).items())
    order: list[int] = []
    total = round(epochs * len(owners))
    epoch = 0
    while len(order) < total:
        random = np.random.default_rng([seed, epoch])
        groups = [
            drawn[start : start + (together or batch)]
            for _, places in own
            for drawn in [[places[place] for place in random.permutation(len(places))]]
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


def _places(owners: Sequence[str]) -> dict[str, list[int]]:
    own: dict[str, list[int]] = {}
    for index, owner in enumerate(owners):
        own.setdefault(owner, []).append(index)
    return own


def _shuffled(owners: Sequence[str], seed: int) -> list[str]:
    return [owners[place] for place in np.random.default_rng(seed).permutation(len(owners))]
