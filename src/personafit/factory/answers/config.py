"""`[answers]`: how long, by how many models, from how much of the profile, and how many are rewritten."""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from personafit.factory.config import MOST_ANSWERERS, BuildConfig, ConfigSection
from personafit.factory.questions.config import QuestionsSection


class AnswersSection(ConfigSection):
    """What the answers step is asked for."""

    words: int = Field(120, ge=8, le=2000, description="Length asked for, in words or Chinese characters.")
    makers: int = Field(
        MOST_ANSWERERS,
        ge=1,
        le=MOST_ANSWERERS,
        description="Models of the pool, drawn, that answer each question.",
    )
    features: int = Field(4, ge=1, le=20, description="Features that bear on the question, told for A1.")
    bearing: Literal["embedding", "words"] = Field(
        "embedding", description="What says that a feature bears on a question: likeness, or shared words."
    )
    masked: float = Field(0.8, gt=0, lt=1, description="Share of the profile that is masked for A2.")
    improved: int = Field(1, ge=0, le=4, description="Answers to each question that are made better.")
    degraded: int = Field(1, ge=0, le=4, description="Answers to each question that are made worse.")
    wrong_person: bool = Field(True, description="Also one written for another person, for Easy pairs.")
    asks: Literal["whole", "short"] = Field(
        "whole",
        description="What a model cannot do is rejected, or, for small models, done by our templates.",
    )

    tries: int = Field(
        0,
        ge=0,
        description='With asks = "short": first answers a model is asked for before templates make the rest; 0 asks for all.',
    )

    def faults(self, config: BuildConfig) -> Iterator[str]:
        """Nothing that is answered."""
        if not any(isinstance(one, QuestionsSection) for one in config.sections.values()):
            yield "there is nothing to answer: add a section [questions]"

        if self.tries and self.asks == "whole":
            yield 'tries is for small models: set asks = "short", or leave tries out'

    @property
    def each(self) -> int:
        """First answers by one model to one question."""
        return 4 if self.wrong_person else 3
