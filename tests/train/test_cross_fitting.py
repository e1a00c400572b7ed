"""What the small fits share: weights at the minimum of their loss, blends that never turn a member around."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from personafit.train.cross_fitting import blend, fit_choices, fit_logistic, group_split


@pytest.mark.parametrize("columns", [5, 150])
def test_weights_of_choices_are_at_the_minimum_of_the_loss(columns: int) -> None:
    differences = np.random.default_rng(1).normal(0.1, 1, (400, columns))
    weights = fit_choices(differences, 10.0)
    wrong = 1 / (1 + np.exp(differences @ weights))
    assert np.abs(10.0 * weights - differences.T @ wrong).max() < 1e-2
    assert fit_choices(csr_matrix(differences), 10.0) == pytest.approx(weights, abs=1e-4)


def test_a_member_that_is_mostly_wrong_gets_no_say() -> None:
    rng = np.random.default_rng(2)
    right, wrong = rng.normal(1, 1, 300), rng.normal(-1, 1, 300)
    both = blend(np.column_stack([right, wrong]))
    assert both[0] > 0
    assert both[1] == 0
    assert both[0] == pytest.approx(blend(right[:, None])[0])
    assert blend(wrong[:, None]).tolist() == [0.0]


def test_of_one_label_only_its_share_is_learnt() -> None:
    weights, intercept = fit_logistic(np.ones((4, 2)), np.zeros(4, dtype=bool), 1.0)
    assert weights.tolist() == [0.0, 0.0]
    assert intercept < -20


def test_rows_fitted_on_share_no_group_with_those_left_out() -> None:
    people, prompts = np.array([0, 0, 1, 1, 2]), np.array([0, 1, 0, 1, 1])
    split = group_split(people, prompts)
    assert sorted(row for _, test in split for row in test.tolist()) == [0, 1, 2, 3, 4]
    for train, test in split:
        assert not set(people[train]) & set(people[test])
        assert not set(prompts[train]) & set(prompts[test])
