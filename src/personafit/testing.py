"""For a team's own tests: `from personafit.testing import assert_lift`."""

from personafit.reporting.assertions import assert_lift, assert_metric

__all__ = ["assert_lift", "assert_metric"]
