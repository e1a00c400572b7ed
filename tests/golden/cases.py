"""The runs whose results, asks and job keys are goldens: every kind, on the starter set, on handmade files, on the shared data."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from personafit.benchmarks import RunConfig
from tests.benchmarks import neighbours_world
from tests.benchmarks.recentering import world as relevance_world
from tests.golden.server import model
from tests.preference_world import write_pairs, write_preferences
from tests.scripted import write_lines

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
STARTER = Path("starter")
JUDGE, PLAIN, SYSTEM, USER = (model(name) for name in ("judge", "plain", "system", "user"))


@dataclass(frozen=True)
class Case:
    """One run: its configuration, and the data it needs."""

    name: str
    benchmark: str
    more: dict[str, Any] = field(default_factory=dict)
    """Settings of the run, as the command line's options."""
    data: Callable[[Path], Path] | Path | None = None
    """Where its data lies, or what writes it into a folder."""
    log: Callable[[Path], Path] | None = None

    @property
    def missing(self) -> Path | None:
        """The shared data that it needs and that is not here."""
        needs = self.data if isinstance(self.data, Path) and self.data.is_relative_to(SHARED) else None
        return needs if needs is not None and not needs.exists() else None

    def config(self, folder: Path) -> RunConfig:
        """What is run; handmade files are written into the folder."""
        data = self.data(folder) if callable(self.data) else self.data
        log = self.log(folder) if self.log is not None else None
        return RunConfig(self.benchmark if log is None else str(log), data=data, **self.more)


def _answer_log(folder: Path) -> Path:
    """A log of answers of one assistant, some with what it says to nobody and to somebody else."""
    rows = []
    for number in range(18):
        person = f"p{number % 6}"
        rows.append(
            {
                "person": {
                    "id": person,
                    "language": "en",
                    "facets": {"Likes": f"thing {number % 6}", "City": f"town {number % 3}"},
                },
                "question": f"Question {number // 6}?",
                "answer": f"Answer {number} for somebody who likes thing {number % 6}."
                + " And more." * (number % 4),
                "generic": f"Answer {number // 6} for anybody at all.",
                "wrong": f"Answer {number} for somebody in town {(number + 1) % 3}.",
            }
        )
    return write_lines(folder / "answers.jsonl", rows)


FUNCTIONS_MODULE = "golden_functions"
FUNCTIONS = """
import re


def longest(person, question, answers):
    return [len(answer) for answer in answers]


def second(person, question, answers):
    return 1


second.order_matters = True


def aspects(person, question, answers):
    return [dict.fromkeys(("helpfulness", "correctness", "coherence", "complexity", "verbosity"), len(a)) for a in answers]


def relevant(prompt, attributes, person):
    return ["tea" in text for text in attributes]


def scored(prompt, attributes, person):
    return [2.0 if "tea" in text else len(text) / 100 for text in attributes]


def marks(prompt, attributes, answers):
    return [1 + len(answers[0]) % 5 for _ in attributes]


class Scorer:
    def score(self, prompt, attribute, answer):
        return len(answer) + len(attribute) / 7


def answer(messages):
    return f"Cook what you like best, {len(messages[0]['content'])}."
"""


def _functions(folder: Path) -> None:
    (folder / f"{FUNCTIONS_MODULE}.py").write_text(FUNCTIONS, encoding="utf-8")


def _two_answers(folder: Path) -> Path:
    """The same with two answers each, functions that choose, and two recordings: of letters and of likelihoods."""
    _functions(folder)
    letters, likely = [], []
    for n in range(6):
        for context in ("profile", "none", "wrong:profile"):
            for order in ("01", "10"):
                letters.append({"key": f"i{n}|{context}|{order}|0", "reply": "AB"[(n + len(context)) % 2]})
            for place in "01":
                score = -1.5 - 0.25 * int(place) - n / 8 - len(context) / 10
                likely.append(
                    {"key": f"i{n}|{context}|{place}|0", "reply": "", "letter_scores": {"likelihood": score}}
                )
    write_lines(folder / "letters.jsonl", letters)
    write_lines(folder / "likely.jsonl", likely)
    return _many_answers(folder, answers=2)


def _known_things(folder: Path) -> Path:
    """Attributes in the published layout, and functions that say which matter."""
    _functions(folder)
    return relevance_world.write_world(folder, relevance_world.rows())


def _marked_pairs(folder: Path) -> Path:
    """Preferences, and functions that mark and score answers."""
    _functions(folder)
    return write_preferences(folder)


