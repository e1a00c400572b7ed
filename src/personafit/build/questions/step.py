"""The questions step: specific and general questions for every person, checked, until there are enough."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from personafit.build.bench import Bench, in_blocks
from personafit.build.duplicates import NearDuplicates
from personafit.build.people import PeopleSection
from personafit.build.questions.general import GENERAL, MATCH, OPENNESS, GeneralQuestions
from personafit.build.questions.lists import (
    KeptQuestion,
    QuestionsSection,
    open_scenarios,
    question_files,
)
from personafit.build.questions.specific import CHECK, REPHRASE, SPECIFIC, WRITE, SpecificQuestions
from personafit.build.review import read_drops, write_review
from personafit.build.step import BuildStep, ExpectedAsks, table
from personafit.models.embeddings import make_embedder

HALVES = (SPECIFIC, GENERAL)
FIRST, BLOCK = 8, 1_000  # people per block, in the first block and in later ones
FEW = 3  # questions per person; of fewer, one feature always serves a large share
OWN_OPEN = 33  # open-ended questions of the built-in pool in each language


class QuestionsStep(BuildStep):
    """Makes the questions of every person."""

    name = "questions"
    after = ("people",)
    uses = ("memories", "features")
    section = QuestionsSection
    version = 5
    roles = ("writer", "checker")
    prompts = (WRITE, REPHRASE, CHECK, OPENNESS, MATCH)

    def outside(self, bench: Bench) -> Any:
        hashes = bench.config.hashes(question_files(bench.config))
        return [hashes, sorted(read_drops(bench.out, self.name))]

    def expected(self, bench: Bench) -> Iterator[ExpectedAsks]:
        section, people = bench.config.section(QuestionsSection), bench.config.section(PeopleSection).quota
        writer, checker = bench.model("writer"), bench.model("checker")
        if section.specific:
            count = people * section.specific
            yield ExpectedAsks("specific questions", writer, count, 330, 30)
            yield ExpectedAsks("verdicts", checker if writer else None, count, 150, 1)
        if section.general:
            ours = OWN_OPEN * len(bench.config.build.languages)
            judged = section.judged if section.pool else min(section.judged, ours)
            yield ExpectedAsks("verdicts on the pool", checker, judged, 70, 1)
            yield ExpectedAsks("matches", checker, people * section.general, 450, 1)

    async def make(self, bench: Bench) -> None:
        """Make general questions first, so that no specific one repeats them; then specific ones in blocks of people."""
        section, people = bench.config.section(QuestionsSection), list(bench.people())
        embedder, dropped = make_embedder(), read_drops(bench.out, self.name)
        known = NearDuplicates(section.similarity, embedder)
        general: list[KeptQuestion] = []
        if section.general:
            general = await GeneralQuestions(bench, section, embedder, dropped).make(people, known)
        specific, made = SpecificQuestions(bench, section, people, known, dropped), list[KeptQuestion]()
        for block in in_blocks(people, FIRST, BLOCK):
            made += await specific.make(block)
        places = {person.id: place for place, person in enumerate(people)}
        made.sort(key=lambda one: (places[one.person.id], one.number))
        ordered = sorted([*made, *general], key=lambda one: places[one.person.id])
        for one in ordered:
            _write(bench, one)
        rows = ({"id": one.key, "person": one.person.id, "question": one.product.text} for one in ordered)
        write_review(bench.out, self.name, rows)

    def card(self, bench: Bench) -> str:
        rows = list(bench.read_rows("questions"))
        halves = {half: [row for row in rows if row["half"] == half] for half in HALVES}
        counts = Counter((row["half"], row["category"]) for row in rows)
        means = (
            (half, len(mine), f"{sum(len(row['text']) for row in mine) / max(1, len(mine)):.1f}")
            for half, mine in halves.items()
        )
        shares = []
        for name, category in open_scenarios(bench.config).categories.items():
            found = [(counts[half, name], max(1, len(halves[half]))) for half in HALVES]
            cells = [cell for count, total in found for cell in (count, f"{count / total:.2%}")]
            title, percent = category.published or ("–", 0.0)
            shares.append((name, *cells, title, f"{percent:.2f}%"))
        columns = ("category", "specific", "share", "general", "share", "published name", "published share")
        different = len({row["text"] for row in halves[GENERAL]})
        general = f"Different general questions: {different:,}. " if different else ""
        return "\n".join(
            [
                "## Questions",
                "",
                f"{general}{_most_used(halves[SPECIFIC])}Published are the shares of PersonaFeedback (arXiv 2506.12915, "
                "Table 5).",
                "",
                *table(("half", "questions", "mean characters"), means),
                "",
                *table(columns, shares),
            ]
        )


def _most_used(rows: list[dict[str, Any]]) -> str:
    """Describe the largest share of a person's questions that use one feature: maximum and mean over people."""
    used: dict[str, Counter[str]] = {}
    asked = Counter(row["person"] for row in rows)
    for row in rows:
        used.setdefault(row["person"], Counter()).update(row["features"])
    most = [max(counts.values()) / asked[person] for person, counts in used.items() if counts]
    if not most:
        return ""
    warning = (
        "**That is more than a third**: give people more memories (`per_person`), or show the profiler fewer (`sampled`). "
        if 3 * max(most) > 1 and max(asked.values()) >= FEW
        else ""
    )
    share = f"{max(most):.0%} of a person's specific questions ({sum(most) / len(most):.0%} on average)"
    return f"One feature serves at most {share}. {warning}"


def _write(bench: Bench, one: KeptQuestion) -> None:
    """Write a question as a row of the step and as a product of the benchmark, with its lineage."""
    product = one.product
    bench.write(product, "products")
    bench.write(
        {
            "id": product.id,
            "person": one.person.id,
            "language": one.person.language,
            "half": one.half,
            "category": one.category,
            "scenario": one.scenario,
            "features": one.features,
            "text": product.text,
            "maker": product.maker,
            "key": one.key,
            "example": one.example,
            "verdict": one.verdict,
        }
    )
