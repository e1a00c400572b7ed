"""Rules of their own: what gives a person away, what a reply must be, and our data."""

import pytest

from personafit.build import Unfit
from personafit.build.questions.lists import examples, read_scenarios
from personafit.build.questions.rules import leaks, question_reader
from personafit.people import Attribute, Person

ANNA = Person(
    id="p",
    language="en",
    facets={
        "Name": "Anna Lindqvist",
        "Demographics.Age": 47,
        "Demographics.Work": "Tram driver",
        "Personality.MBTI": "ISTP",
        "Content_Interests": ["medieval bridges", "rowing"],
    },
    attributes=[Attribute(id="f1", text="Prefers swimming in cold lakes before breakfast")],
)
LI = Person(
    id="q",
    language="zh",
    facets={
        "Name": "李晓雨",
        "Demographics.Work": "幼儿园老师",
        "Personality.Extraversion_or_Introversion": "E",
        "Personality.Sensing_or_Intuition": "S",
        "Personality.Thinking_or_Feeling": "F",
        "Personality.Judging_or_Perceiving": "J",
        "Local_Life.Food_and_Drink": "早上一定要喝豆浆配油条",
    },
)


@pytest.mark.parametrize(
    ("question", "person"),
    [
        ("What would suit Anna best?", ANNA),
        ("Is 47 too late to begin?", ANNA),
        ("What should a tram driver eat?", ANNA),
        ("What do ISTP people like?", ANNA),
        ("Where are the best medieval bridges?", ANNA),
        ("Is swimming in a cold lake good for me?", ANNA),
        ("As a mother, what should I do?", ANNA),
        ("李晓雨该怎么办？", LI),
        ("晓雨该怎么办？", LI),
        ("一个ESFJ 该怎么选？", LI),
        ("幼儿园老师怎么护嗓子？", LI),
        ("早上一定要喝点什么？", LI),
        ("作为一名老师，我该怎么办？", LI),
    ],
)
def test_what_gives_a_person_away_is_found(question: str, person: Person) -> None:
    assert list(leaks(question, person))


@pytest.mark.parametrize(
    ("question", "person"),
    [
        ("What should I have for breakfast?", ANNA),
        ("Which bridge should I cross first?", ANNA),
        ("As a rule, how long should I sleep?", ANNA),
        ("I'm a bit tired. Any ideas?", ANNA),
        ("What is a good present as small as a watch, and not as a joke?", ANNA),
        ("早上吃点什么好？", LI),
        ("老师节送什么好？", LI),
    ],
)
def test_what_does_not_is_left_alone(question: str, person: Person) -> None:
    assert not list(leaks(question, person))


def test_a_question_is_read_strictly() -> None:
    read = question_reader("en", "Is there something good to watch tonight?")
    assert read(' "What should I cook?"\n') == "What should I cook?"
    assert read("Help me choose a coat.") == "Help me choose a coat."
    for bad in (
        "",
        "One?\nTwo?",
        "I like tea.",
        "What about [topic]?",
        "该吃什么好？",
        "Why" * 90 + "?",
        "Is there something good to watch tonight?",
        "Someone asked what to eat?",
        "As an AI assistant, what can I do?",
    ):
        with pytest.raises(Unfit):
            read(bad)


def test_our_data_holds_what_it_promises() -> None:
    known = read_scenarios()
    assert len(known.category) == 8
    assert len({one.id.partition("/")[0] for one in examples()}) == 10
    assert len(examples()) >= 150
    assert {one.language for one in examples()} == {"en", "zh"}
    assert len({one.text for one in examples()}) == len(examples())
    named = {scenario.name for one in known.category for scenario in one.scenario}
    for example in examples():
        assert example.scenario in named
        asker = Person(
            id="x",
            language=example.language,
            attributes=[Attribute(id=text, text=text) for text in example.features],
        )
        assert example.features
        assert not list(leaks(example.text, asker)), example
        assert question_reader(example.language)(example.text) == example.text
    for one in known.category:
        for scenario in one.scenario:
            for language, templates in (("en", scenario.ask), ("zh", scenario.wen)):
                for text in templates:
                    filled = text.replace("{when}", "this week").replace("{shi}", "这周")
                    assert question_reader(language)(filled) == filled
