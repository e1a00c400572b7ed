"""What a model that votes as a simulated rater is asked, in English and Chinese."""

from personafit.factory.prompts import PromptTemplate

VOTE = PromptTemplate(
    "studies.vote",
    1,
    {
        "en": (
            "This is somebody:\n\n{person}\n\nThey asked: {question}\n\n{answers}\n\nWhich answer suits this person best and helps "
            "them most? Length does not matter. Answer with one letter of {letters}."
        ),
        "zh": (
            "这是某个人：\n\n{person}\n\n这个人问：{question}\n\n{answers}\n\n哪个回答最适合这个人、最有帮助？长短不重要。"
            "只回答{letters}中的一个字母。"
        ),
    },
)
ANSWER = {"en": "Answer {letter}:\n{text}", "zh": "回答{letter}：\n{text}"}
