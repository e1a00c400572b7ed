"""What a writer's history or wish must be."""

import pytest

from personafit.build import Unfit
from personafit.build.tasks.histories import domain_preferences, read_history, read_wish
from personafit.build.tasks.ontology import Profile, read_definitions, read_ontology

BOOKS = {
    "Books.Genre": ["poetry"],
    "Books.Format": ["paperback"],
    "Books.Source": ["book swap"],
    "Books.Place to read": ["on the train"],
}
GOOD = (
    "Over the winter they asked twice about poetry, once for a friend. Each time they took the paperback, since it fits "
    "into a coat. They got both at the book swap behind the station and read mostly on the train home from the late shift."
)


def reader() -> Profile:
    return Profile(
        id="t1",
        language="en",
        facets={"Demographics.Age": 15},
        tags=["minor", "student", "city"],
        domains=["Books"],
        preferences={path: list(values) for path, values in BOOKS.items()},
    )


def test_a_history_that_shows_everything_is_taken() -> None:
    profile = reader()
    read = read_history(f"{GOOD}\n", profile, domain_preferences(profile, "Books", read_ontology()))
    assert read == GOOD


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("poetry", "verse", "does not show Genre: poetry"),
        ("the paperback", "the hardback", "it does not show Format: paperback; it names 'hardback', which goes against Format"),
        ("Over the winter", "Here is a summary: over the winter", "speaks about itself"),
        ("Over the winter", "- Over the winter", "list, a heading or brackets"),
        ("a friend", "[name]", "gaps to fill in"),
        (" from the late shift.", " from the", "ends in the middle"),
        (GOOD, "They read poetry, in paperback, from the book swap, on the train.", "12 words, and 30 to"),
        (GOOD, "冬天里这个人两次打听过诗歌，都要平装本，从换书角拿，多半在车上读。" * 3, "language"),
    ],
)  # fmt: skip
def test_a_history_that_does_not_do_is_refused_with_the_reason(old: str, new: str, reason: str) -> None:
    profile = reader()
    assert old in GOOD
    with pytest.raises(Unfit) as refused:
        read_history(GOOD.replace(old, new), profile, domain_preferences(profile, "Books", read_ontology()))
    assert reason in str(refused.value)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("Choose one title of poetry to start on Sunday.", "gives a preference away: poetry"),
        ("Choose.", "it has 1 words"),
        ("Choose one title to start while I wait for", "ends in the middle"),
    ],
)
def test_a_wish_that_tells_too_much_or_is_another_is_refused(reply: str, reason: str) -> None:
    ontology = read_ontology()
    definition = next(one for one in read_definitions(ontology) if one.id == "SD-Books-1")
    with pytest.raises(Unfit) as refused:
        read_wish(reply, reader(), definition, ontology)
    assert reason in str(refused.value)
    assert read_wish('"Choose one title to start before the holidays."', reader(), definition, ontology)
