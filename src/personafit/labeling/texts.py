"""What the interface says, in English and Chinese: one line a text, so that both are seen together."""

TEXTS: dict[str, dict[str, str]] = {"en": {}, "zh": {}}


def _add(key: str, en: str, zh: str) -> None:
    TEXTS["en"][key], TEXTS["zh"][key] = en, zh


def text(language: str, key: str, **parts: object) -> str:
    """A text by key; one that is no key stands for itself, so that forms may use plain words."""
    found = TEXTS[language].get(key, key)
    return found.format(**parts) if parts else found


# -- coming in and leaving ------------------------------------------------------------------------------------------
_add("study", "Study", "研究")
_add("home", "Studies with people", "人类研究")
_add(
    "home.what",
    "This is a personafit server: people read texts here, answer questions about them, or talk with an assistant.",
    "这是一台 personafit 服务器：人们在这里阅读文字、回答问题，或与助手对话。",
)
_add(
    "home.rater",
    "If you were invited to a study, please open the link that you were sent; it leads to your pages.",
    "如果你受邀参加某项研究，请打开发给你的链接，它会带你进入你的页面。",
)
_add("home.researcher", "Researchers sign in here", "研究者由此登录")
_add(
    "home.first",
    "Researchers: no password is set yet; the link to set it was printed where the server was started.",
    "研究者：尚未设置密码；设置链接已在启动服务器处打印。",
)
_add("agree", "I agree and want to take part", "我同意并愿意参加")
_add("consent", "Taking part", "参与说明")
_add(
    "consent.default",
    "You will be shown texts and asked what you think of them. Your answers are stored under a code, not under your name, and are used "
    "for research. You may stop at any time, leave out anything you do not want to answer, and ask to have your answers deleted. "
    "Some texts are written by machines; tell us with the flag if one makes you uncomfortable.",
    "我们会给你看一些文字，并询问你的看法。你的回答以代码而非姓名保存，用于研究。你可以随时停止，可以跳过不愿回答的内容，也可以要求删除你的回答。"
    "部分文字由机器生成；如有内容让你不适，请用标记告诉我们。",
)
_add("guidelines", "Guidelines", "说明")
_add("begin", "Begin", "开始")
_add("check.title", "A few questions before you begin", "开始前的几个问题")
_add(
    "check.text",
    "They make sure that the guidelines are clear. You have {left} attempts.",
    "用来确认说明已经读懂。你有 {left} 次机会。",
)
_add(
    "check.wrong",
    "Not all answers were right. Please read the guidelines once more; this is your last attempt.",
    "有的答案不对。请再读一遍说明；这是最后一次机会。",
)
_add("done.title", "Thank you", "谢谢")
_add("done.text", "Everything is answered and stored.", "所有回答均已保存。")
_add("code", "Your completion code", "你的完成代码")
_add("complete", "Finish and return", "完成并返回")
_add("look.back", "Look at the pages again", "再看一遍各页")

# -- around every page ----------------------------------------------------------------------------------------------
_add("cannot.tell", "Can’t tell", "无法判断")
_add("flag", "Uncomfortable", "令人不适")
_add("note", "Comment", "备注")
_add(
    "note.hint",
    "Anything about this page that we should know. Esc goes back.",
    "关于本页的任何意见。按 Esc 返回。",
)
_add("undo", "Undo", "撤销")
_add("next", "Next", "下一页")
_add("previous", "Back", "上一页")
_add("unfinished", "Unfinished", "未完成")
_add("pages", "Pages", "各页")
_add("page.done", "done", "已完成")
_add("page.open", "open", "未完成")
_add("page.here", "this page", "本页")
_add("own.link", "Your own link, to go on in another browser", "你的专属链接，可在其他浏览器中继续")
_add("close", "Close", "关闭")
_add("tools", "Tools", "工具")
_add("skip", "To the questions", "跳到问题")
_add("progress", "{done} of {total} done", "已完成 {done} / {total}")
_add("saved", "Saved", "已保存")
_add("saving", "Saving …", "正在保存……")
_add("waiting", "{count} waiting to be sent", "{count} 条待发送")
_add(
    "offline",
    "No connection: your answers are kept in this browser and sent when it is back.",
    "网络已断开：你的回答保存在本浏览器中，恢复后会自动发送。",
)
_add("no.page", "The next page opens when the connection is back.", "网络恢复后会打开下一页。")
_add(
    "not.kept",
    "This browser keeps nothing: do not close the page before everything is saved.",
    "本浏览器无法保存数据：请在全部保存之前不要关闭页面。",
)
_add("practice", "Practice: this page does not count.", "练习：本页不计入结果。")
_add("right", "Right.", "正确。")
_add("not.right", "Not what we think: {answer}.", "我们认为应是：{answer}。")
_add("flagged", "Marked as uncomfortable", "已标记为令人不适")
_add("language.other", "中文", "English")

