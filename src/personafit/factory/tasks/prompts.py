"""The prompts of task profiles: look over drawn preferences, sum up a history, word a wish."""

from personafit.factory.prompts import PromptTemplate

REFINE = PromptTemplate(
    "task-preferences",
    1,
    {
        "en": (
            "Somebody's preferences in one area of life were drawn by lot. Say which of them, if any, sit badly with who the "
            "person is, and what would suit them better. Do not follow clichés: people of the same age or job differ widely, "
            "and most of what was drawn can stay.\n\n"
            "Who they are:\n{person}\n\nArea: {domain}\nDrawn, and what else there is to choose from:\n{drawn}\n\n"
            'Answer with one JSON object: {{"changes": [{{"attribute": "...", "value": "...", "reason": "..."}}]}}. At most '
            "{most} changes, each with the name of an attribute and one of its other values exactly as written above, and "
            'one short sentence as the reason. If everything can stay, answer {{"changes": []}}.'
        ),
        "zh": (
            "某人在一个生活领域里的偏好是抽签得来的。请指出其中有没有与这个人不相称的，以及换成什么更合适。不要套用刻板印象：同年龄、"
            "同职业的人千差万别，抽到的大多可以保留。\n\n"
            "这个人：\n{person}\n\n领域：{domain}\n抽到的偏好，以及其他可选项：\n{drawn}\n\n"
            '请只回答一个 JSON 对象：{{"changes": [{{"attribute": "...", "value": "...", "reason": "..."}}]}}。最多改 {most} 处，'
            "attribute 和 value 必须与上面所写完全一致，reason 用一句短话。如果都可以保留，就回答 "
            '{{"changes": []}}。'
        ),
    },
)

HISTORY = PromptTemplate(
    "task-history",
    1,
    {
        "en": (
            "Below are notes on what one person did in earlier conversations with an assistant about {domain}. Write them up "
            "as a short account, {low} to {high} words, in plain sentences about 'they'. Every note must be in it with its "
            "own key words, nothing may be in it that says otherwise, and what the person could have chosen instead is not "
            "mentioned. You may add small harmless details: an occasion, a reason, what came of it. No list, no heading, no "
            "brackets, no word about this account itself.\n\nWho they are:\n{person}\n\nNotes:\n{notes}"
        ),
        "zh": (
            "下面是一个人以前和助手谈{domain}时的记录。请把它们写成一段简短的叙述，{low}到{high}字，用平实的句子，以“这个人”相称。"
            "每条记录都要写进去并保留其中的关键词，不得写与之相反的内容，也不要提这个人本可以选择的其他东西。可以补充一些无关紧要的细节："
            "场合、缘由、结果。不要列表、标题、方括号，也不要提到这段叙述本身。\n\n这个人：\n{person}\n\n记录：\n{notes}"
        ),
    },
)

WISH = PromptTemplate(
    "task-wish",
    1,
    {
        "en": (
            "A person wants this from an assistant: {wish}\n({about})\n\nWho they are:\n{person}\n\nWhere they are:\n{situation}"
            "\n\nSay in one sentence, in the form of an order to oneself ('Get ...', 'Decide ...'), what this person wants done, "
            "with a detail of their own life that makes it theirs. It must stay the same task. Name nothing they like, "
            "dislike, own or usually choose: the assistant has to find that out. Only the sentence."
        ),
        "zh": (
            "一个人想让助手帮这件事：{wish}\n（{about}）\n\n这个人：\n{person}\n\n所处情境：\n{situation}\n\n请用一句话说出这个人想办成什么，"
            "带上一点自己生活里的细节，但必须仍是同一件事。不要说出喜欢什么、不喜欢什么、拥有什么、通常选什么：那要由助手去弄清。只写这一句话。"
        ),
    },
)
