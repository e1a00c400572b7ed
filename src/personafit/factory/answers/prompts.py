"""The prompts of answers, in English and Chinese: for a person, for anybody, and three ways to write one anew."""

from personafit.factory.prompts import PromptTemplate

# The same in every prompt, so that neither form nor address tells which answer knows the person.
_PLAIN = {
    "en": (
        "Speak to the one who asks as 'you'. Plain sentences in one paragraph, no lists, headings or other marks, and nobody's "
        "name."
    ),
    "zh": "用“你”来称呼提问者。用一段朴素的话来写，不要列表、标题或其他符号，也不要出现任何人的名字。",
}

FOR_PERSON = PromptTemplate(
    "answers.person",
    2,
    {
        "en": (
            "What is known about the person who asks:\n\n{told}\n\nThey ask: {question}\n\nAnswer them in about {words} words. "
            "What is known should decide what is advised; leave out what has nothing to do with the question, and do not "
            "tell them who they are. " + _PLAIN["en"]
        ),
        "zh": (
            "关于提问者已知的情况：\n\n{told}\n\n问题：{question}\n\n请用大约{words}个字回答。让已知的情况决定给出的建议；与问题无关的不要提，"
            "也不要告诉对方他是谁。" + _PLAIN["zh"]
        ),
    },
)

FOR_ANYBODY = PromptTemplate(
    "answers.anybody",
    2,
    {
        "en": "Somebody asks: {question}\n\nAnswer in about {words} words. " + _PLAIN["en"],
        "zh": "有人问：{question}\n\n请用大约{words}个字回答。" + _PLAIN["zh"],
    },
)

BETTER = PromptTemplate(
    "answers.better",
    2,
    {
        "en": (
            "What is known about the person who asks:\n\n{told}\n\nThey ask: {question}\n\nThis is an answer:\n\n{answer}\n\nWrite "
            "it anew so that it fits this person better and helps more. It must stay as long as it is: between {least} and "
            "{most} characters. " + _PLAIN["en"]
        ),
        "zh": (
            "关于提问者已知的情况：\n\n{told}\n\n问题：{question}\n\n这是一个回答：\n\n{answer}\n\n请重写它，使它更适合这个人，也更有帮助。"
            "长度必须保持不变：{least}到{most}个字符之间。" + _PLAIN["zh"]
        ),
    },
)

LESS_PERSONAL = PromptTemplate(
    "answers.less-personal",
    2,
    {
        "en": (
            "Somebody asks: {question}\n\nThis is an answer:\n\n{answer}\n\nWrite it anew so that it would do for anybody: as sound "
            "as before, but without anything picked for the one who asks. It must stay as long as it is: between {least} "
            "and {most} characters. " + _PLAIN["en"]
        ),
        "zh": (
            "有人问：{question}\n\n这是一个回答：\n\n{answer}\n\n请重写它，使它对谁都适用：和原来一样可靠，但不含任何专为提问者挑选的内容。"
            "长度必须保持不变：{least}到{most}个字符之间。" + _PLAIN["zh"]
        ),
    },
)

LESS_HELPFUL = PromptTemplate(
    "answers.less-helpful",
    2,
    {
        "en": (
            "Somebody asks: {question}\n\nThis is an answer:\n\n{answer}\n\nWrite it anew so that it is still meant for the same "
            "person but of less use: vaguer, with a step left out. It must stay as long as it is: between {least} and {most} "
            "characters. " + _PLAIN["en"]
        ),
        "zh": (
            "有人问：{question}\n\n这是一个回答：\n\n{answer}\n\n请重写它：仍然是对同一个人说的，但用处更小，更含糊，少一个步骤。"
            "长度必须保持不变：{least}到{most}个字符之间。" + _PLAIN["zh"]
        ),
    },
)
