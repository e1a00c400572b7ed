"""The items of a run that have two answers, with the texts of both, and what the two differ in.

Differences are product 0 minus product 1. Overlap and naming are the rules of the same name, counted on the whole profile whatever the
rater was shown, because the question is what is in the answers.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import orjson
import polars as pl
from numpy.typing import NDArray
from sqlalchemy import select

from personafit.kinds.choice import RunScores
from personafit.people import facet_values, names_of
from personafit.store import UNMADE, Store
from personafit.store import tables as t

MODELS = ("llm", "reward")
_ALIASES = {
    "o": "gpt",
    "chatgpt": "gpt",
    "mixtral": "mistral",
    "codellama": "llama",
    "qwq": "qwen",
    "medgemma": "gemma",
}

_BEYOND = 0x110000  # no character: stands between texts, so that none runs on into the next
_BREAK = _BEYOND.to_bytes(4, "little")
_TOGETHER = 500  # texts looked at in one go


class AnswerPair(NamedTuple):
    """An item of two answers."""

    item: str
    person: str
    prompt: str
    products: tuple[str, str]
    texts: tuple[str, str]


def answer_pairs(store: Store, scores: RunScores) -> Iterator[AnswerPair]:
    """The run's items of two answers, person by person."""
    items = t.items.c
    rows = store.frame(
        select(items.id, items.person, items.prompt, items.products)
        .where(items.dataset == scores.run.dataset)
        .order_by(items.person, items.position)
    )
    wanted = set(scores.items["item"])
    pairs = [
        (item, person, prompt, products)
        for item, person, prompt, text in rows.iter_rows()
        if item in wanted and len(products := orjson.loads(text)) == 2
    ]
    texts = store.texts({product for *_, products in pairs for product in products})
    for item, person, prompt, (one, two) in pairs:
        yield AnswerPair(item, person, prompt, (one, two), (texts[one], texts[two]))


def pair_features(store: Store, scores: RunScores) -> pl.DataFrame:
    """The run's items of two answers with product 0 minus product 1 in each feature, per standard deviation.

    Items with an answer that was not made are left out: they are lost without being judged, whatever the other answer is like.
    """
    made_items = scores.items
    if UNMADE in made_items.columns:
        made_items = made_items.filter(pl.col(UNMADE).is_null())
    kept = set(made_items["item"])
    facets = {person.id: person.facets for person in store.people(scores.run.dataset).values()}
    pairs = [pair for pair in answer_pairs(store, scores) if pair.item in kept]
    made = _makers(store, {product for pair in pairs for product in pair.products})
    rows = []
    for person, group in groupby(pairs, key=attrgetter("person")):
        known, asked = facets[person], list(group)
        answers = [text for pair in asked for text in pair.texts]
        prompts = [pair.prompt for pair in asked for _ in pair.texts]
        lengths = np.log1p([len(answer) for answer in answers])
        mentions = overlaps(" ".join(facet_values(known)), answers, prompts).astype(float)
        names = names_of(known)
        named = [float(any(name in answer for name in names)) for answer in answers]
        for place, pair in enumerate(asked):
            one, two = 2 * place, 2 * place + 1
            rows.append(
                (
                    pair.item,
                    lengths[one] - lengths[two],
                    mentions[one] - mentions[two],
                    named[one] - named[two],
                    [made.get(product) for product in pair.products],
                )
            )
    schema: dict[str, pl.DataType] = {
        "item": pl.String(),
        "length": pl.Float64(),
        "mention": pl.Float64(),
        "naming": pl.Float64(),
        "makers": pl.List(pl.String()),
    }
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    # Root mean square: the standard deviation about no difference, as which answer is product 0 tells nothing.
    scaled = [
        (
            pl.col(name)
            / pl.when(pl.col(name).pow(2).mean() > 0).then(pl.col(name).pow(2).mean().sqrt()).otherwise(1.0)
        )
        for name in ("length", "mention")
    ]
    # Slices may have any name, also that of a feature: they stay behind.
    items = made_items.select("item", "person", "prompt", "gold")
    return items.join(frame.with_columns(scaled), on="item", how="inner", maintain_order="left")


