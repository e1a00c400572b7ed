"""Writes the JSON Schemas of all records from the code, or with --check says whether the files have drifted."""

import json
import sys
from pathlib import Path

from pydantic import BaseModel

from personafit.benchmarks.answers import AnswerRow
from personafit.benchmarks.benchmark import BenchmarkInfo
from personafit.people import Attribute, Conversation, Memory, Person, Task
from personafit.store import Ask, Item, Judgment, Product, RaterRecord

FOLDER = Path(__file__).parent
RECORDS: dict[str, type[BaseModel]] = {
    "answer-log": AnswerRow,
    "ask": Ask,
    "attribute": Attribute,
    "benchmark": BenchmarkInfo,
    "conversation": Conversation,
    "item": Item,
    "judgment": Judgment,
    "memory": Memory,
    "person": Person,
    "product": Product,
    "rater": RaterRecord,
    "task": Task,
}


def rendered(model: type[BaseModel]) -> str:
    """The schema as the file should hold it."""
    return json.dumps(model.model_json_schema(), indent=2, ensure_ascii=False) + "\n"


def drifted() -> list[str]:
    """Names of the files that do not match the code."""
    stale = []
    for name, model in RECORDS.items():
        path = FOLDER / f"{name}.json"
        if not path.is_file() or path.read_text(encoding="utf-8") != rendered(model):
            stale.append(path.name)
    known = {f"{name}.json" for name in RECORDS}
    return stale + sorted(path.name for path in FOLDER.glob("*.json") if path.name not in known)


def main() -> int:
    """Write or check."""
    if "--check" in sys.argv:
        stale = drifted()
        if stale:
            print(f"docs/schema has drifted from the code ({', '.join(stale)}): run `make schema`.")
        return 1 if stale else 0
    for name, model in RECORDS.items():
        (FOLDER / f"{name}.json").write_text(rendered(model), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
