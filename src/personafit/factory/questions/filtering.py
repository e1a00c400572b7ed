"""The pool made ready: questions by rule and by verdict open, none twice, each with its category, apart for training.

Everything of the pool that may be used is in memory, a few thousand questions at most.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from personafit._errors import UserError
from personafit._hashing import draw, hash_text
from personafit.factory.asking import Target, chosen
from personafit.factory.bench import Bench, RequestBatch
from personafit.factory.questions.blocks import BENCHMARK_SPLIT, TRAINING_SPLIT
from personafit.factory.questions.config import QuestionsSection
from personafit.factory.questions.duplicates import KnownQuestions
from personafit.factory.questions.keeping import DROPPED, REVIEWER, Keeping
from personafit.factory.questions.pool import OWN, PoolQuestion, read_pool
from personafit.factory.questions.prompts import CLOSED, KINDS, OPENNESS
from personafit.factory.questions.subjective import OPEN, kind_of, unfit_for_pool
from personafit.factory.questions.topics import Topics
from personafit.models.embeddings import Embedder, Vectors

RULE, LIKENESS = "rule:open-1", "rule:near-duplicates"


@dataclass(frozen=True)
class Shelf:
    """The questions for people of one language and split."""

    entries: tuple[PoolQuestion, ...]
    vectors: Vectors


async def shelves(
    bench: Bench,
    section: QuestionsSection,
    known: KnownQuestions,
    keeping: Keeping,
    embedder: Embedder,
    topics: Topics,
    people: dict[tuple[str, str], int],
) -> dict[tuple[str, str], Shelf]:
    """What is left of the pool, by language and split; `people` says how many need it."""
    filtering = _Filtering(bench, section, keeping, {language for language, _ in people})
    entries = filtering.by_rule()
    entries = filtering.new(entries, known)
    entries = await filtering.judged(entries)
    entries = _categorised(entries, topics)
    found = {}
    for (language, split), count in people.items():
        mine = tuple(
            one for one in entries if one.language == language and _split(bench, people, one) == split
        )
        if len(mine) < section.general or len(mine) * section.reuse < count * section.general:
            raise UserError(filtering.too_few(language, split, len(mine), count))
        found[language, split] = Shelf(mine, embedder.embed([one.text for one in mine]))
    return found


class _Filtering:
    """Takes out what cannot be a general question, and remembers why."""

    def __init__(
        self, bench: Bench, section: QuestionsSection, keeping: Keeping, languages: set[str]
    ) -> None:
        self._bench, self._section, self._keeping, self._languages = bench, section, keeping, languages
        self._reasons: Counter[str] = Counter()
        self._read = 0

    def by_rule(self) -> list[PoolQuestion]:
        """Those no rule takes out, in a seeded order, as many as will be judged."""
        kept: dict[str, PoolQuestion] = {}
        for entry in read_pool([self._bench.config.place(one) for one in self._section.pool]):
            if entry.language not in self._languages:
                continue
            self._read += 1
            reason = unfit_for_pool(entry.text, entry.language, self._section.shortest, self._section.longest)
            if self._keeping.review.dropped(entry.source):
                self._out(entry, DROPPED, REVIEWER)
            elif not reason or not self._out(entry, reason, RULE):
                kept.setdefault(entry.text, entry)
        order = sorted(
            kept.values(), key=lambda one: hash_text("pool", str(self._bench.seed), one.source, one.text)
        )
        return order[: self._section.judged]

    def new(self, entries: Sequence[PoolQuestion], known: KnownQuestions) -> list[PoolQuestion]:
        """Those that do not say what another says."""
        twins = known.add([(entry.source, entry.text) for entry in entries])
        return [
            entry
            for entry, twin in zip(entries, twins, strict=True)
            if twin is None or not self._out(entry, f"near-duplicate of: {twin}", LIKENESS)
        ]

    async def judged(self, entries: Sequence[PoolQuestion]) -> list[PoolQuestion]:
        """Those the checker finds open; a small model is asked only where the rule cannot tell."""
        checker, kept = self._bench.model("checker"), []
        sure = [self._section.asks == "short" and kind_of(entry.text) == OPEN for entry in entries]
        asked = [entry for entry, known in zip(entries, sure, strict=True) if not known]
        answers = await self._bench.ask(RequestBatch(checker, lambda: _wanted(asked), len(asked), "pool"))
        for entry, known in zip(entries, sure, strict=True):
            answer = None if known else next(answers)
            reason = ""
            if answer is not None and answer.text is None:
                reason = f"could not be judged: {answer.reason}"
            elif answer is not None and answer.text is not None:
                reason = CLOSED.get(answer.text, "")
            if reason:
                self._keeping.queue(entry.source, "", entry.text, reason)
            if not reason or not self._out(entry, reason, checker.name):
                kept.append(entry)
        return kept

    def too_few(self, language: str, split: str, left: int, people: int) -> str:
        """The sentence for a pool that cannot fill the quota."""
        section, place = self._section, self._bench.config.place
        named = ", ".join(str(place(one)) for one in section.pool) or "our own pool"
        if not self._read:
            return f"{named}: there is no question in '{language}' in it; add some, or set general = 0 in [questions]."
        most = self._reasons.most_common(1)
        why = f" (most often out: {most[0][0]})" if most else ""
        return (
            f"{named}: {left} of {self._read:,} questions are open ones in '{language}' for {split} people{why}, and general = "
            f"{section.general} for {people:,} people with reuse = {section.reuse} needs at least "
            f"{max(section.general, -(-people * section.general // section.reuse)):,}; add questions, or ask for fewer."
        )

    def _out(self, entry: PoolQuestion, reason: str, by: str) -> bool:
        """Whether a question is out for a reason: not if a person wants to keep it."""
        if self._keeping.review.kept(entry.source):
            return False
        self._reasons[reason.partition(":")[0]] += 1
        self._bench.reject(entry.source, reason, entry.text, by=by)
        return True


def maker_of(entry: PoolQuestion) -> str:
    """Who made a question of a pool: the pool."""
    source = entry.source.rpartition("#")[0]
    return source if source == OWN else f"pool:{source}"


def _wanted(entries: Sequence[PoolQuestion]) -> Iterator[Target]:
    for entry in entries:
        yield Target(
            f"pool/{entry.source}",
            OPENNESS,
            entry.language,
            {"question": entry.text},
            kind="verdict",
            read=chosen(KINDS),
            letters=KINDS,
            parents=(entry.source,),
            max_tokens=8,
            temperature=0.0,
        )


def _split(bench: Bench, people: dict[tuple[str, str], int], entry: PoolQuestion) -> str:
    """Whose a question is: benchmark and training people never share one."""
    counts = {split: count for (language, split), count in people.items() if language == entry.language}
    place = draw("pool-split", bench.seed, entry.text, among=sum(counts.values()))
    return BENCHMARK_SPLIT if place < counts.get(BENCHMARK_SPLIT, 0) else TRAINING_SPLIT


def _categorised(entries: Sequence[PoolQuestion], topics: Topics) -> list[PoolQuestion]:
    """Each with a category and scenario: its own, or those of the nearest of our questions."""
    found = []
    for entry in entries:
        if not entry.scenario:
            near = topics.nearest([entry.text], entry.language)[0]
            best = next(one for one in near if entry.category in ("", one.category))
            entry = replace(entry, category=best.category, scenario=best.name)
        found.append(entry)
    return found
