"""Rows and callables that the tests of the Python API share."""

from typing import Any


def pairs(count: int = 8, **more: Any) -> list[dict[str, Any]]:
    """Pairs of which the longer answer was chosen, each for another person."""
    return [
        {
            "person": f"A nurse who has {number} cats and likes tea",
            "question": f"What should I do on day {number}?",
            "chosen": f"Rest with your {number} cats, and have some tea.",
            "rejected": "Go for a run.",
            **more,
        }
        for number in range(count)
    ]


def answers(count: int = 8, **more: Any) -> list[dict[str, Any]]:
    """A system's answers, each with what it says to nobody in particular."""
    return [
        {
            "person": {"id": f"p{number}", "job": "nurse", "cats": number},
            "question": f"What should I do on day {number}?",
            "answer": f"Rest with your {number} cats, and have some tea.",
            "generic": "Go for a run.",
            **more,
        }
        for number in range(count)
    ]


def by_length(person: str, question: str, answers: list[str]) -> list[int]:
    """A judge that likes long answers."""
    return [len(answer) for answer in answers]
