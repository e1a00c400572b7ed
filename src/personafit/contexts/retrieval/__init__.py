"""Finding the memories that bear on a question: BM25, vectors, both; and how well that works."""

from personafit.contexts.retrieval.quality import Retrieval, chance_recall, precision_at, recall_at
from personafit.contexts.retrieval.retriever import Retriever

__all__ = [
    "Retrieval",
    "Retriever",
    "chance_recall",
    "precision_at",
    "recall_at",
]
