"""Error flow: people everywhere is perfect, each stage's loss is its own, and unanswered pairs are left out everywhere."""

import numpy as np
import pytest

from personafit.extract.flow import Arm, AttributeLabel, Flow, trace
from personafit.extract.merging import Floats


def pairs() -> list[AttributeLabel]:
    return [
        AttributeLabel(f"p{person}", f"q{person % 2}", f"a{number}", number % 2 == 0)
        for person in range(8)
        for number in range(4)
    ]


def perfect(rows: list[AttributeLabel]) -> Floats:
    return np.array([float(row.relevant) for row in rows])


def test_with_stages_that_err_nowhere_nothing_is_lost() -> None:
    rows = pairs()
    right = perfect(rows)
    served: dict[Arm, Floats] = {(a, b): right for a in (False, True) for b in (False, True)}
    traced = trace(Flow(rows, np.ones(len(rows), bool), {False: right, True: right}, served))
    assert [step.f1.value for step in traced.steps] == [1.0] * 4
    assert all(one.value == 0.0 for one in traced.lost_alone.values())
    assert traced.coverage == 1.0


def test_each_stage_is_charged_with_its_own_errors() -> None:
    rows = pairs()
    right = perfect(rows)
    found = np.array([row.attribute != "a0" for row in rows])  # half of what matters is never extracted
    everything = np.ones(len(rows))  # the matcher picks whatever it is shown
    traced = trace(Flow(rows, found, {False: everything, True: np.where(found, 1.0, 0.0)}))
    lost = {stage: one.value for stage, one in traced.lost_alone.items()}
    assert lost["attributes"] == pytest.approx(1 - 2 / 3)  # recall 1/2 at full precision
    assert lost["relevance"] == pytest.approx(1 - 2 / 3)  # precision 1/2 at full recall
    last = traced.steps[-1].f1.value
    assert last is not None
    assert last == pytest.approx(2 * (1 / 3) * (1 / 2) / (1 / 3 + 1 / 2))
    changes = [
        step.change.value
        for step in traced.steps
        if step.change is not None and step.change.value is not None
    ]
    assert sum(changes) == pytest.approx(last - 1.0)
    assert right.sum() == len(rows) / 2


def test_a_pair_that_one_stage_did_not_answer_is_left_out_of_every_step() -> None:
    rows = pairs()
    said = perfect(rows)
    said[0] = np.nan
    traced = trace(Flow(rows, np.ones(len(rows), bool), {False: said, True: perfect(rows)}))
    assert traced.coverage == pytest.approx(1 - 1 / len(rows))
    assert {step.f1.n for step in traced.steps} == {len(rows) - 1}


def test_what_was_not_found_needs_no_answer_of_the_matcher() -> None:
    rows = pairs()
    found = np.zeros(len(rows), bool)
    flow = Flow(rows, found, {False: perfect(rows), True: np.full(len(rows), np.nan)})
    assert flow.used((True, True)).sum() == 0.0
    assert trace(flow).coverage == 1.0
