"""What the two studies share: who votes, on whose answers, and how many votes of models that makes."""

from collections.abc import Iterator
from typing import Any

from personafit.factory.bench import Bench
from personafit.factory.questions.blocks import expected_people
from personafit.factory.questions.config import QuestionsSection
from personafit.factory.step import BuildStep, ExpectedAsks
from personafit.factory.studies.config import StudiesSection
from personafit.factory.studies.prompts import VOTE
from personafit.factory.studies.voting import voters

BALANCE, SAME, MAJORITY = "rule:balance-2", "rule:same-1", "rule:majority-1"


class StudyStep(BuildStep):
    """A step that has answers voted on."""

    uses = ("memories", "features")
    section = StudiesSection
    version = 2
    prompts = (VOTE,)

    def outside(self, bench: Bench) -> Any:
        """Who votes."""
        return voters(bench)


def expected_votes(bench: Bench, items: int, tokens: int) -> Iterator[ExpectedAsks]:
    """A vote by each model that votes on so many items for each question."""
    section, asked = bench.config.section(StudiesSection), bench.config.section(QuestionsSection)
    questions = expected_people(bench, asked) * (asked.specific + asked.general)
    if section.voters == "simulated":
        for spec in bench.config.models.raters[: section.raters]:
            yield ExpectedAsks("votes", bench.model_of(spec), questions * items, tokens, 1)
