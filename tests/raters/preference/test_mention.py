"""The rule that says whether an answer names an attribute."""

import pytest

from personafit.raters.naming import names_attribute

GENERIC = "Blot the stain, then soak the shirt in cold water."


@pytest.mark.parametrize(
    ("attribute", "answer", "named"),
    [
        ("The user is a chemistry teacher.", "As a chemistry teacher you know why: blot first.", True),
        (
            "The user is likely detail-oriented.",
            "For someone detail-oriented like you, blot in squares.",
            True,
        ),
        (
            "The user values precision in language.",
            "Since you value precision, here are the exact steps.",
            True,
        ),
        (
            "The user has an engineering background.",
            "Given your engineering background, start with the solvent.",
            True,
        ),
        ("The user values precision in language.", "Measure with precision: ten grams of salt.", False),
        ("The user is a chemistry teacher.", "Anthocyanins bind to cellulose, so rinse at once.", False),
        ("The user is a chemistry teacher.", GENERIC, False),
        ("用户每月生活费一千五百元。", "考虑到你每个月只有一千五百元生活费，用盐就好。", True),
        ("用户每月生活费一千五百元。", "用盐就好，便宜。", False),
    ],
)
def test_acting_on_an_attribute_is_not_naming_it(attribute: str, answer: str, named: bool) -> None:
    assert names_attribute(attribute, "How do I get wine out of a shirt?", GENERIC, answer) is named


def test_words_of_the_question_and_of_the_generic_answer_do_not_count() -> None:
    said = "Since you keep bees, wear a veil."
    assert names_attribute("The user keeps bees.", "What shall I wear?", "Wear a hat.", said)
    assert not names_attribute("The user keeps bees.", "How do I keep bees?", "Wear a hat.", said)
    assert not names_attribute("The user keeps bees.", "What shall I wear?", said, said)