# -- what pages are about -------------------------------------------------------------------------------------------
_add("person", "The person", "这个人")
_add("asked", "What they asked", "提出的问题")
_add("answer", "Answer {letter}", "回答 {letter}")
_add("the.answer", "The answer", "回答")
_add("questions", "Your answers", "你的回答")
_add("yes", "Yes", "是")
_add("no", "No", "否")
_add("which.fits", "Which answer fits this person best?", "哪个回答最适合这个人？")

_add("grade.fit", "How well does it fit this person?", "它有多适合这个人？")
_add("grade.fit.hint", "Mention is not merit: is it better for them?", "提到不等于贴合：对这个人是否更好？")
_add("grade.helpful", "How helpful is it?", "它有多大帮助？")
_add("grade.helpful.hint", "Right, clear, and an answer to what was asked.", "正确、清楚，回答了所问。")
_add("grade.low", "not at all", "完全没有")
_add("grade.high", "perfectly", "非常")

_add("dialogue", "The dialogue", "对话")
_add("goal", "What they wanted", "想完成的事")
_add("known", "What the assistant could know", "助手可以知道的")
_add("known.nothing", "Nothing about the person.", "对这个人一无所知。")
_add("preferences", "What they prefer in the matter", "在这件事上的偏好")
_add("by.user", "Person", "用户")
_add("by.you", "You", "你")
_add("by.assistant", "Assistant", "助手")
_add("by.system", "Setting", "设定")
_add("completion", "Did they get done what they came for?", "要办的事办成了吗？")
_add("completion.hint", "All of it, and not against what they prefer.", "全部办成，且不违背偏好。")
_add("personalization", "How well did the help fit this person?", "帮助有多贴合这个人？")
_add(
    "personalization.hint",
    "1 could be anybody · 2 follows what is said · 3 brings in what it knows, rightly · 4 also thinks ahead",
    "1 换谁都一样 · 2 只照所说的做 · 3 主动且恰当地用上所知 · 4 还能替人先想到",
)
_add("naturalness.user", "How natural does the person sound?", "用户说话有多自然？")
_add("naturalness.assistant", "How natural does the assistant sound?", "助手说话有多自然？")
_add("naturalness.hint", "Would somebody write like this in a chat?", "聊天里会有人这样写吗？")
_add("naturalness.low", "nobody would", "没人会")
_add("naturalness.high", "throughout", "始终自然")
_add("coherence.user", "How well do the person’s turns hang together?", "用户的话前后有多连贯？")
_add("coherence.assistant", "How well do the assistant’s turns hang together?", "助手的话前后有多连贯？")
_add("coherence.hint", "Do they answer what came before, without contradiction?", "是否承接上文、没有矛盾？")
_add("coherence.low", "not at all", "毫不连贯")
_add("coherence.high", "throughout", "始终连贯")

_add("conversation", "The conversation", "对话")
_add("statements", "What is said about the person", "关于这个人的说法")
_add("passage", "passage {number}", "第 {number} 处")
_add("attributes.accepted", "Supported", "有依据")
_add("attributes.unsure", "Unsure", "不确定")
_add("attributes.rejected", "Not", "没有依据")
_add(
    "attributes.missing",
    "What else does the conversation say about the person?",
    "对话中还说明了这个人的什么？",
)
_add(
    "attributes.missing.hint",
    "One statement a line; leave it empty if nothing is missing.",
    "每行一条；没有就留空。",
)

_add("attributes.known", "What is known about the person", "关于这个人已知的")
_add("which.matter", "Should knowing this change the reply?", "知道这一点，回复应当有所不同吗？")
_add(
    "which.prefer",
    "Which answer would somebody with this attribute rather have?",
    "有这一特点的人更想要哪个回答？",
)
_add("preference.low", "clearly A", "明显是 A")
_add("preference.high", "clearly B", "明显是 B")

