"""Prompted models as verifiers of labelled statements, in the words `personafit extract run` asks in, beside the fitted one."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from personafit._hashing import content_hash, hash_text
from personafit.benchmarks.statements import Statements
from personafit.engine import ProgressView
from personafit.models import make_model
from personafit.raters.fitted.model import Floats, Rows
from personafit.raters.text import HAN
from personafit.stages.asking import StageAsks, StagePrompt
from personafit.stages.records import ExtractedAttribute
from personafit.stages.session import Ended, Session
from personafit.stages.verifying import VERIFICATION, verify_prompt
from personafit.statistics import Estimate
from personafit.statistics.detection import detection, detection_difference
from personafit.store import Store
from personafit.training.cards import QualityMetric
from personafit.training.cross_fitting import Bools
from personafit.training.verifier_quality import METRICS

NOBODY = Estimate(None, None, None, 0, 0, "nothing was answered")


def drawn(statements: Statements, most: int | None, seed: int) -> list[int]:
    """The statements that models are asked about: all, or so many drawn by seed."""
    places = range(len(statements))
    if most is None or most >= len(statements):
        return list(places)
    order = sorted(
        places, key=lambda place: hash_text(str(seed), statements.of[place], statements.texts[place])
    )
    return sorted(order[:most])


async def model_figures(
    statements: Statements,
    fitted: Bools,
    specs: Sequence[str],
    places: Sequence[int],
    store: Store,
    progress: ProgressView,
) -> list[QualityMetric]:
    """What each model flags of the statements drawn, beside the fitted verifier on those it answered.

    `fitted` are the fitted verifier's flags by fits without the person. A model sees all the user's turns.
    """
    gone = store.forgotten(set(statements.people))
    places = [place for place in places if statements.people[place] not in gone]
    prompts = [_prompt(statements, place) for place in places]
    config = {"kind": "verify", "specs": list(specs), "places": list(places), "source": statements.source}
    session = Session(
        store, store.begin_run(f"verify-{content_hash(config)[:8]}", "verify", config, 0), progress
    )
    figures: list[QualityMetric] = []
    for spec in specs:
        model = make_model(spec)
        asker = StageAsks(store, model, VERIFICATION)
        try:
            await session.carry([asker.lane(lambda: prompts, len(prompts))])
        except Ended:
            pass  # what was answered is measured; coverage tells the rest
        finally:
            await model.close()
        said = np.full(len(places), np.nan)
        for row, (_, answer) in enumerate(asker.answers(prompts)):
            if answer.value is not None:
                said[row] = answer.value["label"] != "accepted"
        figures += _figures(statements, fitted, np.array(places), said, spec)
    return figures


def _prompt(statements: Statements, place: int) -> StagePrompt:
    conversation = statements.conversations[statements.of[place]]
    own = [turn.text for turn in conversation.turns if turn.role == "user"]
    text = statements.texts[place]
    row = ExtractedAttribute(
        id=str(place), person=conversation.person, text=text, confidence=1.0, conversation=conversation.id
    )
    # The place is part of the name only: two people may be told the same.
    return replace(verify_prompt(row, own, "zh" if HAN.search(text) else "en"), name=f"{place}")


def _figures(
    statements: Statements, fitted: Bools, places: Rows, said: Floats, spec: str
) -> list[QualityMetric]:
    split = f"the {len(places):,} statements asked about"
    read = np.isfinite(said)
    here = places[read]
    truth = statements.problematic[here]
    people = [statements.people[place] for place in here]
    groups = [statements.of[place] for place in here]
    flags = said[read] == 1
    coverage = Estimate(float(read.mean()), None, None, len(places), len(set(people)))
    figures = [QualityMetric("coverage", split, coverage, spec)]
    for control, answers in ((spec, flags), (f"fitted, where {spec} answered", fitted[here])):
        figures += [
            QualityMetric(
                metric,
                split,
                detection(answers, truth, metric, people, groups) if len(here) else NOBODY,
                control,
            )
            for metric in METRICS
        ]
    if len(here):
        gain = detection_difference(fitted[here], flags, truth, "f2", people, groups)
        figures.append(QualityMetric("f2_gain", split, gain, spec))
    return figures
