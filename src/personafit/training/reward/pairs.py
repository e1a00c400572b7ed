"""Pairs to train on: who asks, what is asked, the answer that was chosen and the one that was not.

They come from a benchmark folder, from PersonaFeedback as published, or from a JSON-lines file in TRL's layout with a
`person` beside each pair. General pairs, which are nobody's, come from a file in HelpSteer2's layout.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from personafit._errors import UserError, json_kind, located
from personafit._hashing import content_hash, hash_text
from personafit.benchmarks import Benchmark
from personafit.benchmarks.helpfulness import GAP, rated_pairs
from personafit.benchmarks.lines import read_lines
from personafit.factory.pairs.layout import NOT_PERSONAL
from personafit.people import FacetValue, flatten
from personafit.training.choices import load_choices, open_choices
from personafit.training.pairwise import PreferencePair


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
