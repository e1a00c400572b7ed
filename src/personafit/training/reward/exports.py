"""Pairs for other trainers: the layouts that TRL, OpenRLHF and LLaMA-Factory read, with the person told as ours is.

The person stands in the system turn, in the words our own models read; TRL's file keeps the fields as well, so that it can be
trained on here again.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from personafit._errors import UserError
from personafit.factory.pairs.step import trl_row
from personafit.models.reward.rendering import KNOWN
from personafit.people import render_facets
from personafit.training.reward.pairs import RewardPair

Target = Literal["trl", "openrlhf", "llamafactory"]


def write_pairs(pairs: Sequence[RewardPair], path: Path, target: Target) -> list[Path]:
    """Write the pairs for a trainer; returns what was written."""
    if not pairs:
        raise UserError("There are no decided pairs of two answers to write.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if target == "llamafactory":
            return _write_llamafactory(pairs, path)
        row: Callable[[RewardPair], dict[str, Any]] = _trl if target == "trl" else _openrlhf
        with path.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(row(pair), ensure_ascii=False) + "\n" for pair in pairs)
        return [path]
    except OSError as error:
        raise UserError(f"{path} cannot be written ({error.strerror}).") from error


def _trl(pair: RewardPair) -> dict[str, Any]:
    """What TRL's RewardTrainer takes as it is; the rest is ours."""
    row = trl_row(pair.person, pair.facets, pair.question, pair.chosen, pair.rejected, pair.tier)
    return {**row, "margin": pair.margin} if pair.margin else row


def _openrlhf(pair: RewardPair) -> dict[str, Any]:
    """Two whole conversations, for `--apply_chat_template --chosen_key chosen --rejected_key rejected`."""
    asked = _asked(pair)
    row: dict[str, Any] = {
        "chosen": [*asked, _answer(pair.chosen)],
        "rejected": [*asked, _answer(pair.rejected)],
    }
    return {**row, "margin": pair.margin} if pair.margin else row


def _write_llamafactory(pairs: Sequence[RewardPair], path: Path) -> list[Path]:
    """A list of preferences in the alpaca layout, and the entry for its dataset_info.json beside it."""
    rows = [
        {
            "instruction": pair.question,
            "input": "",
            "system": _known(pair),
            "chosen": pair.chosen,
            "rejected": pair.rejected,
        }
        for pair in pairs
    ]
    columns = {name: name for name in ("system", "chosen", "rejected")} | {
        "prompt": "instruction",
        "query": "input",
    }
    entry = {path.stem: {"file_name": path.name, "ranking": True, "columns": columns}}
    info = path.parent / "dataset_info.json"
    try:
        known: dict[str, Any] = json.loads(info.read_text(encoding="utf-8")) if info.is_file() else {}
    except ValueError as error:
        raise UserError(f"{info} is there already and is not JSON ({error}); mend or move it.") from error
    path.write_text(json.dumps(rows, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    info.write_text(json.dumps({**known, **entry}, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return [path, info]


def _asked(pair: RewardPair) -> list[dict[str, str]]:
    known = [{"role": "system", "content": _known(pair)}] if pair.facets else []
    return [*known, {"role": "user", "content": pair.question}]


def _answer(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


def _known(pair: RewardPair) -> str:
    return KNOWN.format(person=render_facets(pair.facets)) if pair.facets else ""
