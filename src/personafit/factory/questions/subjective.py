"""Which questions are open: no single right answer, and a good one depends on who asks. Rules first, since they are free.

A rule decides only what is plain: sums, facts, definitions and text to be worked on are out, and a question that asks what
*I* should do is open. The rest is for a model to judge.
"""

import re

from personafit.factory.questions.leaks import described_self

OPEN, CLOSED, UNSURE = "open", "closed", "unsure"

_WORK = re.compile(
    r"^(?:please )?(?:define|translate|convert|solve|calculate|compute|list|summari[sz]e|correct|fix|proofread|prove|name|rewrite|paraphrase|classify|extract)\b"
    r"|\bthe following\b|\bstands? for\b|\bsquare root\b|\bderivative\b|\bformula of\b|\bprime number\b|\d\s*[+*×=]\s*\d|\d\s+[-/]\s+\d"
    r"|\bin (?:python|java|javascript|excel|sql|bash|rust|c\+\+)\b|\bdifference between [A-Z]{2,}"
    r"|翻译|解方程|^请?列出|^请?计算|乘以|除以|平方根|概括|改正|错别字|化学式|质数|下面这|下列|出自(?!己)|^什么是(?!.*[最好])|等于多少|(?:python|java|excel|sql|代码)里?怎么",
    re.IGNORECASE,
)
_MINE = re.compile(
    r"\b(?:i|me|my|myself|we|our)\b|\byou (?:think|suggest|recommend|rather|prefer)\b|\bwould you\b|\brecommend|\bworth\b|\b(?:best|good) (?:ways?|times?|places?|ideas?)\b|\bideas?\b|\badvice\b"
    r"|我|自己|推荐|建议|你觉得|最[好佳]|最值得|最有趣|最有效|好(?:方法|办法|主意)|有哪些建议|怎么办|该[不从怎如先选]|要不要|值不值|适合|合适|比较好|[好行]吗|好[？?]|还是.+好|怎样才能|怎么才能|怎么(?:安排|调整|克服|沟通|锻炼|存|少|对付|布置|相处|选|挑)|有什么.{0,8}(?:办法|爱好|主意|花钱)|做点什么|干点什么",
    re.IGNORECASE,
)
_FACT = re.compile(
    r"^(?:who|when|where|which|what(?! (?:would|could|should|sort|kind|makes|helps|do you))|how (?:many|much|far|tall|long|old|big|high|deep|fast)|is|are|was|were|did|does|do)\b"
    r"|多少|是谁|谁(?:发明|写|是|画)|哪一?[年座个国位里]|几月|几日|什么时候|是什么[？?]?$|有多[长高大远深]|有什么区别|在哪",
    re.IGNORECASE,
)


def kind_of(question: str) -> str:
    """Open, closed, or not for a rule to say."""
    if _WORK.search(question):
        return CLOSED
    if _MINE.search(question):
        return OPEN
    return CLOSED if _FACT.search(question) else UNSURE


def unfit_for_pool(question: str, language: str, shortest: int, longest: int) -> str:
    """Why a rule keeps a question out of the pool; empty if none does."""
    if not shortest <= len(question) <= longest:
        return f"too short or too long: {len(question)} characters, not {shortest} to {longest}"
    if kind_of(question) == CLOSED:
        return "has one right answer"
    if described := described_self(question, language):
        return f"says who is asking: '{described}'"
    return ""
