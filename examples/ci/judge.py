"""A judge without a model: the answer that says more of what is true of the person fits better. Mention is not merit."""


def fits(person: str, question: str, answers: list[str]) -> list[int]:
    """How many words of the profile each answer takes up, beyond those of the question."""
    known = set(person.lower().split()) - set(question.lower().split())
    return [len({word for word in answer.lower().split() if len(word) > 3} & known) for answer in answers]
