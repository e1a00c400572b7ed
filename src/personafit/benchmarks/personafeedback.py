"""PersonaFeedback (arXiv 2506.12915): which of two answers fits an explicit persona; human gold in three tiers.

Reads both layouts in circulation. GitHub: `rm_benchmark_all/general_{easy,mid,hard}.jsonl` and `persona_all/<user_id>.json`. Hub:
`data/{general,spedific}/{easy,medium,hard}.jsonl` (spelled so in the data) and `persona/all_personas.jsonl`, where `user_id` is a 1-based
line number. The losing answer's key is `reject`.
"""

from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from unicodedata import normalize

from personafit._errors import UserError, located, refuse_faults
from personafit.benchmarks.choices import ChoiceBenchmark, MultipleChoice
from personafit.benchmarks.lines import (
    FilledText,
    IdText,
    PublishedLine,
    read_lines,
    read_object,
    read_records,
)
from personafit.benchmarks.published import not_found, published_file, published_info
from personafit.people import Person, flatten

TIERS = {"easy": "easy", "mid": "medium", "medium": "medium", "hard": "hard"}
HALVES = {"specific": "specific", "spedific": "specific", "general": "general"}

# Misspelled keys in the files and their corrections, from all 1,714 personas.
RENAMED = {
    "TravelDaily_Outings": "Daily_Outings",
    "Extraversion_or_Intuition": "Extraversion_or_Introversion",
    "Extraversion_or_Intraversion": "Extraversion_or_Introversion",
    "Judging_or_Pereceiving": "Judging_or_Perceiving",
}
MBTI = {
    "EI": "Extraversion_or_Introversion",
    "SN": "Sensing_or_Intuition",
    "TF": "Thinking_or_Feeling",
    "JP": "Judging_or_Perceiving",
}


class _FeedbackLine(PublishedLine):
    user_id: IdText
    question: FilledText
    chosen: FilledText
    reject: FilledText


class _Source(NamedTuple):
    path: Path
    half: str
    tier: str


class PersonaFeedback(ChoiceBenchmark):
    """The benchmark, read from a folder in either layout."""

    info = published_info("personafeedback")

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sources = _find_sources(folder)
        self._repairs: Counter[str] = Counter()

    def people(self) -> Iterator[Person]:
        """Iterate over all personas of the folder; those without items may serve as the wrong person."""
        yield from self._people.values()

    def read(self) -> Iterator[MultipleChoice]:
        """Iterate over the choices, one per line; ids are half, tier and line, since the same pair occurs in several tiers."""
        faults: list[str] = []
        for source in self._sources:
            for number, row in read_records(source.path, _FeedbackLine, faults.append):
                user = normalize("NFC", row.user_id)
                if user not in self._people:
                    faults.append(
                        f"{located(source.path, number, 'user_id')}: there is no persona '{user}' in this folder."
                    )
                item = f"personafeedback/{source.half}/{source.tier}/{number}"
                slices = {"half": source.half}
                yield MultipleChoice(item, user, row.question, row.chosen, (row.reject,), slices, source.tier)
        refuse_faults(faults, self._folder)

    def remarks(self) -> list[str]:
        _ = self._people
        notes = [
            f"Persona key normalised: {repair} ({'once' if count == 1 else f'{count:,} times'})."
            for repair, count in self._repairs.most_common()
        ]
        for half in sorted(set(HALVES.values()) - {source.half for source in self._sources}):
            notes.append(f"The {half} half is not in {self._folder.name}: its columns stay blank.")
        read = {source.path for source in self._sources}
        for pattern in ("rm_benchmark_all/[!.]*.jsonl", "data/*/[!.]*.jsonl"):
            for path in sorted(self._folder.glob(pattern)):
                if path not in read:
                    notes.append(
                        f"{path.name} is left out: it is named after no half and tier, such as specific_easy.jsonl, or "
                        "data/specific/easy.jsonl."
                    )
        return [*notes, *self._note_sizes()]

    def _note_sizes(self) -> Iterator[str]:
        published = published_file("personafeedback")["sizes"]["pairs"]
        for half in sorted({source.half for source in self._sources}):
            here = sum(choice.slices["half"] == half for choice in self._all)
            whole = sum(count for name, count in published.items() if name.startswith(f"{half}/"))
            if here != whole:
                yield f"{here:,} of the {whole:,} {half} pairs are here; published scores are over all of them."

    @cached_property
    def _people(self) -> dict[str, Person]:
        return {person.id: person for person in self._read_people()}

    def _read_people(self) -> Iterator[Person]:
        hub = self._folder / "persona" / "all_personas.jsonl"
        if hub.is_file():
            for number, row in read_lines(hub):
                yield self._person(str(number), row)
            return
        for path in sorted((self._folder / "persona_all").glob("[!.]*.json")):
            yield self._person(normalize("NFC", path.stem), read_object(path))  # some disks decompose accents

    def _person(self, person_id: str, profile: dict[str, Any]) -> Person:
        facets = flatten(self._normalise(profile))
        text = "".join(str(value) for value in facets.values())
        chinese = sum("一" <= character <= "鿿" for character in text)
        return Person(id=person_id, language="zh" if chinese * 5 > len(text) else "en", facets=facets)

    def _normalise(self, profile: dict[str, Any]) -> dict[str, Any]:
        clean: dict[str, Any] = {}
        for key, value in profile.items():
            meant = _meant_key(key, value)
            if meant != key:
                self._repairs[f"{key} → {meant}"] += 1
            if meant in clean:  # both spellings in one profile: keep both values
                meant = key
            clean[meant] = self._normalise(value) if isinstance(value, dict) else value
        return clean


def _meant_key(key: str, value: object) -> str:
    if key in RENAMED:
        return RENAMED[key]
    if isinstance(value, str) and "_or_" in key and not any(key == name for name in MBTI.values()):
        for letters, name in MBTI.items():
            if value in letters and value:
                return name
    return key


def _find_sources(folder: Path) -> list[_Source]:
    found = []
    for path in sorted((folder / "rm_benchmark_all").glob("*.jsonl")):
        half, _, tier = path.stem.partition("_")
        if half in HALVES and tier in TIERS:
            found.append(_Source(path, HALVES[half], TIERS[tier]))
    for half, meant in HALVES.items():
        for path in sorted((folder / "data" / half).glob("*.jsonl")):
            if path.stem in TIERS:
                found.append(_Source(path, meant, TIERS[path.stem]))
    if not found:
        raise not_found("personafeedback", folder)
    ordered = sorted(found, key=lambda source: (source.half, list(TIERS.values()).index(source.tier)))
    for one, other in pairwise(ordered):
        if (one.half, one.tier) == (other.half, other.tier):
            raise UserError(
                f"{one.path} and {other.path} both hold the {one.half} {one.tier} pairs; keep one copy in the folder."
            )
    return ordered
