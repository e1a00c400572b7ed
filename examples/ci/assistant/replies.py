"""How the assistant answers."""

from assistant.memory import recall

GENERAL = (
    "There are several good ways to go about this; begin with the simplest and see how far it takes you."
)


def answer(person: str, question: str) -> str:
    """Answer a question, told `person`: what is known of who asks, or nothing."""
    fact = recall(person, question)
    return f"Since this is so with you ({fact}), start from there. {GENERAL}" if fact else GENERAL
