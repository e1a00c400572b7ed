"""The gate as a test: it fails unless the assistant's answers are shown to fit the person."""

from assistant import answer
from judge import fits

import personafit as pf
from personafit.testing import assert_lift


def test_the_assistant_uses_what_it_knows() -> None:
    """Answers are made anew: what `answer` calls may have changed since the last run."""
    run = pf.evaluate("answers", systems=answer, raters=fits, limit=60, reuse=False)
    assert_lift(run, at_least=0.05)
