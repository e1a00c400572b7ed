"""Where the end result is lost between conversations and a response: each stage by people, or by a model.

The end result is whether a response takes account of what matters, attribute by attribute: the F1 of the attributes that the
response serves against those that people call relevant. People's answer to the first stage is what is known to be true, to
the second their labels of relevance, to the third a response that serves exactly what it was given; with all three it is 1
by construction. Then stages go over to models, one after the other, and the F1 that goes with each is what it loses.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from numpy.typing import NDArray

from personafit.extract.merging import Floats
from personafit.statistics import Estimate
from personafit.statistics.detection import detection, detection_difference

STAGES = ("attributes", "relevance", "response")
Arm = tuple[bool, ...]
"""For each stage whether a model does it."""


@dataclass(frozen=True)
class AttributeLabel:
    """People's label of whether one attribute of a person is relevant to one prompt."""

    person: str
    prompt: str
    attribute: str
    relevant: bool


@dataclass(frozen=True)
class Flow:
    """What came of every pair at every stage; nan where a model gave no answer."""

    pairs: Sequence[AttributeLabel]
    found: NDArray[np.bool_]
    """Whether the extractor found it."""
    said: Mapping[bool, Floats]
    """Whether the matcher calls it relevant, as people put it (False) or as the extractor did (True)."""
    served: Mapping[Arm, Floats] = field(default_factory=dict)
    """Whether the response serves it, by who did the first two stages; empty where no responses were made."""

    @property
    def stages(self) -> tuple[str, ...]:
        return STAGES if self.served else STAGES[:2]

    def used(self, arm: Arm) -> Floats:
        """Whether each attribute is taken account of in the end: 1, 0, or nan."""
        by_extractor, by_matcher = arm[0], arm[1]
        if len(arm) > 2 and arm[2]:
            return np.asarray(self.served[by_extractor, by_matcher], dtype=np.float64)
        relevant = np.array([pair.relevant for pair in self.pairs], dtype=np.float64)
        chosen = self.said[by_extractor] if by_matcher else relevant
        # What was not found has no answer to wait for.
        return np.where(self.found, chosen, 0.0) if by_extractor else np.asarray(chosen, dtype=np.float64)


@dataclass(frozen=True)
class FlowStep:
    """The end-to-end F1 with some stages done by models, and the change due to the last of them."""

    stage: str | None
    arm: Arm
    f1: Estimate
    change: Estimate | None


@dataclass(frozen=True)
class FlowFigures:
    """All figures of an error flow."""

    steps: list[FlowStep]
    """From people everywhere to models everywhere, in the order of the pipeline."""
    lost_alone: dict[str, Estimate]
    """F1 lost when only this stage is a model's."""
    coverage: float
    """Share of pairs that every stage has an answer to; the others are left out everywhere."""


def trace(flow: Flow) -> FlowFigures:
    """Work out all figures, on the pairs that every arm has an answer to."""
    count = len(flow.stages)
    used = {arm: flow.used(arm) for arm in product((False, True), repeat=count)}
    whole = np.all([np.isfinite(values) for values in used.values()], axis=0)
    kept = [pair for pair, keep in zip(flow.pairs, whole, strict=True) if keep]
    truth = np.array([pair.relevant for pair in kept], dtype=bool)
    people, prompts = [pair.person for pair in kept], [pair.prompt for pair in kept]
    said = {arm: values[whole] == 1 for arm, values in used.items()}

    def changed(before: Arm, after: Arm) -> Estimate:
        return detection_difference(said[after], said[before], truth, "f1", people, prompts)

    nobody = (False,) * count
    certain = Estimate(1.0, None, None, len(kept), len(set(people)), "1 by construction")
    arms = [tuple(place < done for place in range(count)) for done in range(count + 1)]
    steps = [
        FlowStep(
            flow.stages[done - 1] if done else None,
            arm,
            detection(said[arm], truth, "f1", people, prompts) if done else certain,
            changed(arms[done - 1], arm) if done else None,
        )
        for done, arm in enumerate(arms)
    ]
    only = {stage: tuple(one == stage for one in flow.stages) for stage in flow.stages}
    return FlowFigures(
        steps=steps,
        lost_alone={stage: changed(arm, nobody) for stage, arm in only.items()},
        coverage=float(whole.mean()) if len(whole) else 0.0,
    )
