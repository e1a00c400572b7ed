"""Vectors of texts, as embedders give them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


def unit_rows(vectors: NDArray[Any]) -> Vectors:
    """The rows scaled to length 1; a row of zeros stays one."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    rows: Vectors = (vectors / np.maximum(lengths, 1e-12)).astype(np.float32)
    return rows
