"""What every fitted model has, whatever it answers."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
Answers = Literal["choice", "relevance", "preference", "attribute"]


@dataclass(frozen=True, kw_only=True, eq=False)
class FittedModel(ABC):
    """A model that was fitted on people's judgments; `raters/fitted/file.py` reads and writes it."""

    answers: ClassVar[Answers]
    """Which question it was fitted to answer."""
    array_names: ClassVar[tuple[str, ...]] = ()
    """What is kept in the .npz file."""

    card: Mapping[str, Any] = field(default_factory=dict)
    """How it was fitted, for people."""
    fitted_on: frozenset[str] = frozenset()
    """Hashes of the people or prompts it was fitted on."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """Hash of everything that can change an answer."""

    @property
    @abstractmethod
    def numbers(self) -> dict[str, Any]:
        """What goes into the file as `model`."""

    @property
    def arrays(self) -> dict[str, Any]:
        """What goes into the .npz file, by its names."""
        return {}

    @classmethod
    @abstractmethod
    def of(cls, numbers: Mapping[str, Any], arrays: Mapping[str, Any], **kept: Any) -> Self:
        """The model of what a file holds; whatever it raises is what is wrong with the file. `kept` are further fields."""

    def check(self) -> None:  # noqa: B027  # most need nothing
        """Refuse, in a UserError, to work with what is installed here."""
