"""An assistant with a memory."""

from assistant.replies import answer

__all__ = ["answer"]
