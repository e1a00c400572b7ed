"""The answers step: to each question some that know the person, some that know little, some that know nothing."""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from math import ceil
from typing import Any

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.factory.answers.drafts import (
    BETTER,
    FOR_ANYBODY,
    FOR_PERSON,
    LESS_HELPFUL,
    LESS_PERSONAL,
    AnswerDraft,
    Bearing,
    PersonQuestion,
    ask,
    blocks,
    first_drafts,
    rewrite_drafts,
)
from personafit.factory.answers.texts import TEMPLATE, first_answer, known_of, rewritten
from personafit.factory.bench import Bench
from personafit.factory.questions.blocks import BENCHMARK_SPLIT, expected_people
from personafit.factory.sections import AnswersSection, QuestionsSection
from personafit.factory.step import BuildStep, ExpectedAsks, table
from personafit.models.embeddings import make_embedder
from personafit.store import Product


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in sorted(counts.items()))


ENOUGH_TO_TELL = 10  # first answers by which a model of no use is found out
LEAST_USABLE = 0.2  # of them
ATTEMPTS = 2  # asks for one answer, each with the model told what was wrong once


class AnswersStep(BuildStep):
    """A pool of answers to every question."""

    name = "answers"
    after = ("people", "questions")
    uses = ("memories", "features")
    section = AnswersSection
    roles = ("answerers",)
    prompts = (FOR_PERSON, FOR_ANYBODY, BETTER, LESS_PERSONAL, LESS_HELPFUL)

    def expected(self, bench: Bench) -> Iterator[ExpectedAsks]:
        """First answers by each drawn model, then those written anew."""
        section, asked = bench.config.section(AnswersSection), bench.config.section(QuestionsSection)
        questions, pool = expected_people(bench, asked) * (asked.specific + asked.general), bench.pool()
        makers = min(section.makers, len(pool))
        first, again = questions * makers * section.each, questions * (section.improved + section.degraded)
        if section.tries:
            first, again = min(first, section.tries), min(again, section.tries // 2)
        long = round(1.4 * section.words)
        for model in pool:
            yield ExpectedAsks("answers", model, ceil(first / len(pool)), 260, long)
            if again:
                yield ExpectedAsks("rewrites", model, ceil(again / len(pool)), 260 + long, long)

    async def make(self, bench: Bench) -> None:
        """Block after block of people."""
        section = bench.config.section(AnswersSection)
        bearing = Bearing(section, make_embedder() if section.bearing == "embedding" else None)
        seed, proven = (bench.seed, bench.take), False
        left = [section.tries, section.tries // 2] if section.tries else [sys.maxsize, sys.maxsize]
        for block in blocks(bench):
            first_drafts(block, section, len(bench.pool()), bearing, seed)
            bearing.forget()
            drafts = [draft for asked in block for draft in asked.drafts]
            contexts = {draft.given: draft for draft in drafts}
            for draft in contexts.values():
                if draft.told is not None:
                    bench.add(draft.told.product)
                    if draft.asked.row["split"] == BENCHMARK_SPLIT:
                        bench.write(draft.told.product, "products")
            await ask(bench, _plainest(drafts, left[0]), section, "answers")
            if not proven and section.asks == "whole":
                proven = _prove(bench, drafts)
            await self._again(bench, section, drafts)
            self._fill(bench, section, drafts, seed)
            again = rewrite_drafts(block, section, seed)
            await ask(bench, _plainest(again, left[1]), section, "rewrites")
            await self._again(bench, section, again)
            left = [max(0, left[0] - len(drafts)), max(0, left[1] - len(again))]
            self._fill(bench, section, again, seed)
            for asked in block:
                self._write(bench, asked)

    async def _again(self, bench: Bench, section: AnswersSection, drafts: list[AnswerDraft]) -> None:
        """Ask anew for what could not be used; for small models our template does that."""
        for attempt in range(1, ATTEMPTS) if section.asks == "whole" else ():
            if missing := [draft for draft in drafts if not draft.made_by]:
                await ask(bench, missing, section, "asked anew", attempt)

    def _fill(
        self, bench: Bench, section: AnswersSection, drafts: list[AnswerDraft], seed: tuple[int, int]
    ) -> None:
        """Say why a model's reply was of no use; for small models our template stands in."""
        pool = bench.pool()
        for draft in drafts:
            if draft.made_by:
                continue
            person = draft.meant_for
            if draft.answer is not None:
                bench.reject(draft.key, draft.answer.reason, about=person.id, by=pool[draft.maker].name)
            if section.asks == "whole":
                continue
            known = known_of(person, draft.told.text) if draft.told else []
            language, key = draft.asked.row["language"], (*seed, draft.key)
            if draft.parent is None:
                text: str | None = first_answer(language, known, section.words, *key)
            else:
                text = rewritten(language, draft.parent.text, draft.direction or "", known, *key)
            if text is None:
                bench.reject(draft.key, "no sentence of ours is as long", about=person.id, by=TEMPLATE)
                continue
            draft.text, draft.made_by = text, TEMPLATE
            draft.product = hash_text(TEMPLATE, draft.key, text)
            bench.add(_product(draft))

    def _write(self, bench: Bench, asked: PersonQuestion) -> None:
        pool = bench.pool()
        for draft in asked.drafts:
            if not draft.made_by:
                continue
            row: dict[str, Any] = {
                "id": draft.product,
                "question": asked.row["id"],
                "person": asked.person.id,
                "strategy": draft.strategy,
                "direction": draft.direction,
                "given": draft.given,
                "masked": list(draft.told.masked) if draft.told and draft.strategy == "A2" else [],
                "model": pool[draft.maker].name,
                "maker": draft.made_by,
                "parent": draft.parent.product if draft.parent else None,
                "written_for": draft.meant_for.id,
                "text": draft.text,
                "split": asked.row["split"],
            }
            bench.write(row)
            if asked.row["split"] == BENCHMARK_SPLIT:
                bench.write(_product(draft), "products")

    def card(self, bench: Bench) -> str:
        """How many by which strategy and model, how long, and what was masked."""
        kinds: Counter[str] = Counter()
        lengths: Counter[str] = Counter()
        by: Counter[str] = Counter()
        ways: Counter[str] = Counter()
        masked = 0
        for row in bench.read_rows("answers"):
            strategy = row["strategy"]
            kinds[strategy] += 1
            lengths[strategy] += len(row["text"])
            masked += len(row.get("masked", ()))
            by[TEMPLATE if row["maker"] == TEMPLATE else row["model"]] += 1
            if row.get("direction"):
                ways[row["direction"]] += 1
        lines = [
            "## Answers",
            "",
            f"{kinds.total():,} answers: {_listed(by)}. For A2 {masked / max(1, kinds['A2']):.1f} fields of the profile were "
            f"masked on average; `steps/answers/` says which. Written anew: {_listed(ways) or 'none'}.",
            "",
        ]
        means = ((name, count, f"{lengths[name] / count:,.0f}") for name, count in sorted(kinds.items()))
        lines += table(("strategy", "answers", "mean characters"), means)
        if by[TEMPLATE]:
            lines += [
                "",
                f"{by[TEMPLATE]:,} of them are put together by our template ({TEMPLATE}), which stands in for replies that failed "
                "their checks; they show the line and not what a model can do.",
            ]
        if reasons := bench.reasons(",").most_common(12):
            lines += ["", *table(("rejected because", "answers"), reasons)]
        return "\n".join(lines)


def _product(draft: AnswerDraft) -> Product:
    return Product(
        id=draft.product,
        kind="answer",
        text=draft.text,
        maker=draft.made_by,
        given=draft.given,
        about=draft.meant_for.id,
        parents=[draft.asked.row["id"], *([draft.parent.product] if draft.parent else [])],
    )


def _plainest(drafts: Sequence[AnswerDraft], most: int) -> Sequence[AnswerDraft]:
    """What a small model is asked for: first where it is told the least."""
    return drafts if most >= len(drafts) else sorted(drafts, key=lambda draft: draft.told is not None)[:most]


def _prove(bench: Bench, drafts: Sequence[AnswerDraft]) -> bool:
    """Stop at once where a model's answers are of no use, or all of them the same; True once that is known."""
    pool = bench.pool()
    for place, model in enumerate(pool):
        mine = [draft for draft in drafts if draft.maker == place]
        usable = [draft.text for draft in mine if draft.made_by]
        if len(mine) < ENOUGH_TO_TELL:
            continue
        if len(usable) < LEAST_USABLE * len(mine):
            reasons = Counter(draft.answer.reason for draft in mine if draft.answer and not draft.made_by)
            raise UserError(
                f"answers: of the first {len(mine):,} by {model.name} {len(usable):,} could be used (most often: "
                f'{reasons.most_common(1)[0][0]}); name another model, or set asks = "short" in [answers].',
                code=1,
            )
        if len(set(usable)) == 1:
            raise UserError(
                f"answers: {model.name} gives one and the same answer to everything; name another model in [models].",
                code=1,
            )
    return len(drafts) >= ENOUGH_TO_TELL
