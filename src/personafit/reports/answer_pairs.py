"""Items with two answers: their texts, and the features in which the two differ.

Differences are product 0 minus product 1. Overlap and naming are the rules of the same name, computed on the whole profile whatever
the rater was shown, because they describe the answers.
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
TOGETHER = 500  # pairs compared with a profile per chunk
CHARACTERS = 0x110000  # code points of Unicode
_ALIASES = {
    "o": "gpt",
    "chatgpt": "gpt",
    "mixtral": "mistral",
    "codellama": "llama",
    "qwq": "qwen",
    "medgemma": "gemma",
}


class AnswerPair(NamedTuple):
    """An item with two answers."""

    item: str
    person: str
    prompt: str
    products: tuple[str, str]
    texts: tuple[str, str]


def answer_pairs(store: Store, scores: RunScores) -> Iterator[AnswerPair]:
    """Yield the run's items with two answers, ordered by person."""
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
    """Return the run's items with two answers, with each feature of product 0 minus that of product 1, per standard deviation.

    Items with an answer that was not made are left out: they are lost without being judged, whatever the other answer is like.
    """
    made_items = scores.items
    if UNMADE in made_items.columns:
        made_items = made_items.filter(pl.col(UNMADE).is_null())
    kept = set(made_items["item"])
    facets = {person.id: person.facets for person in store.people(scores.run.dataset).values()}
    pairs = [pair for pair in answer_pairs(store, scores) if pair.item in kept]
    made = _makers(store, {product for pair in pairs for product in pair.products})
    mentions: list[int] = []
    named: list[bool] = []
    for person, group in groupby(pairs, key=attrgetter("person")):
        own, names = list(group), names_of(facets[person])
        profile = " ".join(facet_values(facets[person]))
        for start in range(0, len(own), TOGETHER):
            mentions += _mentions(profile, own[start : start + TOGETHER])
        named += [any(name in text for name in names) for pair in own for text in pair.texts]
    sizes = np.log1p([len(text) for pair in pairs for text in pair.texts])
    figures = {"length": sizes, "mention": mentions, "naming": named}
    sides = {name: np.array(values, dtype=np.float64).reshape(-1, 2) for name, values in figures.items()}
    makers = (
        pl.Series([made.get(pair.products[side]) for pair in pairs], dtype=pl.String) for side in (0, 1)
    )
    frame = pl.DataFrame(
        {
            "item": pl.Series([pair.item for pair in pairs], dtype=pl.String),
            **{name: one[:, 0] - one[:, 1] for name, one in sides.items()},
        }
    ).with_columns(pl.concat_list(*makers).alias("makers"))
    # Root mean square: the standard deviation about 0, as the order of the products is arbitrary.
    scaled = [
        (
            pl.col(name)
            / pl.when(pl.col(name).pow(2).mean() > 0).then(pl.col(name).pow(2).mean().sqrt()).otherwise(1.0)
        )
        for name in ("length", "mention")
    ]
    # Slices may share a feature's name, so only these columns are kept.
    items = made_items.select("item", "person", "prompt", "gold")
    return items.join(frame.with_columns(scaled), on="item", how="inner", maintain_order="left")


def _mentions(profile: str, pairs: Sequence[AnswerPair]) -> list[int]:
    """Count each answer's overlap with the person: distinct character bigrams of the profile that are not in the question.

    A table has the place of every bigram of the profile, so that all texts are looked up at once.
    """
    texts = [text for pair in pairs for text in (pair.prompt, *pair.texts)]
    codes = np.unique(_characters(profile), return_inverse=True)[1]
    letters, width = np.zeros(CHARACTERS, dtype=np.int32), int(codes.max(initial=-1)) + 2
    letters[_characters(profile)] = codes + 1  # 0 is any other character
    known = np.unique((codes[:-1] + 1) * width + codes[1:] + 1)
    places = np.full(width * width, -1, dtype=np.int32)
    places[known] = np.arange(len(known))
    spelled = letters[_characters("".join(texts))]
    of_text = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
    found = places[spelled[:-1] * width + spelled[1:]]
    own = (found >= 0) & (of_text[:-1] == of_text[1:])
    seen = np.zeros((len(texts), len(known)), dtype=bool)
    seen[of_text[:-1][own], found[own]] = True
    by_pair = seen.reshape(len(pairs), 3, len(known))
    counts: list[int] = (by_pair[:, 1:] & ~by_pair[:, :1]).sum(axis=2).ravel().tolist()
    return counts


def _characters(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


def family_of(maker: str) -> str | None:
    """Return the family in a model's name: `qwen` for `openai:org/Qwen2.5-7B@http://host`, `gpt` for `gpt-4o`."""
    model = re.sub(r"^(?:openai|inspect|hf|reward|embedded):", "", maker.split("@")[0].split(",")[0])
    word = re.match(r"[a-z]+", re.sub(r"^meta-", "", model.rsplit("/", 1)[-1].lower()))
    return _ALIASES.get(word[0], word[0]) if word else None


def own_family(rater: dict[str, Any], rows: pl.DataFrame) -> tuple[list[float], str | None]:
    """Return 1 for rows where only product 0 is of the rater's family, −1 where only product 1 is; if all are 0, also the reason."""
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
    """Return the maker of each product, by name if the store knows it as a rater or model."""
    names = dict(store.frame(select(t.raters.c.fingerprint, t.raters.c.name)).iter_rows())
    query = select(t.products.c.id, t.products.c.maker).where(t.products.c.maker.is_not(None))
    found = store.rows_among(query, t.products.c.id, list(products))
    return {row.id: names.get(row.maker, row.maker) for row in found}
