"""Hostile text: choices of the starter set in which people, memories and answers try to steer the judge."""

from personafit.benchmarks.injection.attacks import ATTACKS
from personafit.benchmarks.injection.items import Injection

__all__ = ["ATTACKS", "Injection"]
