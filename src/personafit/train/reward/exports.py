"""Pairs for other trainers: the layouts that TRL, OpenRLHF and LLaMA-Factory read, with the person told as ours is.

The person stands in the system turn, in the words our own models read; TRL's file keeps the fields as well, so that it can be
trained on here again.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from personafit._errors import UserError
from personafit.build.pairs import trl_row
from personafit.models.reward.rendering import KNOWN
from personafit.people import render_facets
from personafit.train.pairs import PreferencePair

Target = Literal["trl", "openrlhf", "llamafactory"]


def write_pairs(pairs: Sequence[PreferencePair], path: Path, target: Target) -> list[Path]:
    """Write the pairs for a trainer; returns what was written."""
    if not pairs:
        raise UserError("There are no decided pairs of two answers to write.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if target == "llamafactory":
            return _write_llamafactory(pairs, path)
        row: Callable[[PreferencePair], dict[str, Any]] = _trl if target == "trl" else _openrlhf
        with path.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(row(pair), ensure_ascii=False) + "\n" for pair in pairs)
        return [path]
    except OSError as error:
        raise UserError(f"{path} cannot be written ({error.strerror}).") from error


def _trl(pair: PreferencePair) -> dict[str, Any]:
    """What TRL's RewardTrainer takes as it is; the rest is ours."""
    row = trl_row(pair.person, pair.facets, pair.question, pair.chosen, pair.rejected, pair.tier)
    return {**row, "margin": pair.margin} if pair.margin else row


def _openrlhf(pair: PreferencePair) -> dict[str, Any]:
    """Two whole conversations, for `--apply_chat_template --chosen_key chosen --rejected_key rejected`."""
    asked = [{"role": "system", "content": _known(pair)}] if pair.facets else []
    asked.append({"role": "user", "content": pair.question})
    row: dict[str, Any] = {
        side: [*asked, {"role": "assistant", "content": text}]
        for side, text in (("chosen", pair.chosen), ("rejected", pair.rejected))
    }
    return {**row, "margin": pair.margin} if pair.margin else row


def _write_llamafactory(pairs: Sequence[PreferencePair], path: Path) -> list[Path]:
    """A list of preferences in the alpaca layout, and the entry for its dataset_info.json beside it."""
    columns = {"prompt": "instruction", "query": "input"} | {
        name: name for name in ("system", "chosen", "rejected")
    }
    rows = [
        dict(
            zip(columns.values(), (pair.question, "", _known(pair), pair.chosen, pair.rejected), strict=True)
        )
        for pair in pairs
    ]
    info = path.parent / "dataset_info.json"
    try:
        known: dict[str, Any] = json.loads(info.read_text(encoding="utf-8")) if info.is_file() else {}
    except ValueError as error:
        raise UserError(f"{info} is there already and is not JSON ({error}); mend or move it.") from error
    known[path.stem] = {"file_name": path.name, "ranking": True, "columns": columns}
    for file, value in ((path, rows), (info, known)):
        file.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return [path, info]


def _known(pair: PreferencePair) -> str:
    return KNOWN.format(person=render_facets(pair.facets)) if pair.facets else ""
