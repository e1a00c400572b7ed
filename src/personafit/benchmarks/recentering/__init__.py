"""Re-Centering Humans (arXiv 2606.06614): which attributes of a person matter for a prompt, by majority of people.

The data may be the published layout, a benchmark folder with relevance items, or the starter set.
"""

from personafit.benchmarks.recentering.labels import LABELS, RelevanceLabels, open_relevance

__all__ = ["LABELS", "RelevanceLabels", "open_relevance"]
