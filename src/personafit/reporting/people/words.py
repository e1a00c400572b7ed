"""What a person's page says, in English and Chinese."""

ENGLISH = {
    "lang": "en",
    "title": "What is believed of {person}",
    "lead": (
        "These statements were made by a machine from conversations with an assistant. Each stands beside the words it rests on. "
        "You know best whether they are true."
    ),
    "kept": "kept",
    "rewritten": "rewritten",
    "dropped": "left out",
    "undecided": "left out: not decided",
    "merged": "says the same",
    "invalid": "left out: no evidence",
    "profile": "What is in the profile",
    "nothing": "Nothing is in the profile.",
    "left": "What was left out",
    "conversations": "The conversations",
    "before": "before it was rewritten",
    "why": "why",
    "true": "true",
    "unsure": "not sure",
    "wrong": "not true",
    "marks": "Your marks",
    "marks_lead": (
        "Nothing you mark here is sent anywhere. To have it counted, copy this text into a file and give it to whoever gave you "
        "this page."
    ),
    "rests": "You said",
    "not_used": "not used",
    "user": "you",
    "assistant": "assistant",
    "checked": "Checked by",
}

CHINESE = {
    "lang": "zh",
    "title": "关于 {person} 的看法",
    "lead": "这些陈述是机器根据您与助手的对话写出来的，每条旁边是它所依据的原话。它们是否属实，您最清楚。",
    "kept": "保留",
    "rewritten": "已改写",
    "dropped": "未采用",
    "undecided": "未采用：尚未判定",
    "merged": "意思相同",
    "invalid": "未采用：没有依据",
    "profile": "档案里有什么",
    "nothing": "档案里没有任何内容。",
    "left": "未采用的内容",
    "conversations": "对话",
    "before": "改写之前",
    "why": "原因",
    "true": "属实",
    "unsure": "说不准",
    "wrong": "不属实",
    "marks": "您的标记",
    "marks_lead": "您在这里的标记不会发送到任何地方。如果希望算数，请把这段文字复制到一个文件里，交给给您这个页面的人。",
    "rests": "您说过",
    "not_used": "未使用",
    "user": "您",
    "assistant": "助手",
    "checked": "核查者",
}


def words_in(language: str) -> dict[str, str]:
    """The words of a page for somebody who writes in a language."""
    return CHINESE if language == "zh" else ENGLISH
