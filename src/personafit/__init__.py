"""personafit: does the answer fit the person? Measure, label and train LLM personalization.

```python
import personafit as pf

run = pf.evaluate("starter", raters=["openai:gpt-4.1-mini", my_judge], limit=50)
run.verdict, run.results, run.report("report.html")
```

Names are loaded when they are first used, so that importing the package is cheap.
"""

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from personafit._lazy import lazy_names

if TYPE_CHECKING:
    from personafit._errors import UserError
    from personafit.api.best_of import best_of
    from personafit.api.decorators import Rating, benchmark, context, kind, rater
    from personafit.api.evaluating import aevaluate, estimate, evaluate
    from personafit.api.reading import agree, analyze, audit, compare, rescore
    from personafit.api.run import Run, load
    from personafit.items import Part, PartAnswer, Question, Reading, Shown, Unit
    from personafit.items.reading import QuestionSet
    from personafit.kinds import Kind, Metric
    from personafit.models import ChatReply
    from personafit.reports.analysis import Analysis
    from personafit.reports.verdict import RunVerdict
    from personafit.store import Status, Store

try:
    __version__ = version("personafit")
except PackageNotFoundError:  # running from a source tree that was never installed
    __version__ = "0+unknown"

_MODULES = {
    "_errors": ("UserError",),
    "api.decorators": ("Rating", "benchmark", "context", "kind", "rater"),
    "api.evaluating": ("aevaluate", "estimate", "evaluate"),
    "api.best_of": ("best_of",),
    "api.reading": ("agree", "analyze", "audit", "compare", "rescore"),
    "api.run": ("Run", "load"),
    "items": ("Part", "PartAnswer", "Question", "QuestionSet", "Reading", "Shown", "Unit"),
    "kinds": ("Kind", "Metric"),
    "models": ("ChatReply",),
    "reports.analysis": ("Analysis",),
    "reports.verdict": ("RunVerdict",),
    "store": ("Status", "Store"),
}
"""Module to the public names it holds."""

__all__ = [
    "Analysis",
    "ChatReply",
    "Kind",
    "Metric",
    "Part",
    "PartAnswer",
    "Question",
    "QuestionSet",
    "Rating",
    "Reading",
    "Run",
    "RunVerdict",
    "Shown",
    "Status",
    "Store",
    "Unit",
    "UserError",
    "__version__",
    "aevaluate",
    "agree",
    "analyze",
    "audit",
    "benchmark",
    "best_of",
    "compare",
    "context",
    "estimate",
    "evaluate",
    "kind",
    "load",
    "rater",
    "rescore",
]


__getattr__ = lazy_names(__name__, _MODULES)


def __dir__() -> list[str]:
    return __all__
