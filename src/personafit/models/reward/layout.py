"""How sequences may be laid out, apart from the code that does it, so that naming one imports nothing heavy."""

from typing import Literal

Layout = Literal["tree", "sequence", "none"]
