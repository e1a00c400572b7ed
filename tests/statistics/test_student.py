"""Student's t against SciPy's own distribution."""

import numpy as np
from scipy import stats

from personafit.statistics.student import student_p_value, student_reach


def test_both_agree_with_the_distribution_to_the_last_bit() -> None:
    for freedom in (1, 2, 7, 30, 1662, 10**6):
        assert student_reach(freedom) == stats.t.ppf(0.975, freedom)
        ratios = np.array([-40.0, -1.96, 0.0, 1e-9, 2.5, np.inf])
        assert np.array_equal(student_p_value(ratios, freedom), 2 * stats.t.sf(np.abs(ratios), freedom))
    assert np.isnan(student_reach(0))
