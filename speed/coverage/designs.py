"""Simulated studies with known truth: people and prompts are random effects on the logit scale."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Units:
    """One simulated study: who each unit is about, its prompt, and its random effect on the logit scale."""

    person: Ints
    prompt: Ints
    effect: Floats

    def outcomes(self, rng: np.random.Generator, rate: float, spread: float) -> Floats:
        """Draw 0/1 outcomes whose expectation over people, prompts and units is `rate`."""
        probability = expit(intercept(rate, spread) + self.effect)
        return np.where(rng.random(len(self.effect)) < probability, 1.0, 0.0)


@dataclass(frozen=True)
class Design:
    """How many people and prompts a study has and how much they differ."""

    people: int
    prompts: int | None = None
    """Number of prompts shared by all people; None gives every unit a prompt of its own."""
    items: Literal["5-30", "heavy", "pareto", "crossed"] | int = "5-30"
    """Units per person: 5 to 30, heavy-tailed (lognormal, or Pareto), one per prompt, or a fixed number."""
    person_sd: float = 0.7
    prompt_sd: float = 0.5

    @property
    def name(self) -> str:
        """The design in words, for the table."""
        prompts = "" if self.prompts is None else f" × {self.prompts} prompts"
        usual = (self.person_sd, self.prompt_sd) == (0.7, 0.5)
        spread = "" if usual else f", SD {self.person_sd:g} and {self.prompt_sd:g}"
        return f"{self.people} people{prompts}, {self.items} items{spread}"

    @property
    def spread(self) -> float:
        """Standard deviation of all random effects together."""
        own = 0.0 if self.prompts is None else self.prompt_sd
        return float(np.hypot(self.person_sd, own))

    def units(self, rng: np.random.Generator) -> Units:
        """Draw one study."""
        counts = self._counts(rng)
        person = np.repeat(np.arange(self.people), counts)
        if self.prompts is None:
            prompt, own = np.arange(len(person)), np.zeros(len(person))
        else:
            if self.items == "crossed":
                prompt = np.tile(np.arange(self.prompts), self.people)
            else:
                prompt = rng.integers(0, self.prompts, len(person))
            own = rng.normal(0, self.prompt_sd, self.prompts)
        effect = rng.normal(0, self.person_sd, self.people)[person] + own[prompt]
        return Units(person, prompt, effect)

    def _counts(self, rng: np.random.Generator) -> Ints:
        if isinstance(self.items, int):
            return np.full(self.people, self.items)
        if self.items == "crossed":
            return np.full(self.people, self.prompts or 1)
        if self.items == "heavy":
            return np.asarray(np.clip(np.round(rng.lognormal(2.3, 1.1, self.people)), 1, 400), dtype=np.int64)
        if self.items == "pareto":
            return np.asarray(np.minimum(2 + 5 * rng.pareto(1.7, self.people), 300), dtype=np.int64)
        return rng.integers(5, 31, self.people)


@lru_cache
def intercept(rate: float, spread: float) -> float:
    """The logit at which outcomes with normal effects of this spread have this expectation."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / weights.sum()
    return float(brentq(lambda b: float(weights @ expit(b + spread * nodes)) - rate, -15, 15))