def _many_answers(folder: Path, answers: int = 9) -> Path:
    """A folder of choices among nine answers."""
    (folder / "benchmark.toml").write_text(
        'name = "many"\nversion = "1"\nlanguage = ["en"]\ngold = "author"\n', encoding="utf-8"
    )
    people = [{"id": f"p{n}", "language": "en", "facets": {"Likes": f"dish {n}"}} for n in range(6)]
    products, items, gold = [], [], []
    for n in range(6):
        texts = [f"Cook dish {(n + k) % 9}" + ", slowly" * (k % 3) for k in range(answers)]
        products += [{"id": f"a{n}-{k}", "kind": "answer", "text": text} for k, text in enumerate(texts)]
        items.append(
            {
                "id": f"i{n}",
                "person": f"p{n}",
                "prompt": "What shall I cook?",
                "products": [f"a{n}-{k}" for k in range(answers)],
            }
        )
        gold.append({"item": f"i{n}", "rater": "author", "label": "0"})
    for name, rows in (("people", people), ("products", products), ("items", items), ("gold", gold)):
        write_lines(folder / f"{name}.jsonl", rows)
    return folder


def _shared(name: str) -> Path:
    return SHARED / name


_FUNCTIONS = [
    "python:golden_functions:longest",
    "python:golden_functions:second",
    "aspects:python:golden_functions:aspects",
    "replay:letters.jsonl",
    "replay:likely.jsonl,ask=likelihood",
    "fitted:general-zh",
]

CASES: Sequence[Case] = (
    Case(
        "choice-rules",
        "starter",
        {"raters": [f"rule:{name}" for name in ("length", "overlap", "second-person", "markup", "name")]},
    ),
    Case("choice-models", "starter", {"raters": [JUDGE, PLAIN], "limit": 40}),
    Case("choice-aspects", "starter", {"raters": [f"aspects:{JUDGE}"], "limit": 16}),
    Case(
        "choice-guards",
        "starter",
        {
            "raters": [f"{JUDGE},guard={name}" for name in ("off", "marks", "nonce", "all")],
            "contexts": ["profile"],
            "limit": 8,
        },
    ),
    Case(
        "choice-memories",
        "starter",
        {
            "raters": [PLAIN],
            "contexts": [
                "none",
                "memory:by=bm25",
                "wrong:memory:by=bm25",
                "memory:by=bm25+filter",
                "induced",
                "wrong:induced",
                "history",
                "profile:Preferences",
            ],
            "people": "4",
            "limit": 16,
        },
    ),
    Case(
        "choice-samples",
        "starter",
        {"raters": [f"{PLAIN},temperature=1"], "contexts": ["profile"], "limit": 6, "samples": 3},
    ),
    Case("choice-many", "many", {"raters": [JUDGE, "rule:length"]}, _many_answers),
    Case(
        "choice-functions",
        "many",
        {"raters": _FUNCTIONS},
        _two_answers,
    ),
    Case(
        "answers-made",
        "answers",
        {"systems": [SYSTEM], "system_contexts": ["profile"], "raters": [JUDGE], "limit": 8},
    ),
    Case("answers-log", "answers", {"raters": [PLAIN, "rule:length"]}, log=_answer_log),
    Case("injection", "injection", {"raters": [PLAIN], "limit": 8}),
    Case(
        "relevance-rules",
        "recentering",
        {"raters": ["rule:bm25", "rule:overlap", "rule:always-yes"]},
        STARTER,
    ),
    Case(
        "relevance-functions",
        "recentering",
        {"raters": ["python:golden_functions:relevant", "python:golden_functions:scored"]},
        _known_things,
    ),
    Case(
        "relevance-models",
        "recentering",
        {
            "raters": [JUDGE, f"list:{PLAIN}", f"graded:{JUDGE}", f"pair:{PLAIN}"],
            "contexts": ["none", "reason", "attribute-alone"],
            "people": "4",
        },
        STARTER,
    ),
    Case(
        "preference",
        "responses",
        {"raters": [JUDGE, f"mention:{PLAIN}", "rule:length", "rule:mention"]},
        STARTER,
    ),
    Case(
        "preference-functions",
        "responses",
        {"raters": ["python:golden_functions:marks", "python:golden_functions:Scorer"]},
        _marked_pairs,
    ),
    Case("preference-folder", "responses", {"raters": [PLAIN]}, write_preferences),
    Case("preference-pairs", "responses", {"raters": [PLAIN, "rule:mention"]}, write_pairs),
    Case("preference-made", "responses", {"systems": [SYSTEM], "raters": [PLAIN], "limit": 4}, STARTER),
    Case(
        "dialogues",
        "personalens",
        {
            "systems": [SYSTEM, "canned"],
            "user": USER,
            "raters": [JUDGE],
            "contexts": ["given", "full"],
            "limit": 4,
        },
        STARTER,
    ),
    Case(
        "dialogues-thinking",
        "personalens",
        {
            "systems": [SYSTEM],
            "user": f"{USER},style=cot",
            "raters": [f"{PLAIN},samples=2"],
            "system_contexts": ["D+I+S"],
            "limit": 2,
        },
        STARTER,
    ),
    Case("writing", "lamp-writing", {"systems": [SYSTEM]}, neighbours_world.lamp_writing),
    Case(
        "shared-personafeedback",
        "personafeedback",
        {"raters": [JUDGE], "limit": 40},
        _shared("personafeedback"),
    ),
    Case(
        "shared-recentering",
        "recentering",
        {"raters": ["rule:bm25", f"list:{PLAIN}"], "people": "4"},
        _shared("recentering"),
    ),
    Case(
        "shared-responses",
        "responses",
        {"raters": [PLAIN, "rule:mention"], "limit": 24},
        _shared("recentering"),
    ),
    Case(
        "shared-personalens",
        "personalens",
        {"systems": [SYSTEM], "user": USER, "raters": [JUDGE], "system_contexts": ["none", "I"], "limit": 3},
        _shared("personalens"),
    ),
    Case("shared-prefeval", "prefeval", {"raters": [JUDGE], "limit": 30}, _shared("prefeval")),
)

