"""Words that tell who is spoken of and how, in English and Chinese, and how texts are cut into clauses and content words."""

import re

SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？]*")
CLAUSE = re.compile(r"[^.!?;,:。！？；，：\n]+[.!?;,:。！？；，：]*")
CHINESE = re.compile("[\u4e00-\u9fff]")
FRAME = re.compile(r"^\s*(?:the|this) user(?:['’]s)?\s+|^\s*(?:该|这位|此)?用户的?", re.IGNORECASE)

FIRST_PERSON = re.compile(
    r"\b(?:i|i'm|i've|i'd|i'll|my own|me|mine|myself|we|our|us)\b|\bmy\b(?=$)|我|咱|俺", re.IGNORECASE
)
OTHERS = re.compile(
    r"\bmy (?!own\b)\w+|\b(?:he|she|they|somebody|everyone|people)(?:['’]s)?\b|\bthe (?:old |young )?(?:lady|man|woman|boy|girl|kids?)\b|[他她]|"
    r"室友|同学|老公|老婆|丈夫|妻子|先生|孙子|孙女|妹妹|姐姐|弟弟|哥哥|同事|隔壁|邻居|朋友|领导|小[\u4e00-\u9fff](?=[，,说不要])|老[赵钱孙李周吴郑王林陈张刘]",
    re.IGNORECASE,
)
NEGATION = re.compile(
    r"\b(?:no|not|never|none|nobody|nothing|without|cannot|refus\w*|avoid\w*|hat(?:e|es|ed)|dislik\w*|stopped|quit)\b|n['’]t\b|不|没|别|免了|算了|怕|反感|讨厌|停了",
    re.IGNORECASE,
)
PAST = re.compile(
    r"\b(?:used to|last year|once|back then|was|were|quit|stopped|gave up)\b|以前|之前|原来|曾|过去|停了",
    re.IGNORECASE,
)
GENERAL = re.compile(
    r"\b(?:always|never|all|every|everything|only|any|anything|whenever|usually|often|most|at all)\b"
    r"|总|都|只|每|从来|从不|一向|凡|天天|一概|常",
    re.IGNORECASE,
)
DANGLING = re.compile(
    r"\b(?:that|this|it|those|these|the other|the first|the second|the same|ones?)\b|这|那|第[一二三]",
    re.IGNORECASE,
)
NUMBER = re.compile(
    r"\d+|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundred)\b|[一二两三四五六七八九十百千]",
    re.IGNORECASE,
)
DECLINED = re.compile(
    r"^\W*(?:(?:ha|oh|well|right),? )?(?:no|nah|nope|not|never|don't|do not)\b|^[^，。！？,.]{0,4}(?:不|没|别|算了|免了)",
    re.IGNORECASE,
)
QUESTION = re.compile(r"[?？]")

_WORD = re.compile(r"[a-z']+|\d+")
_RUN = re.compile("[\u4e00-\u9fff]+")
_COMMON = frozenset(
    "the user a an and or of to in on at for is are was has have had not no that it its with by as be been than from but their them "
    "they when who which would does do did this one about into out up so only very more most some any all every always never each "
    "because before after during while still just like likes love loves prefer prefers want wants enjoy enjoys needs need uses use goes "
    "go gets get keeps keep takes take makes make finds find".split()
)


def pieces(text: str, pattern: re.Pattern[str]) -> list[str]:
    """The sentences or clauses of a text that hold any word; the whole text where none does."""
    return [part.strip() for part in pattern.findall(text) if re.search(r"\w", part)] or [text]


def content_words(text: str) -> frozenset[str]:
    """Beginnings of content words, and pairs of neighbouring Chinese characters."""
    low = text.lower()
    found = {word[:5] for word in _WORD.findall(low) if word not in _COMMON}
    for run in _RUN.findall(low.replace("用户", "")):
        found |= {run[place : place + 2] for place in range(len(run) - 1)} or {run}
    return frozenset(found)


def places(word: str, text: str) -> list[int]:
    """Where a content word begins in a text that is in lower case."""
    edge = r"(?<![a-z'])" if word.isascii() else ""
    return [match.start() for match in re.finditer(edge + re.escape(word), text)]


def said_by_others(before: str) -> int:
    """Who was named last in what comes before a word: 1 somebody else, -1 the speaker, 0 nobody."""
    other = max((match.start() for match in OTHERS.finditer(before)), default=-1)
    own = max((match.start() for match in FIRST_PERSON.finditer(OTHERS.sub(_blank, before))), default=-1)
    return (other > own) - (own > other)


def _blank(match: re.Match[str]) -> str:
    return "_" * len(match.group())
