"""The questions step: specific and general questions for everyone, checked, until there are enough."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from personafit._hashing import hash_text
from personafit.factory.bench import Bench
from personafit.factory.questions.blocks import blocks, everyone, expected_people, source, splits_of
from personafit.factory.questions.card import questions_card
from personafit.factory.questions.config import QuestionsSection
from personafit.factory.questions.drawing import QuestionSampler
from personafit.factory.questions.duplicates import KnownQuestions
from personafit.factory.questions.filtering import shelves
from personafit.factory.questions.general import General
from personafit.factory.questions.keeping import Keeping
from personafit.factory.questions.prompts import CHECK, MATCH, OPENNESS, REPHRASE, REWRITE, SHORT, WRITE
from personafit.factory.questions.scenarios import data_text
from personafit.factory.questions.specific import Specific
from personafit.factory.questions.topics import Topics
from personafit.factory.review import Review
from personafit.factory.step import BuildStep, ExpectedAsks
from personafit.models.embeddings import make_embedder

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
        topics, known = Topics(embedder), KnownQuestions(section.similarity, embedder)
        keeping = Keeping(bench, Review(bench.out, self.name))
        people = [bench.count(source(bench), stream) for stream in splits_of(section).values()]
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
        return questions_card(bench)
