"""The pool of general questions: a user's files, or our own small one, with the language and source of each question."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from personafit._errors import UserError, located
from personafit.benchmarks.lines import read_lines, required_text
from personafit.factory.config import meant
from personafit.factory.questions.scenarios import categories, data_text

OWN = "pool:personafit-1"
_WIDE = re.compile(r"[\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class PoolQuestion:
    """One question of a pool."""

    text: str
    language: str
    source: str
    """The file and line it is from."""
    category: str = ""
    """Empty where the file does not say."""
    scenario: str = ""


def read_pool(paths: Sequence[Path]) -> Iterator[PoolQuestion]:
    """All questions of the files, or ours where there are none."""
    if not paths:
        for number, line in enumerate(data_text("pool.jsonl").splitlines(), 1):
            yield _entry(orjson.loads(line), f"{OWN}#{number}")
    for path in paths:
        yield from _rows(path) if path.suffix == ".jsonl" else _lines(path)


def _rows(path: Path) -> Iterator[PoolQuestion]:
    for number, row in read_lines(path):
        required_text(row, "text", path, number)
        category, scenario = row.get("category") or "", row.get("scenario") or ""
        if category and category not in categories():
            raise UserError(
                f"{located(path, number, 'category')}: there is no category '{category}'; {meant(str(category), list(categories()))}."
            )
        known = [one.name for one in categories()[category].scenarios] if category else []
        if scenario and scenario not in known:
            raise UserError(
                f"{located(path, number, 'scenario')}: there is no scenario '{scenario}' of that category; {meant(str(scenario), known)}."
            )
        yield _entry(row, f"{path.name}#{number}")


def _lines(path: Path) -> Iterator[PoolQuestion]:
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield _entry({"text": line}, f"{path.name}#{number}")
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}); check `pool`.") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8; save it as UTF-8.") from error


def _entry(row: dict[str, Any], source: str) -> PoolQuestion:
    text = " ".join(str(row["text"]).split())
    return PoolQuestion(
        text=text,
        language=language_of(text),
        source=source,
        category=row.get("category") or "",
        scenario=row.get("scenario") or "",
    )


def language_of(text: str) -> str:
    """The language a question is in: zh where a third of its characters are Chinese."""
    return "zh" if len(_WIDE.findall(text)) > len(text) / 3 else "en"
