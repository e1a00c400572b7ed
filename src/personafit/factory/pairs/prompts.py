"""The prompts of training pairs: a question, an answer for the person, for nobody, for show, and two ways to spoil one."""

from personafit.factory.prompts import PromptTemplate

QUESTION = PromptTemplate(
    "pair-question",
    1,
    {
        "en": (
            "Here is somebody:\n\n{person}\n\nWrite one question this person could ask an assistant on an ordinary day, in "
            "their own voice, about {theme}. It should have no single right answer, and a good answer should depend on who "
            "asks. Do not say who is asking: no name, age, job or place. One question, nothing else."
        ),
        "zh": (
            "下面是一个人：\n\n{person}\n\n请以这个人的口吻写一个平常日子里会问助手的问题，话题是{theme}。问题不应只有一个正确答案，好的回答应当因人而异。"
            "不要透露是谁在问：不要出现姓名、年龄、职业或地点。只写一个问题。"
        ),
    },
)
THEMES = {
    "en": (
        "food",
        "free time",
        "work or study",
        "money",
        "health",
        "people close to them",
        "travel",
        "learning",
        "home",
    ),
    "zh": ("饮食", "空闲时间", "工作或学习", "花钱", "健康", "身边的人", "出行", "学习新东西", "家里的事"),
}

PERSONAL = PromptTemplate(
    "pair-personal",
    1,
    {
        "en": (
            "This is what you know about the person who asks:\n\n{person}\n\nTheir question: {question}\n\nAnswer it for this "
            "person. Let what you know decide what you advise, use only what bears on the question, and do not recite what "
            "you know about them. About {words} words."
        ),
        "zh": (
            "以下是你对提问者的了解：\n\n{person}\n\n提问：{question}\n\n请为这个人作答。让这些了解决定你的建议，只用与问题有关的部分，不要复述对方的情况。约{words}字。"
        ),
    },
)
PLAIN = PromptTemplate(
    "pair-plain",
    1,
    {
        "en": "{question}\n\nAnswer in about {words} words.",
        "zh": "{question}\n\n请用大约{words}字回答。",
    },
)
OVERDONE = PromptTemplate(
    "pair-overdone",
    1,
    {
        "en": (
            "This is what you know about the person who asks:\n\n{person}\n\nTheir question: {question}\n\nWrite the answer of an "
            "assistant that shows off how much it knows: it brings up traits that have nothing to do with the question, and "
            "bends the advice to them. It should read as if it meant well. About {words} words."
        ),
        "zh": (
            "以下是你对提问者的了解：\n\n{person}\n\n提问：{question}\n\n请写出一个爱炫耀自己有多了解对方的助手的回答：它会提起与问题无关的特征，并让建议去迁就它们，"
            "读起来却是一番好意。约{words}字。"
        ),
    },
)
LESS_PERSONAL = PromptTemplate(
    "pair-less-personal",
    1,
    {
        "en": (
            "Question: {question}\n\nAnswer: {answer}\n\nRewrite the answer so that it is just as long and just as sound, but "
            "suits anybody: take out whatever was chosen for this one person. Only the answer."
        ),
        "zh": (
            "提问：{question}\n\n回答：{answer}\n\n请改写这个回答：长度和质量不变，但变得适合任何人，去掉专为这个人挑选的内容。只写回答。"
        ),
    },
)
LESS_HELPFUL = PromptTemplate(
    "pair-less-helpful",
    1,
    {
        "en": (
            "Question: {question}\n\nAnswer: {answer}\n\nRewrite the answer so that it is just as long and still meant for the "
            "same person, but of less use: vaguer, less to the point, with one step missing. Only the answer."
        ),
        "zh": (
            "提问：{question}\n\n回答：{answer}\n\n请改写这个回答：长度不变，仍是对同一个人说的，但用处更小：更含糊、更不切题、缺一个步骤。只写回答。"
        ),
    },
)