def family_of(maker: str) -> str | None:
    """The family in a model's name: 'openai:org/Qwen2.5-7B@http://host' is of 'qwen', 'gpt-4o' of 'gpt'."""
    model = re.sub(r"^(?:openai|inspect|hf|reward|embedded):", "", maker.split("@")[0].split(",")[0])
    word = re.match(r"[a-z]+", re.sub(r"^meta-", "", model.rsplit("/", 1)[-1].lower()))
    return _ALIASES.get(word[0], word[0]) if word else None


def own_family(rater: dict[str, Any], rows: pl.DataFrame) -> tuple[list[float], str | None]:
    """Per row 1 where only product 0 is of the rater's family, −1 where only product 1 is; and why all are 0."""
    family = family_of(rater["name"]) if rater["kind"] in MODELS else None
    if family is None:
        return [0.0] * len(rows), f"{rater['name']} is no model with a family name"
    if not rows["makers"].explode().drop_nulls().str.len_bytes().sum():
        return [0.0] * len(rows), "the data do not say who made the answers"
    makers = rows["makers"].to_list()
    own = []
    for pair in makers:
        first, second = (None if maker is None else family_of(maker) == family for maker in pair)
        own.append(0.0 if first is None or second is None else float(first) - float(second))
    if any(own):
        return own, None
    return own, f"no pair has an answer of {family} beside one of another family"


def _makers(store: Store, products: Collection[str]) -> dict[str, str]:
    """Who made each product, by name where the maker is a rater or model the store knows."""
    names = dict(store.frame(select(t.raters.c.fingerprint, t.raters.c.name)).iter_rows())
    query = select(t.products.c.id, t.products.c.maker).where(t.products.c.maker.is_not(None))
    found = store.rows_among(query, t.products.c.id, list(products))
    return {row.id: names.get(row.maker, row.maker) for row in found}


def overlaps(known: str, answers: Sequence[str], prompts: Sequence[str]) -> NDArray[np.int64]:
    """For each answer what `rule:overlap` counts: distinct character bigrams shared with what is known, the prompt's left out.

    Bigrams of what is known are numbered, so that all answers are looked at in a few array operations.
    """
    pairs = _Pairs(known)
    counts = np.zeros(len(answers), np.int64)
    for start in range(0, len(answers), _TOGETHER):
        part = slice(start, start + _TOGETHER)
        counts[part] = (pairs.had_by(answers[part]) & ~pairs.had_by(prompts[part])).sum(1)
    return counts


class _Pairs:
    """The distinct pairs of neighbouring characters of a text, numbered from 1; 0 stands for any other pair."""

    def __init__(self, text: str) -> None:
        points = _points([text])
        letters = np.unique(points[points != _BEYOND])
        self._letter = np.zeros(_BEYOND + 1, np.int32)
        self._letter[letters] = np.arange(1, len(letters) + 1)
        self._letters = len(letters) + 1
        self._number = np.zeros(self._letters**2, np.int32)
        own = np.unique(self._codes(points)[:-1])
        self._number[own] = np.arange(1, len(own) + 1)
        self._count = len(own)

    def had_by(self, texts: Sequence[str]) -> NDArray[np.bool_]:
        """Texts × pairs: which text has which."""
        numbers = self._number[self._codes(_points(texts))]
        met = np.flatnonzero(numbers)
        place = np.repeat(np.arange(len(texts)), [len(text) + 1 for text in texts])[:-1]
        found = np.zeros((len(texts), self._count + 1), np.bool_)
        found[place[met], numbers[met]] = True
        return found[:, 1:]

    def _codes(self, points: NDArray[np.uint32]) -> NDArray[np.int32]:
        """One number for every two neighbours."""
        letters = self._letter[points]
        return letters[:-1] * np.int32(self._letters) + letters[1:]


def _points(texts: Sequence[str]) -> NDArray[np.uint32]:
    """The code points of all texts, each text with a break behind it."""
    parts = (text.encode("utf-32-le", "surrogatepass") + _BREAK for text in texts)
    return np.frombuffer(b"".join(parts), np.dtype("<u4"))
