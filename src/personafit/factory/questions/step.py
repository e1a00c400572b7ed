"""The questions step: specific and general questions for everyone, checked, until there are enough."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from personafit._hashing import hash_text
from personafit.factory.bench import Bench
from personafit.factory.duplicates import NearDuplicates
from personafit.factory.questions.blocks import (
    BENCHMARK_SPLIT,
    GENERAL,
    SPECIFIC,
    TRAINING_SPLIT,
    Keeping,
    blocks,
    everyone,
    expected_people,
    splits_of,
)
from personafit.factory.questions.general import MATCH, OPENNESS, General, shelves
from personafit.factory.questions.scenarios import Topics, categories, data_text
from personafit.factory.questions.specific import (
    CHECK,
    REPHRASE,
    REWRITE,
    SHORT,
    TEMPLATE,
    WRITE,
    QuestionSampler,
    Specific,
)
from personafit.factory.rows import Review
from personafit.factory.sections import QuestionsSection
from personafit.factory.step import BuildStep, ExpectedAsks, table
from personafit.models.embeddings import make_embedder

PUBLISHED = {SPECIFIC: "over 4,000", GENERAL: "3,841"}  # questions, section 3.2
SOURCE = "PersonaFeedback, arXiv 2506.12915"
HALVES = (SPECIFIC, GENERAL)


OWN_OPEN = 33  # questions of our pool in each language that no rule takes out
DATA = ("scenarios.toml", "examples.jsonl", "pool.jsonl")


class QuestionsStep(BuildStep):
    """Questions for everyone."""

    name = "questions"
    after = ("people",)
    uses = ("memories", "features")
    section = QuestionsSection
    roles = ("writer", "checker")
    prompts = (WRITE, SHORT, REPHRASE, REWRITE, CHECK, OPENNESS, MATCH)

    def outside(self, bench: Bench) -> Any:
        """Our scenarios, examples and pool, the user's pools, and what people decided about earlier questions."""
        pools = bench.config.hashes(bench.config.section(QuestionsSection).pool)
        ours = [hash_text(data_text(name)) for name in DATA]
        return [ours, pools, Review(bench.out, self.name).decisions]

    def expected(self, bench: Bench) -> Iterator[ExpectedAsks]:
        """A question and a verdict each, a verdict for each match and each question of the pool."""
        section = bench.config.section(QuestionsSection)
        people = expected_people(bench, section)
        writer, checker = bench.model("writer"), bench.model("checker")
        if section.specific:
            count = people * section.specific
            yield ExpectedAsks(
                "specific questions", writer, count, 330 if section.asks == "whole" else 60, 30
            )
            yield ExpectedAsks("verdicts", checker, count, 150, 1)
        if section.general:
            if section.pool or section.asks == "whole":
                ours = OWN_OPEN * len(bench.config.build.languages)
                judged = section.judged if section.pool else min(section.judged, ours)
                yield ExpectedAsks("verdicts on the pool", checker, judged, 70, 1)
            yield ExpectedAsks("matches", checker, people * section.general, 450, 1)

    async def make(self, bench: Bench) -> None:
        """Block after block of people: specific ones, then general ones."""
        section = bench.config.section(QuestionsSection)
        embedder = make_embedder()
        topics, known = Topics(embedder), NearDuplicates(section.similarity, embedder)
        keeping = Keeping(bench, Review(bench.out, self.name))
        people = [bench.count(bench.people_step, stream) for stream in splits_of(section).values()]
        drawing = QuestionSampler(section, people, bench.seed, bench.take)
        general = None
        if section.general:  # first, so that no specific question repeats one of the pool
            counts = dict(Counter((one.person.language, one.split) for one in everyone(bench, section)))
            found = await shelves(bench, section, known, keeping, embedder, topics, counts)
            general = General(bench, section, found, counts, embedder, keeping)
        specific = Specific(bench, section, drawing, known, keeping, topics)
        for block in blocks(bench, section):
            await specific.make(block)
            if general is not None:
                await general.make(block)
            keeping.publish()
        keeping.close()

    def card(self, bench: Bench) -> str:
        """How many of which kind, beside what was published."""
        counts: Counter[tuple[str, str]] = Counter()
        scenarios: Counter[tuple[str, str]] = Counter()
        splits: Counter[tuple[str, str]] = Counter()
        lengths: dict[str, Counter[int]] = {}
        given_out: set[str] = set()
        templates = 0
        for row in bench.read_rows("questions"):
            half = row["half"]
            splits[half, row["split"]] += 1
            counts[half, row["category"]] += row["split"] == BENCHMARK_SPLIT
            scenarios[row["category"], row["scenario"]] += row["split"] == BENCHMARK_SPLIT
            if half == GENERAL:
                given_out.add(row["text"])
            lengths.setdefault(f"{half}, {row['language']}", Counter())[len(row["text"])] += 1
            templates += row["maker"] == TEMPLATE
        lines = [
            "## Questions",
            "",
            f"The published column is {SOURCE}, section 3.2 and Table 5; the others were counted here.",
            "",
            *table(
                ("half", "benchmark", "training", "published"),
                (
                    (half, splits[half, BENCHMARK_SPLIT], splits[half, TRAINING_SPLIT], PUBLISHED[half])
                    for half in HALVES
                ),
            ),
            "",
            f"{templates:,} of the specific ones are our template's ({TEMPLATE}), not the writer's. The general "
            f"ones are {len(given_out):,} different texts.",
            "",
        ]
        shares, told = [], []
        totals = {half: max(1, splits[half, BENCHMARK_SPLIT]) for half in HALVES}
        for category in categories().values():
            found = [(counts[half, category.name], totals[half]) for half in HALVES]
            cells = [cell for count, total in found for cell in (count, f"{count / total:.2%}")]
            shares.append((category.name, *cells, category.published, f"{category.share:.2%}"))
            asked = [(one.name, scenarios[category.name, one.name]) for one in category.scenarios]
            told.append(
                (category.name, ", ".join(f"{name} {count:,}" for name, count in asked if count) or "none")
            )
        columns = ("category", "specific", "share", "general", "share", "published name", "published share")
        lines += [*table(columns, shares), "", *table(("category", "scenarios in the benchmark"), told), ""]
        lines += table(
            ("questions", "mean characters", "shortest", "longest"),
            (
                (name, f"{sum(found.elements()) / found.total():.1f}", min(found), max(found))
                for name, found in sorted(lengths.items())
            ),
        )
        if reasons := bench.reasons().most_common():
            lines += ["", *table(("rejected because", "questions"), reasons)]
        return "\n".join(lines)