# -- chats ----------------------------------------------------------------------------------------------------------
_add("chat", "Your chat", "你的对话")
_add("chat.task", "What to talk about", "谈什么")
_add(
    "chat.own",
    "A matter of your own: something you would really ask an assistant about today.",
    "你自己的事：今天你真的会向助手询问的事情。",
)
_add(
    "chat.consent",
    "The chat is stored under your code, with your ratings, and used for research. It may be published without your name, so leave out "
    "names, addresses, numbers and whatever you want to keep to yourself. You can have it deleted.",
    "对话会连同你的评分以代码保存，用于研究，可能在去除姓名后公开。请不要写姓名、地址、号码等不愿公开的内容。你可以要求删除。",
)
_add("chat.agree", "Keep my chat; begin", "同意保存，开始对话")
_add("chat.message", "Your message", "你的消息")
_add("chat.send", "Send", "发送")
_add("chat.again", "Ask again", "重试")
_add("chat.thinking", "The assistant is writing …", "助手正在输入……")
_add("chat.satisfied", "I have what I came for", "我要的已经得到了")
_add("chat.gave-up", "I give up", "我放弃")
_add("chat.end", "End the chat", "结束对话")
_add("chat.ended", "The chat has ended. What do you think of it?", "对话已结束。你觉得怎么样？")
_add(
    "chat.failed",
    "The assistant did not answer; your message is stored. Please ask again.",
    "助手没有回答；你的消息已保存。请重试。",
)
_add("self.completion", "Did you get what you came for?", "你要办的事办成了吗？")
_add("self.completion.hint", "All of it, as you wanted it.", "全部办成，且合你的意。")
_add("self.personalization", "How well did the help fit you?", "帮助有多贴合你？")
_add(
    "self.naturalness.user",
    "Did you write as you would to an assistant of your own?",
    "你是否像平时用自己的助手那样说话？",
)
_add("self.naturalness.assistant", "How natural did the assistant sound?", "助手说话有多自然？")
_add("self.coherence.assistant", "How well did its answers hang together?", "它的回答前后有多连贯？")

# -- pages that say what to answer ----------------------------------------------------------------------------------
_add("attention.person", "This page checks that texts are read.", "本页用来确认是否认真阅读。")
_add(
    "attention.read",
    "Please read what stands on this page and do what it says.",
    "请阅读本页内容，并按其中的要求作答。",
)
_add("attention.this", "Please choose this answer.", "请选择这个回答。")
_add("attention.other", "Please choose the other answer.", "请选择另一个回答。")
_add(
    "attention.mark",
    "Please give the mark {mark} to everything on this page.",
    "请给本页的所有问题都打 {mark} 分。",
)
_add(
    "attention.dialogue",
    "This is no real dialogue. Please answer the first question with no and give 1 to everything else.",
    "这不是真正的对话。请对第一个问题选“否”，其余都打 1 分。",
)
_add(
    "attention.attributes",
    "This page checks that texts are read. Please call every statement unsure.",
    "本页用来确认是否认真阅读。请把每条说法都标为“不确定”。",
)
_add(
    "attention.no",
    "This page checks that texts are read. Please answer no to everything.",
    "本页用来确认是否认真阅读。请对所有问题都选“否”。",
)
_add("attention.statement.0", "The person reads attentively.", "这个人认真阅读。")
_add("attention.statement.1", "The person follows what a text says.", "这个人按文字的要求做。")

# -- why something is right, said after practice --------------------------------------------------------------------
_add("why.fit", "It serves this person better.", "它对这个人更有用。")
_add(
    "why.wrong-person",
    "The other answer is good, but for somebody else: check it against who this person is.",
    "另一个回答不差，但适合的是别人：请对照这个人的情况。",
)
_add(
    "why.over-personalized",
    "The other answer drags in facts about the person that do not help here. Mention is not merit.",
    "另一个回答硬套个人信息，对此并无帮助。提到不等于贴合。",
)
_add(
    "why.generic",
    "The other answer would do for anybody; this one takes into account who is asking.",
    "另一个回答谁都可以用；这个回答考虑到了提问的人。",
)
_add("why.said", "The person says so themselves.", "这个人自己这样说过。")
_add("why.other-person", "That is true of somebody else in the conversation.", "那说的是对话中的另一个人。")
_add(
    "why.assistant-guess",
    "Only the assistant says so; the person does not.",
    "只是助手的猜测，这个人没有说。",
)
_add("why.over-generalised", "One occasion was made into a rule.", "把一次情况当成了常态。")
_add(
    "why.task-context",
    "It belongs to the matter talked about, not to the person.",
    "那属于所谈的事情，而不是这个人。",
)
_add("why.missing-evidence", "Nothing in the conversation says so.", "对话中没有这样的内容。")

