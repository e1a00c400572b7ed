"""Where finished pairs go: no repeats, the right split, a line in the layout of TRL's trainers and a row of lineage each."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from personafit._errors import located
from personafit._hashing import draw, hash_text
from personafit.benchmarks.helpfulness import RatedPair
from personafit.factory.bench import Bench
from personafit.factory.duplicates import BlockDuplicates, NearDuplicates
from personafit.factory.pairs.config import PairsSection
from personafit.factory.pairs.drafts import QuestionAnswers
from personafit.models.reward.rendering import KNOWN
from personafit.people import FacetValue, render_facets

NOT_PERSONAL = "not personal"


def trl_row(
    person: str, facets: Mapping[str, FacetValue], question: str, chosen: str, rejected: str, tier: str
) -> dict[str, Any]:
    """One pair; without facets it is nobody's. The person stands in the system turn, in the words our models read."""
    known = [{"role": "system", "content": KNOWN.format(person=render_facets(facets))}] if facets else []
    return {
        "prompt": [*known, {"role": "user", "content": question}],
        "chosen": [{"role": "assistant", "content": chosen}],
        "rejected": [{"role": "assistant", "content": rejected}],
        "person": dict(facets),
        "person_id": person,
        "tier": tier,
    }


FOLDER = "pairs"
SPLITS = ("train", "validation")


class Sink:
    """Takes finished pairs in."""

    def __init__(self, bench: Bench, section: PairsSection) -> None:
        self._bench, self._section = bench, section
        self._near = NearDuplicates(section.similarity) if section.similarity < 1 else None
        self._seen = BlockDuplicates(1.0)
        self._reasons: Counter[str] = Counter()
        (bench.out / FOLDER).mkdir(parents=True, exist_ok=True)
        self._files = {name: self._path(name, ".part").open("wb") for name in SPLITS}
        self.kept = 0

    def _path(self, split: str, end: str = ".jsonl") -> Path:
        return self._bench.out / FOLDER / f"{split}{end}"

    def take(self, todo: list[QuestionAnswers]) -> set[str]:
        """Take in the pairs of some units; the keys of those that made one."""
        made: set[str] = set()
        whole = [unit for unit in todo if self._usable(unit)]
        texts = [(unit.key, f"{unit.question}\n{unit.answers['chosen'].text}") for unit in whole]
        twins = self._near.add(texts) if self._near else [None] * len(whole)
        for unit, twin in zip(whole, twins, strict=True):
            if twin is not None:
                self.reject(unit, "chosen", f"near-duplicate of {twin}")
                continue
            before = self.kept
            for kind in unit.negatives:
                self._pair(unit, kind)
            if self.kept > before:
                made.add(unit.key)
        return made

    def _usable(self, unit: QuestionAnswers) -> bool:
        chosen = unit.answers["chosen"]
        if chosen.text is None:
            self.reject(unit, "chosen", chosen.reason)
        return chosen.text is not None

    def _pair(self, unit: QuestionAnswers, kind: str) -> None:
        chosen, rejected = unit.answers["chosen"], unit.answers[kind]
        if chosen.text is None or rejected.text is None:
            self.reject(unit, kind, rejected.reason)
            return
        if chosen.text == rejected.text:
            self.reject(unit, kind, "both answers are the same")
            return
        person = unit.person
        row = trl_row(person.id, person.facets, unit.question, chosen.text, rejected.text, kind)
        lineage = {
            "negative": kind,
            "direction": unit.direction if kind == "degraded" else None,
            "wrong_person": unit.other.id if kind == "wrong-person" and unit.other else None,
            "question": unit.asked or None,
            "given": chosen.target.given,
            "chosen": chosen.product,
            "rejected": rejected.product,
            "rejected_given": rejected.target.given,
            "makers": [chosen.maker, rejected.maker],
        }
        self._write(row, {name: value for name, value in lineage.items() if value}, person.id, kind)

    def general(self, pair: RatedPair, source: str) -> None:
        """A pair that is nobody's; it belongs to its prompt."""
        row = trl_row("", {}, pair.prompt, pair.better, pair.worse, NOT_PERSONAL)
        lineage = {"negative": NOT_PERSONAL, "source": located(source, pair.line), "gap": pair.gap}
        self._write(row, lineage, f"?{hash_text(pair.prompt)}", NOT_PERSONAL)

    def _write(self, row: dict[str, Any], lineage: dict[str, Any], owner: str, kind: str) -> None:
        key = hash_text(*(row[name][-1]["content"] for name in ("prompt", "chosen", "rejected")))
        self._seen.offer([("", key)])
        if self._seen.twin(0, key) is not None:
            self._bench.reject(f"{owner}/{key[:8]}", "exact duplicate of a pair", by="rule:duplicates")
            return
        part = draw(self._bench.seed, "split", owner, among=10_000)
        split = SPLITS[part < self._section.validation * 10_000]
        self._files[split].write(orjson.dumps({**row, "lineage": lineage}, option=orjson.OPT_APPEND_NEWLINE))
        longer = len(row["chosen"][-1]["content"]) > len(row["rejected"][-1]["content"])
        told = {"id": key, "negative": kind, "split": split, "chosen_longer": longer}
        self._bench.write({**told, "person_hash": hash_text(owner)[:12], "lineage": lineage})
        self.kept += 1

    def reject(self, unit: QuestionAnswers, kind: str, reason: str) -> None:
        """Keep what could not become a pair, and why."""
        self._reasons[reason] += 1
        by = self._bench.pool()[unit.model].name
        self._bench.reject(f"{unit.key}/{kind}", reason, unit.question, about=unit.person.id, by=by)

    def nothing(self) -> str:
        """The sentence for a build from which no pair came."""
        most = self._reasons.most_common(1)
        because = f" (most often: {most[0][0]})" if most else ""
        return (
            f"pairs: none of the first people's answers made a pair{because}; name other models in [models]."
        )

    def close(self) -> None:
        """End the files."""
        for file in self._files.values():
            file.close()

    def publish(self) -> None:
        """Give the files their final names."""
        for name in SPLITS:
            self._path(name, ".part").replace(self._path(name))
