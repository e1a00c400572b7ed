"""The fitted rater of choices: which of two answers fits the person better, as an antisymmetric logit.

Two linear members are added up: surface features of the pair's difference, bounded so that no single feature can decide alone, and
short character n-grams of the answers. Every feature is a function of one person, one question and one answer: how it is written, how
it meets the question, how it takes up the person. How often a text occurs elsewhere, the tier and the other answer are deliberately not
inputs.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from operator import add, mul

import numpy as np

from personafit._hashing import hash_text
from personafit.items.reading import Unit
from personafit.people import FacetValue
from personafit.raters.characters import latin_words, matchable, neighbours
from personafit.raters.fitted.model import FittedModel, Floats
from personafit.raters.text import lexicon

Facets = Mapping[str, FacetValue]

MATCH_LENGTHS = (2, 3)
_FIELDS: dict[str, str] = lexicon()["fields"]
FIELD_GROUPS = tuple(_FIELDS)
_GROUP_OF_KEY = {key: group for group, keys in _FIELDS.items() for key in keys.split()}
_TYPE_LETTER = re.compile(r"[A-Za-z]")


def field_group(path: str) -> str | None:
    """The field group of a facet path; None for what is no matter of overlap: the name and type letters."""
    parts = path.lower().split(".")
    if parts == ["name"]:
        return None
    return _GROUP_OF_KEY.get(parts[-1]) or ("demographics" if parts[0] == "demographics" else "other")


@dataclass(frozen=True)
class PersonProfile:
    """One person, ready to be matched: the 2- and 3-grams of all facets together and of each field group."""

    name: str
    by_length: Mapping[int, frozenset[str]]
    by_group: Mapping[int, Mapping[str, frozenset[str]]]


def profile_of(facets: Facets) -> PersonProfile:
    """The profile of `{"Preference.Social": "...", ...}`, remembered: a person usually comes with many pairs."""
    return _profile(tuple((p, "。".join(v) if isinstance(v, list) else str(v)) for p, v in facets.items()))


@lru_cache(maxsize=1024)
def _profile(facets: tuple[tuple[str, str], ...]) -> PersonProfile:
    texts: dict[str, list[str]] = {}
    for path, text in facets:
        if (group := field_group(path)) and not _TYPE_LETTER.fullmatch(text):
            texts.setdefault(group, []).append(text)
    by_group = {
        length: {group: frozenset(matchable("。".join(parts), length)) for group, parts in texts.items()}
        for length in MATCH_LENGTHS
    }
    return PersonProfile(
        name=dict(facets).get("Name", "").strip(),
        by_length={length: frozenset().union(*groups.values()) for length, groups in by_group.items()},
        by_group=by_group,
    )


_SENTENCE_ENDS = re.compile(r"[。！？!?\n；;]+")
_BULLETS = re.compile(r"^[^\S\n]*[-*•]\s", re.MULTILINE)
_NUMBERED = re.compile(r"^[^\S\n]*\**\d+[.、)）]", re.MULTILINE)
_LATIN_LETTERS = re.compile(r"[A-Za-z]+")
_DIGITS = re.compile(r"\d")
_EDGE = 60  # characters that count as the opening or the closing of an answer
_NOTHING: frozenset[str] = frozenset()


PHRASES, QUESTION_CUES = (
    {name: tuple(words.split()) for name, words in lexicon()[table].items()}
    for table in ("phrases", "question_cues")
)
"""What is counted in answers by kind, and cues in a question that make a field group matter to it."""


def answer_features(profile: PersonProfile, question: str, answer: str) -> dict[str, float]:
    """All features of one answer by name: always the same names in the same order."""
    return _style(answer) | _address(profile.name, answer) | _match(profile, question, answer)


def _style(answer: str) -> dict[str, float]:
    length = len(answer)
    sentences = [part for part in _SENTENCE_ENDS.split(answer) if part.strip()]
    paragraphs = sum(1 for line in answer.split("\n") if line.strip())
    numbered, bullets = len(_NUMBERED.findall(answer)), len(_BULLETS.findall(answer))
    latin = _LATIN_LETTERS.findall(answer)
    pauses = answer.count("，") + answer.count("、")
    exclamations = answer.count("！") + answer.count("!")
    features: dict[str, float] = {
        "log_length": math.log1p(length),
        "length": length / 100,
        "sentences": math.log1p(len(sentences)),
        "sentence_length": length / max(1, len(sentences)) / 10,
        "first_sentence_length": math.log1p(len(sentences[0])) if sentences else 0.0,
        "paragraphs": float(paragraphs),
        "one_paragraph": float(paragraphs <= 1),
        "bold": answer.count("**") / 2,
        "bold_used": float("**" in answer),
        "numbered": float(numbered),
        "bullets": float(bullets),
        "list_used": float(numbered + bullets > 0),
        "exclamations": float(exclamations),
        "ends_with_exclamation": float(answer.rstrip().endswith(("！", "!"))),
        "questions": float(answer.count("？") + answer.count("?")),
        "quotes": answer.count("“") + answer.count("「") + answer.count('"') / 2,
        "titles": float(answer.count("《")),
        "digits": len(_DIGITS.findall(answer)) / 10,
        "brackets": float(answer.count("（") + answer.count("(")),
        "dashes": float(answer.count("——")),
        "colons": float(answer.count("：")),
        "pauses": pauses / 10,
        "pause_rate": pauses / max(1, length) * 10,
        "semicolons": float(answer.count("；")),
        "latin_words": float(len(latin)),
        "latin_share": sum(map(len, latin)) / max(1, length),
        "first_person": float(answer.count("我")),
    }
    for kind, words in PHRASES.items():
        features[f"phrase_{kind}"] = float(sum(map(answer.count, words)))
    return features


def _address(name: str, answer: str) -> dict[str, float]:
    plain, polite = answer.count("你"), answer.count("您")
    second = plain + polite
    first_at = min((at for at in (answer.find("你"), answer.find("您")) if at >= 0), default=len(answer))
    return {
        "second_person_plain": float(plain),
        "second_person_polite": float(polite),
        "polite_used": float(polite > 0),
        "second_person": float(second),
        "log_second_person": math.log1p(second),
        "second_person_rate": second / max(1, len(answer)) * 100,
        "second_person_used": float(second > 0),
        "second_person_first_at": first_at / max(1, len(answer)),
        "name_used": float(bool(name) and name in answer),
        "name_in_opening": float(bool(name) and name in answer[:20]),
    }


@lru_cache(maxsize=4096)
def _asked(question: str) -> tuple[dict[int, frozenset[str]], tuple[float, ...]]:
    """What of a question every answer to it is compared with: its grams, and how much each field group matters to it."""
    cues = [1.0 + 2 * sum(cue in question for cue in QUESTION_CUES.get(group, ())) for group in FIELD_GROUPS]
    grams = {length: frozenset(matchable(question, length)) for length in MATCH_LENGTHS}
    return grams, tuple(cue / sum(cues) for cue in cues)


def _match(profile: PersonProfile, question: str, answer: str) -> dict[str, float]:
    text = answer.lower()
    asked, relevance = _asked(question)
    pairs, distinct = neighbours(text)
    grams = {2: distinct.union(latin_words(text)), 3: frozenset(map(add, pairs, text[2:]))}
    features: dict[str, float] = {"variety": len(distinct) / max(1, len(pairs))}
    shared: dict[int, frozenset[str]] = {}
    for length, found in grams.items():
        from_question = found & asked[length]
        shared[length] = (found & profile.by_length[length]) - from_question
        count = len(shared[length])
        features[f"shared{length}"] = float(count)
        features[f"log_shared{length}"] = math.log1p(count)
        features[f"shared_rate{length}"] = count / max(1, len(found))
        features[f"log_own{length}"] = math.log1p(len(found) - count - len(from_question))
        features[f"question_share{length}"] = len(from_question) / max(1, len(asked[length]))
    features["shared_in_opening"] = float(len(shared[2].intersection(pairs[:_EDGE])))
    features["shared_in_closing"] = float(len(shared[2].intersection(pairs[-_EDGE:])))
    features.update(_by_field(profile, relevance, shared))
    return features


def _by_field(
    profile: PersonProfile, relevance: tuple[float, ...], shared: Mapping[int, frozenset[str]]
) -> dict[str, float]:
    """Which fields are taken up, and whether they are the fields the question is about."""
    pairs, triples = (
        [len(shared[length] & profile.by_group[length].get(group, _NOTHING)) for group in FIELD_GROUPS]
        for length in MATCH_LENGTHS
    )
    logs, logs3 = [math.log1p(count) for count in pairs], [math.log1p(count) for count in triples]
    foremost = max(relevance)
    about = [log for log, weight in zip(logs, relevance, strict=True) if weight == foremost]
    strongest, second = sorted(pairs, reverse=True)[:2]
    return {
        **{f"field_{group}": value for group, value in zip(FIELD_GROUPS, logs, strict=True)},
        "fields_touched": float(sum([count >= 2 for count in pairs])),
        "fields_used": float(sum([count >= 4 for count in pairs])),
        "fields_used3": float(sum([count >= 2 for count in triples])),
        "strongest_field": math.log1p(strongest),
        "second_field": math.log1p(second),
        "concentration": strongest / max(1, sum(pairs)),
        "strongest_field3": math.log1p(max(triples)),
        "field_logs": sum(logs),
        "field_logs3": sum(logs3),
        "relevant_logs": sum(map(mul, relevance, logs)),
        "relevant_logs3": sum(map(mul, relevance, logs3)),
        "most_relevant_fields": sum(about) / len(about),
    }


PairToRate = tuple[Facets, str, str, str]

GRAM_DIGITS = 6  # decimals of a gram's weight
_SHARP = 4.0  # slope of the second bounded form of a feature; it tells mostly which answer has more


class PairwiseModel(FittedModel):
    """Weights of two members, surface features and character grams; `blend` weighs them so that the margin is a calibrated logit."""

    answers = "choice"
    unit = "choice"

    def check(self) -> None:
        """Refuse features that this program does not know, and weights that are none."""
        if unknown := set(self.numbers["surface"]) - set(answer_features(profile_of({}), "", "")):
            raise ValueError(f"it uses features this program does not know: {', '.join(sorted(unknown))}")
        _ = self._surface, self._gram_steps, self.numbers["blend"]["surface"], self.numbers["blend"]["grams"]

    def unit_scores(self, units: Sequence[Unit]) -> list[float]:
        """The log-odds that people of the training data would have chosen the first of two answers."""
        return [self.margin(unit.context.facets, unit.prompt, *unit.answers) for unit in units]

    def margin(self, facets: Facets, question: str, answer_a: str, answer_b: str) -> float:
        """Log odds that people choose A over B; swapping A and B negates it exactly."""
        return float(self.margins([(facets, question, answer_a, answer_b)])[0])

    def margins(self, pairs: Iterable[PairToRate]) -> Floats:
        """The margin of every (facets, question, answer A, answer B)."""
        names, scales, weights = self._surface
        differences, gram_differences = [], []
        for facets, question, answer_a, answer_b in pairs:
            differences.append(pair_difference(names, facets, question, answer_a, answer_b))
            gram_differences.append(self._gram_score(answer_a) - self._gram_score(answer_b))
        if not differences:
            return np.zeros(0)
        # A row's sum, unlike a matrix product, does not depend on which other pairs are rated with it.
        surface = (bounded_forms(np.array(differences), scales) * weights).sum(axis=1)
        blend = self.numbers["blend"]
        margins: Floats = blend["surface"] * surface + blend["grams"] * np.array(gram_differences)
        return margins

    @cached_property
    def _surface(self) -> tuple[list[str], Floats, Floats]:
        """Names and scales of the features, and the weights of their bounded forms, all soft ones first."""
        rows = self.numbers["surface"]
        scales, soft, sharp = (
            np.array([row[key] for row in rows.values()]) for key in ("scale", "soft", "sharp")
        )
        return list(rows), scales, np.concatenate([soft, sharp])

    @cached_property
    def _gram_steps(self) -> dict[str, int]:
        # Whole numbers, because sets have no fixed order and a sum of floats would depend on it.
        return {gram: round(weight * 10**GRAM_DIGITS) for gram, weight in self.numbers["grams"].items()}

    @cached_property
    def _vocabulary(self) -> frozenset[str]:
        return frozenset(self._gram_steps)

    def _gram_score(self, answer: str) -> float:
        grams = answer_grams(answer)
        steps = sum(map(self._gram_steps.__getitem__, grams & self._vocabulary))
        return gram_value(grams) * steps * 10.0**-GRAM_DIGITS

    @cached_property
    def fingerprint(self) -> str:
        """Hash of what a file of version 1 held, the card included."""
        if self.file_hash:
            return self.file_hash
        card = {**self.card, "fitted_on": sorted(self.fitted_on)} if self.fitted_on else dict(self.card)
        document = {"format": "personafit.pairwise", "version": 1, "card": card, **self.numbers}
        return hash_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n")


def answer_grams(answer: str) -> frozenset[str]:
    """The distinct characters and pairs of neighbouring characters of an answer."""
    text = answer.lower()
    return neighbours(text)[1].union(text)


def gram_value(grams: frozenset[str]) -> float:
    """What one gram counts: less in a long answer, so that length alone is worth less, but not nothing."""
    return math.sqrt(math.sqrt(256 / max(1, len(grams))))


def pair_difference(
    names: Sequence[str], facets: Facets, question: str, answer_a: str, answer_b: str
) -> list[float]:
    """The features of A minus those of B."""
    profile = profile_of(facets)
    of_a, of_b = answer_features(profile, question, answer_a), answer_features(profile, question, answer_b)
    return [of_a[name] - of_b[name] for name in names]


def bounded_forms(differences: Floats, scales: Floats) -> Floats:
    """Each scaled difference in a soft and a sharp form, both odd functions between -1 and 1."""
    scaled = differences / scales
    return np.concatenate([np.tanh(scaled), np.tanh(_SHARP * scaled)], axis=1)
