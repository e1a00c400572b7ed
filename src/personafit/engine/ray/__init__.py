"""Models in the workers of a Ray cluster: Ray owns scheduling and the loss of nodes, the runner owns exactly-once.

Jobs, keys, fingerprints and everything that is stored stay with the process that was started; workers hold weights and
answer. Chat models and reward models are held in actor pools; what the factory generates, what systems answer and what is
said in dialogues goes through Ray Data.
"""

from personafit.engine.ray.connecting import working_on

__all__ = ["working_on"]
