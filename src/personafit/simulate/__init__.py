"""Systems at work: answering people's questions, given what a context says about them."""

from personafit.simulate.answering import Answering

__all__ = ["Answering"]
