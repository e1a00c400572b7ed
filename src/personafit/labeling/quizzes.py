"""The comprehension check of each form: a few questions that who has read its guidelines answers rightly, in two languages."""

from typing import Any, NamedTuple


class Both(NamedTuple):
    """A text in both languages."""

    en: str
    zh: str


class QuizQuestion(NamedTuple):
    """One question, its options, and which of them is right."""

    question: Both
    options: tuple[Both, ...]
    right: int


_ANYBODY = Both("The one that serves this person best", "对这个人最有用的那个")
_MENTION = QuizQuestion(
    Both(
        "An answer names five facts about the person and is no more useful to them for it. What does that earn?",
        "一个回答提到这个人的五个情况，但并没有因此更有用。这样加分吗？",
    ),
    (
        Both("Nothing: mention is not merit", "不加分：提到不等于贴合"),
        Both("A point for every fact", "每提到一个加一分"),
        Both("It makes it the best answer", "因此就是最好的回答"),
    ),
    0,
)
_UNSURE = QuizQuestion(
    Both("You cannot decide, although you read everything. What do you do?", "全部读完仍无法决定，怎么办？"),
    (
        Both("I pick one at random", "随便选一个"),
        Both("I say that I can’t tell", "选“无法判断”"),
        Both("I take the longer one", "选较长的那个"),
    ),
    1,
)

QUIZZES: dict[str, tuple[QuizQuestion, ...]] = {
    "fit": (
        QuizQuestion(
            Both("Which answer do you choose?", "你选择哪个回答？"),
            (
                Both("The longest", "最长的"),
                Both("The one most people would like", "多数人会喜欢的"),
                _ANYBODY,
            ),
            2,
        ),
        _MENTION,
        _UNSURE,
    ),
    "grade": (
        QuizQuestion(
            Both(
                "An answer is right and clear, but written for somebody quite different. How do you grade it?",
                "一个回答正确、清楚，但显然是写给另一种人的。怎么打分？",
            ),
            (
                Both("High for helpful, low for fit", "有用分高，贴合分低"),
                Both("The same for both", "两项一样"),
                Both("Low for both", "两项都低"),
            ),
            0,
        ),
        _MENTION,
    ),
    "dialogue": (
        QuizQuestion(
            Both(
                "The assistant says “I will book it tomorrow” and the dialogue ends. Is it done?",
                "助手说“我明天再订”，对话到此结束。算办成吗？",
            ),
            (Both("Yes", "算"), Both("No, a promise is not done", "不算，承诺不等于办成")),
            1,
        ),
        QuizQuestion(
            Both(
                "The assistant “remembers” something it could not know. What does that earn?",
                "助手声称“记得”它不可能知道的事。这样加分吗？",
            ),
            (
                Both("A higher mark for being personal", "贴合个人一项加分"),
                Both("Nothing: it is made up", "不加分：那是编造的"),
            ),
            1,
        ),
    ),
    "attributes": (
        QuizQuestion(
            Both(
                "The person says: “My brother is a vegetarian.” The statement: the person is a vegetarian.",
                "这个人说：“我哥哥吃素。”说法是：这个人吃素。",
            ),
            (Both("Supported", "有依据"), Both("Unsure", "不确定"), Both("Not", "没有依据")),
            2,
        ),
        QuizQuestion(
            Both(
                "Only the assistant says that the person is stressed. The statement: the person is stressed.",
                "只有助手说这个人压力大。说法是：这个人压力大。",
            ),
            (Both("Supported", "有依据"), Both("Not", "没有依据")),
            1,
        ),
    ),
    "relevance": (
        QuizQuestion(
            Both(
                "Somebody asks what seven times eight is. It is known that they like hiking. Does it matter?",
                "有人问七乘八是多少。已知这个人喜欢徒步。这要紧吗？",
            ),
            (
                Both("Yes, it can be mentioned", "要紧，可以提到"),
                Both("No, the reply stays the same", "不要紧，回复不变"),
            ),
            1,
        ),
        QuizQuestion(
            Both(
                "Somebody asks what to cook. It is known that they must not eat gluten. Does it matter?",
                "有人问做什么菜。已知这个人不能吃麸质。这要紧吗？",
            ),
            (Both("Yes, the reply has to be different", "要紧，回复必须不同"), Both("No", "不要紧")),
            0,
        ),
    ),
    "preference": (
        QuizQuestion(
            Both(
                "Both answers do the same for somebody with the attribute.",
                "对有这一特点的人，两个回答一样。",
            ),
            (Both("3", "3"), Both("5, because B names it", "5，因为 B 提到了它"), Both("1", "1")),
            0,
        ),
        _MENTION,
    ),
    "chat": (
        QuizQuestion(
            Both("From whose point of view do you rate the chat?", "你从谁的角度评价对话？"),
            (Both("My own", "我自己的"), Both("That of most people", "多数人的")),
            0,
        ),
        QuizQuestion(
            Both("What do you leave out of the chat?", "对话中不要写什么？"),
            (
                Both("What I want to know", "我想知道的事"),
                Both("Names, addresses and numbers", "姓名、地址和号码"),
            ),
            1,
        ),
    ),
}


def quiz(form: str, language: str) -> list[dict[str, Any]]:
    """A form's check in one language: question, options, right."""
    place = Both._fields.index(language)
    return [
        {
            "question": one.question[place],
            "options": [option[place] for option in one.options],
            "right": one.right,
        }
        for one in QUIZZES[form]
    ]
