"""The questions step: specific and general questions for everyone, checked, until there are enough."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from personafit._hashing import hash_text
from personafit.build.bench import Bench
from personafit.build.duplicates import NearDuplicates
from personafit.build.questions.blocks import GENERAL, SPECIFIC, BlockMember, Keeping
from personafit.build.questions.general import MATCH, OPENNESS, General, PoolFilter
from personafit.build.questions.scenarios import categories, data_text
from personafit.build.questions.specific import CHECK, REPHRASE, REWRITE, TEMPLATE, WRITE, Specific
from personafit.build.rows import Review, in_blocks
from personafit.build.sections import PeopleSection, QuestionsSection
from personafit.build.step import BuildStep, ExpectedAsks, table
from personafit.models.embeddings import make_embedder

HALVES = (SPECIFIC, GENERAL)
FIRST, BLOCK = 8, 1_000  # people at a time
OWN_OPEN = 33  # questions of our pool in each language that no rule takes out
DATA = ("scenarios.toml", "examples.jsonl", "pool.jsonl")


class QuestionsStep(BuildStep):
    """Questions for everyone."""

    name = "questions"
    after = ("people",)
    uses = ("memories", "features")
    section = QuestionsSection
    roles = ("writer", "checker")
    prompts = (WRITE, REPHRASE, REWRITE, CHECK, OPENNESS, MATCH)

    def outside(self, bench: Bench) -> Any:
        """Our scenarios, examples and pool, the user's pools, and what people decided about earlier questions."""
        pools = bench.config.hashes(bench.config.section(QuestionsSection).pool)
        ours = [hash_text(data_text(name)) for name in DATA]
        return [ours, pools, Review(bench.out, self.name).decisions]

    def expected(self, bench: Bench) -> Iterator[ExpectedAsks]:
        """A question and a verdict each, a verdict for each match and each question of the pool."""
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
        """Block after block of people: specific ones, then general ones."""
        section = bench.config.section(QuestionsSection)
        embedder = make_embedder()
        known = NearDuplicates(section.similarity, embedder)
        keeping, general = Keeping(bench, Review(bench.out, self.name)), None
        if section.general:  # first, so that no specific question repeats one of the pool
            counts = Counter(person.language for person in bench.people())
            shelves = await PoolFilter(bench, section, keeping).shelves(counts, known, embedder)
            general = General(bench, section, shelves, counts, embedder, keeping)
        specific = Specific(bench, section, bench.count(bench.people_step, "people"), known, keeping)
        everyone = (BlockMember(place, person) for place, person in enumerate(bench.people()))
        for block in in_blocks(everyone, FIRST, BLOCK):
            await specific.make(block)
            if general is not None:
                await general.make(block)
            keeping.publish()
        keeping.close()

    def card(self, bench: Bench) -> str:
        """How many of which kind, the categories beside the published ones, and what was rejected."""
        halves: Counter[str] = Counter()
        counts: Counter[tuple[str, str]] = Counter()
        lengths: Counter[str] = Counter()
        templates, given_out = 0, set[str]()
        for row in bench.read_rows("questions"):
            half = row["half"]
            halves[half] += 1
            counts[half, row["category"]] += 1
            lengths[half] += len(row["text"])
            templates += row["maker"] == TEMPLATE
            if half == GENERAL:
                given_out.add(row["text"])
        means = ((half, halves[half], f"{lengths[half] / max(1, halves[half]):.1f}") for half in HALVES)
        shares = []
        for category in categories().values():
            found = [(counts[half, category.name], max(1, halves[half])) for half in HALVES]
            cells = [cell for count, total in found for cell in (count, f"{count / total:.2%}")]
            shares.append((category.name, *cells, category.published, f"{category.share:.2%}"))
        columns = ("category", "specific", "share", "general", "share", "published name", "published share")
        lines = [
            "## Questions",
            "",
            f"{templates:,} of the specific ones are our template's ({TEMPLATE}), not the writer's. The general ones are "
            f"{len(given_out):,} different texts. Published are the shares of PersonaFeedback (arXiv 2506.12915, Table 5).",
            "",
            *table(("half", "questions", "mean characters"), means),
            "",
            *table(columns, shares),
        ]
        if reasons := bench.reasons().most_common():
            lines += ["", *table(("rejected because", "questions"), reasons)]
        return "\n".join(lines)