# -- sentences that say what is wrong: the code says them in English, which is their key ----------------------------------
for _english, _chinese in (
    ("All places in this study are taken. Thank you for your interest.", "该研究的名额已满，谢谢你的关注。"),
    ("Nobody takes part without having agreed.", "只有同意后才能参加。"),
    ("Please open the link of your invitation again.", "请重新打开邀请链接。"),
    ("This link is not valid; please check that you copied all of it.", "该链接无效，请检查是否完整复制。"),
    ("This page is out of date; please reload it.", "页面已过期，请重新加载。"),
    ("This study is not open at the moment.", "该研究目前未开放。"),
    ("This study is closed. Thank you.", "该研究已结束，谢谢。"),
    (
        "This study is closed for you; your answers so far are kept.",
        "你在该研究中的部分已结束，此前的回答均已保存。",
    ),
    (
        "This study is paused at the moment; your answers so far are kept.",
        "该研究暂停中，此前的回答均已保存。",
    ),
    ("Your part in this study has ended. Thank you.", "你在该研究中的部分已结束，谢谢。"),
    (
        "The answers to the check were not right twice, so your part ends here. Thank you.",
        "两次都没有全部答对，你的参与到此结束，谢谢。",
    ),
    ("There is no such page in this study.", "该研究中没有这一页。"),
    (
        "The study has changed and this page is not part of it any more; please reload.",
        "研究内容已变更，这一页已不在其中，请重新载入。",
    ),
    (
        "The answer could not be stored just now; it is kept in this browser and sent again.",
        "回答暂时无法保存；它留在本浏览器中，会再次发送。",
    ),
    (
        "The server cannot read or write its store just now; please try again in a moment.",
        "服务器暂时无法读写数据，请稍后再试。",
    ),
    ("Please answer the questions about the guidelines first.", "请先回答关于说明的几个问题。"),
    ("Nothing is kept before you have agreed to it.", "同意之前不会保存任何内容。"),
    ("This study has no chats.", "该研究没有对话。"),
    ("There is no such study.", "没有这项研究。"),
    ("There is no such rater in this study.", "该研究中没有这位评分者。"),
    ("Please log in.", "请登录。"),
    (
        "That was wrong {count} times; please wait {seconds} seconds and try again.",
        "已输错 {count} 次；请等待 {seconds} 秒后再试。",
    ),
    ("Not Found", "没有这个页面。"),
    (
        "Somebody takes part under this id already. If it is you, please go on in the browser in which you began, or open your own "
        "link from its list of pages; the researcher can send it to you, too.",
        "已有人以此编号参加。如果是你本人，请在最初使用的浏览器中继续，或打开其页面列表中你的专属链接；也可以请研究者发给你。",
    ),
    (
        "This study takes links that were made for one participant; please open yours.",
        "该研究只接受为每位参与者生成的链接，请打开你自己的链接。",
    ),
    (
        "Too many passwords are being checked at the moment; please try again soon.",
        "目前正在核对的密码过多，请稍后再试。",
    ),
    (
        "That is more than the assistant answers so quickly; please wait {seconds} seconds and ask again.",
        "助手来不及回答这么多，请等待 {seconds} 秒后再试。",
    ),
    (
        "The assistant is answering you on another page; please wait for it.",
        "助手正在另一页回答你，请稍候。",
    ),
    ("A chat is rated when it has ended.", "对话结束后才能评分。"),
    ("This chat has ended.", "该对话已结束。"),
    ("This chat is as long as it can be; please end it.", "对话已达到最大长度，请结束它。"),
    ("The assistant has not answered your last message yet.", "助手还没有回答你的上一条消息。"),
    ("There is nothing to rate before the assistant has answered.", "助手回答之前没有可评分的内容。"),
):
    _add(_english, _english, _chinese)
