"""What can be told of a question without asking anyone: what it gives away, whether it is open, and whether it is one at all.

A question that tells the person apart makes the profile needless. A rule decides only what is plain: sums, facts,
definitions and text to be worked on are closed, and a question that asks what *I* should do is open. The rest is for a model
to judge.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from personafit.factory.asking import Unfit
from personafit.factory.people.wording import shared
from personafit.factory.prompts import WORDINGS
from personafit.factory.questions.scenarios import language_of
from personafit.people import Person, facet_values
from personafit.raters.dialogues.counting.words import stems

_WIDE = re.compile(r"[\u3400-\u9fff]+")
_SELF = {
    "en": re.compile(
        r"\b(?:as|being) an? (?!rule|result|treat|gift|present|start|whole|group|team|couple|family|bonus|backup|side|first|last|change|hobby)\w+"
        r"|\bi(?: am|['’]m) an? (?!bit|little|lot|few|week|month|day|year|total|complete|beginner)\w+"
        r"|\bi(?: am|['’]m) \d|\bmy name is\b",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        r"(?:^|[，,。；！？\s])我?作为一?[名个位]?\S{0,8}|我是一?[名个位]|我今年|我\d+岁(?!的)|我叫"
    ),
}
_COMMON = frozenset(stems(WORDINGS["common"]["en"]))
_ROUND = re.compile(r"\d0$")  # ten days, twenty minutes: anybody's
_WHOLE = 2  # words of a value, from which the whole of it, or this many in a row, is telling
_ROW = {"en": 3, "zh": 5}
_SHARE = 0.6


def leaks(question: str, person: Person) -> Iterator[str]:
    """What the question says that the person's profile or features say too; nothing where it is safe."""
    language = "zh" if person.language == "zh" else "en"
    if described := described_self(question, language):
        yield described
    name = str(person.facets.get("Name", ""))
    for part in [name, *name.split()]:
        if len(part) > (1 if language == "zh" else 2) and re.search(
            rf"(?<![^\W_]){re.escape(part)}(?![^\W_])" if language == "en" else re.escape(part), question
        ):
            yield part
    said = [*facet_values(person.facets), *(attribute.text for attribute in person.attributes)]
    numbers = {number for text in said for number in re.findall(r"\d{2,}", text) if not _ROUND.match(number)}
    numbers.add(str(person.facets.get("Demographics.Age", "")))
    yield from (number for number in re.findall(r"\d{2,}", question) if number in numbers)
    mbti = str(person.facets.get("Personality.MBTI", ""))
    if mbti and re.search(rf"\b{mbti}\b", question, re.IGNORECASE):
        yield mbti
    for text in said:
        found = _wide_row(question, text) if language == "zh" else _shared_words(question, text)
        if found:
            yield found


def described_self(question: str, language: str) -> str:
    """The words with which a question says who is asking, such as 'as a nurse'; empty if it does not."""
    found = _SELF[language].search(question)
    return found[0].strip("，, ") if found else ""


def _shared_words(question: str, text: str) -> str:
    """The words of a value that stand in the question, if they are most of it or several in a row."""
    mine, theirs = telling(question), telling(text)
    here = set(mine)
    both = [word for word in theirs if word in here]
    if len(set(theirs)) >= _WHOLE and len(set(both)) >= max(_WHOLE, _SHARE * len(set(theirs))):
        return " ".join(dict.fromkeys(both))
    rows = {tuple(mine[place : place + _ROW["en"]]) for place in range(len(mine) - _ROW["en"] + 1)}
    for place in range(len(theirs) - _ROW["en"] + 1):
        if (row := tuple(theirs[place : place + _ROW["en"]])) in rows:
            return " ".join(row)
    return ""


@lru_cache(maxsize=4096)
def telling(text: str) -> tuple[str, ...]:
    """The words that could tell somebody apart."""
    return tuple(word for word in stems(text) if len(word) > 3 and word not in _COMMON)


def _wide_row(question: str, text: str) -> str:
    """The longest stretch both have, if it is long enough or nearly the whole value."""
    best = ""
    for mine in _WIDE.findall(question):
        for start in range(len(mine)):
            end = start + len(best) + 1
            while end <= len(mine) and mine[start:end] in text:
                best, end = mine[start:end], end + 1
    best = best.strip("的了是和在我")
    length = sum(map(len, _WIDE.findall(text)))
    short = 3 <= length <= _ROW["zh"] and len(best) == length
    return best if short or len(best) >= _ROW["zh"] else ""


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


COPIED = 0.8  # of the example's pairs of letters: from there on it is the example over again
_GAPS = re.compile(r"\[[^\]]*\]|\{[^}]*\}|<[^>]*>|_{2,}|\.\.\.|…")
_ABOUT_ASKING = re.compile(
    r"\b(?:ai|assistant|chatbot|language model|smollm)\b|\b(?:somebody|someone|friend|person|might|could you|do you|can you) asks?(?:ed)?\b"
    r"|\bask about\b|助手|人工智能|语言模型|有人问",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"[?？]$|(?:^|[.!?] )(?:please|help|give|suggest|recommend|plan|put|write|tell|show|draft|make|explain|find|pick|compare|sketch|i(?:'d| would) like)\b"
    r"|^(?:请|帮|给我|推荐|写|讲|说说|安排)|[吗呢吧么]$|帮我",
    re.IGNORECASE,
)


def question_reader(language: str, shortest: int, longest: int, example: str = "") -> Callable[[str], str]:
    """Reads one line that asks something, and is not the example over again."""

    def read(reply: str) -> str:
        lines = [line for line in reply.strip().splitlines() if line.strip()]
        if len(lines) != 1:
            raise Unfit("it must be one line", "必须只有一行")
        text = " ".join(lines[0].split()).strip("\"'“”「」*- ")
        if not shortest <= len(text) <= longest:
            raise Unfit(
                f"a question has {shortest} to {longest} characters, this one {len(text)}",
                f"问题应有{shortest}到{longest}个字符，现在是{len(text)}个",
            )
        if language_of(text) != language:
            raise Unfit("it is in the wrong language", "语言不对，请用中文")
        if _GAPS.search(text):
            raise Unfit("it has gaps to fill in, or breaks off", "留有待填的空，或没有写完")
        if _ABOUT_ASKING.search(text) or text.count('"') % 2:
            raise Unfit("it talks about a question instead of asking it", "这是在谈论问题，而不是提问")
        if not _ASKS.search(text.rstrip("。.!！")):
            raise Unfit("it asks nothing", "没有提出任何问题")
        if example and shared(example, text) >= COPIED:
            raise Unfit("it repeats the example", "只是重复了示例")
        return text

    return read
