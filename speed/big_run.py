"""A choice run as large as PersonaFeedback whole, made up and put straight into a store: 8,298 items, 12 raters, two contexts.

People, questions and answers are drawn words, half of them Chinese, as long as those of PersonaFeedback and sharing questions and answers as
they do; nothing in them means anything. Ten raters answer in words, in both orders; two are rules.
"""

import random
from collections.abc import Iterator
from itertools import islice, product
from pathlib import Path
from typing import Any

from personafit._hashing import hash_text
from personafit.items import FIT
from personafit.people import Person
from personafit.store import Ask, Item, Judgment, Outcome, Product, RaterRecord, Status, Store

ITEMS, PEOPLE, QUESTIONS = 8_298, 147, 1_800
SHOWN_UNDER = ("profile", "none")
DATASET, RUN = "large@1", "large-1"
ANSWERS_SHARED = 0.29  # of the answers: another item has it too
LONG, SHORT = 190, 155  # mean words of the two answers
WRITTEN = 2_000  # outcomes in one transaction

RATERS: list[dict[str, Any]] = [
    *(
        {"fingerprint": f"model{n}", "name": f"openai:model-{n}", "kind": "llm", "orders": 2, "control": None}
        for n in range(10)
    ),
    {
        "fingerprint": "length",
        "name": "rule:length",
        "kind": "rule",
        "orders": 1,
        "control": "longest answer",
    },
    {
        "fingerprint": "overlap",
        "name": "rule:overlap",
        "kind": "rule",
        "orders": 1,
        "control": "most overlap",
    },
]

ASKS = len(SHOWN_UNDER) * sum(rater["orders"] for rater in RATERS)  # an item and sample

INFO: dict[str, Any] = {
    "name": "large",
    "version": "1",
    "title": "A large run, made up",
    "description": "Drawn words: only how long things take means anything here.",
    "licence": "ours",
    "gold": "author",
    "metric": "accuracy",
    "view": "profile",
    "layout": [["half", "tier"], ["half"]],
    "coverage_bar": 0.95,
    "published": [],
}


class _Words:
    """Texts of drawn words; common ones come often, as in any language."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        letters = "etaoinshrdlucmfwyp"
        latin = ["".join(self._random.choices(letters, k=self._random.randint(2, 9))) for _ in range(9_000)]
        characters = [chr(0x4E00 + 7 * n) for n in range(2_900)]
        chinese = ["".join(self._random.choices(characters, k=2)) for _ in range(9_000)]
        self._words = {"en": latin, "zh": chinese}
        self._weights = [0.0]
        for rank in range(9_000):
            self._weights.append(self._weights[-1] + 1 / (rank + 8))
        del self._weights[0]

    def text(self, language: str, words: int) -> str:
        """So many words, with some punctuation."""
        drawn = self._random.choices(self._words[language], cum_weights=self._weights, k=max(3, words))
        space, stop = (" ", ". ") if language == "en" else ("", "。")
        parts = [space.join(drawn[at : at + 12]) for at in range(0, len(drawn), 12)]
        return stop.join(parts) + stop.strip()


def fill_store(path: Path, items: int = ITEMS, samples: int = 1, seed: int = 0) -> None:
    """Make the run in a new store; every question is put `samples` times."""
    rng, words = random.Random(seed), _Words(seed)
    languages = ["zh" if n % 2 else "en" for n in range(PEOPLE)]
    with Store(path) as store:
        store.begin_dataset(DATASET, "large", INFO)
        store.add_people(
            DATASET,
            (
                Person(
                    id=f"person-{n:03}",
                    language=language,
                    facets={words.text(language, 1): words.text(language, 9) for _ in range(30)},
                )
                for n, language in enumerate(languages)
            ),
        )
        questions = {
            language: [words.text(language, 13) for _ in range(QUESTIONS // 2)] for language in ("en", "zh")
        }
        made: dict[str, list[str]] = {"en": [], "zh": []}
        rows, gold, products = [], [], {}
        for place in range(items):
            person = place * PEOPLE // items
            language = languages[person]
            pair = []
            for mean in (LONG, SHORT):
                known = made[language]
                text = (
                    rng.choice(known)
                    if known and rng.random() < ANSWERS_SHARED
                    else words.text(language, int(rng.gauss(mean, 40)))
                )
                known.append(text)
                answer = Product(kind="answer", text=text)
                products[answer.id] = answer
                pair.append(answer.id)
            rng.shuffle(pair)
            half, tier = rng.choice(("general", "specific")), rng.choice(("easy", "medium", "hard"))
            item = Item(
                id=f"{half}_{tier}/{place}",
                person=f"person-{person:03}",
                prompt=rng.choice(questions[language]),
                products=pair,
                slices={"half": half},
            )
            rows.append((place, item))
            gold.append(
                Judgment(
                    ask=f"{DATASET}#author",
                    item=item.id,
                    rater="author",
                    label=str(rng.randint(0, 1)),
                    extra={"tier": tier},
                )
            )
        store.add_products(products.values())
        store.add_items(DATASET, rows)
        store.add_judgments(gold)
        store.finish_dataset(DATASET)
        store.add_raters(
            RaterRecord(fingerprint=r["fingerprint"], name=r["name"], kind=r["kind"]) for r in RATERS
        )
        run = store.begin_run(RUN, DATASET, _config(samples), items * samples * ASKS)
        outcomes = _outcomes([item for _, item in rows], [label.label for label in gold], samples, words, rng)
        while part := list(islice(outcomes, WRITTEN)):
            store.plan_jobs(run.id, [outcome.ask.job for outcome in part])
            store.write(part)
        store.finish_run(run.name)


def _config(samples: int) -> dict[str, Any]:
    return {
        "benchmark": "large",
        "dataset": DATASET,
        "question": "fit",
        "instrument": FIT.fingerprint,
        "views": list(SHOWN_UNDER),
        "seed": 0,
        "samples": samples,
        "selected": None,
        "raters": RATERS,
        "notes": [],
    }


def _outcomes(
    items: list[Item], gold: list[str | None], samples: int, words: _Words, rng: random.Random
) -> Iterator[Outcome]:
    """Every rater's answers; the better ones are right more often, and more so when they know the person."""
    asides = [words.text("en" if n % 2 else "zh", 9) for n in range(500)]
    for item, right in zip(items, gold, strict=True):
        for (place, rater), context, sample in product(enumerate(RATERS), SHOWN_UNDER, range(samples)):
            for order in ("01", "10") if rater["orders"] == 2 else ("",):
                skill = 0.5 + 0.03 * place * (1 if context == "profile" else 0.5)
                label = right if rng.random() < skill else ("1" if right == "0" else "0")
                job = hash_text(item.id, rater["fingerprint"], context, order, str(sample))
                reply = f"{rng.choice(asides)}\n{'AB'[order.index(str(label))]}" if order else None
                ask = Ask(
                    id=job, job=job, item=item.id, question="fit", rater=rater["fingerprint"], context=context, order=order,
                    sample=sample, status=Status.OK, reply=reply, at=1.0,
                )  # fmt: skip
                judged = Judgment(ask=job, item=item.id, rater=ask.rater, label=label, value=rng.gauss(0, 2))
                yield Outcome(ask=ask, judgments=[judged])