_RULES = [f"rule:{name}" for name in ("length", "overlap", "second-person", "markup", "name")]

STORED: Sequence[Case] = (
    Case("choice", "starter", {"raters": [JUDGE, f"aspects:{PLAIN}", *_RULES], "limit": 2}),
    Case(
        "guards",
        "starter",
        {
            "raters": [f"{PLAIN},guard={name}" for name in ("off", "marks", "nonce", "all")],
            "contexts": ["profile"],
            "limit": 1,
        },
    ),
    Case(
        "memories",
        "starter",
        {"raters": [PLAIN], "contexts": ["memory:by=bm25+filter", "induced"], "people": "1", "limit": 2},
    ),
    Case("functions", "many", {"raters": _FUNCTIONS}, _two_answers),
    Case(
        "answers",
        "answers",
        {"systems": [SYSTEM], "system_contexts": ["profile"], "raters": [JUDGE], "limit": 2},
    ),
    Case("injection", "injection", {"raters": [PLAIN], "limit": 1}),
    Case(
        "relevance",
        "recentering",
        {
            "raters": [JUDGE, f"list:{PLAIN}", f"graded:{JUDGE}", "rule:bm25", "rule:overlap"],
            "contexts": ["none", "reason", "attribute-alone"],
            "people": "1",
        },
        STARTER,
    ),
    Case(
        "relevance-functions",
        "recentering",
        {"raters": ["python:golden_functions:relevant"], "people": "1"},
        _known_things,
    ),
    Case(
        "preference",
        "responses",
        {"raters": [JUDGE, f"mention:{PLAIN}", "rule:mention"], "limit": 3},
        STARTER,
    ),
    Case(
        "preference-functions",
        "responses",
        {"raters": ["python:golden_functions:marks", "python:golden_functions:Scorer"], "limit": 2},
        _marked_pairs,
    ),
    Case("preference-made", "responses", {"systems": [SYSTEM], "raters": [PLAIN], "limit": 1}, STARTER),
    Case(
        "dialogues",
        "personalens",
        {
            "systems": [SYSTEM, "canned"],
            "user": USER,
            "raters": [JUDGE],
            "contexts": ["given", "full"],
            "limit": 1,
        },
        STARTER,
    ),
    Case(
        "dialogues-thinking",
        "personalens",
        {
            "systems": [SYSTEM],
            "user": f"{USER},style=cot",
            "raters": [f"{PLAIN},samples=2"],
            "system_contexts": ["I"],
            "limit": 1,
        },
        STARTER,
    ),
    Case("writing", "lamp-writing", {"systems": [SYSTEM]}, neighbours_world.lamp_writing),
)
"""Runs of every kind and every instrument that lie in a store of an earlier version, as small as they can be."""
