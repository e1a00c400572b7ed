"""The rule verifier: what can be said of an attribute and its evidence without asking anybody. In English and Chinese.

It looks for what extractors get wrong most: evidence that is not there or was planted, words that do not bear the statement
out, a task taken for a trait, one occasion made into always, and statements nobody could understand by themselves. Only want of
any evidence is a rejection; all else a better judge may overrule. The bound was set on the starter set's known attributes
beside the same attributes with other people's words.
"""

import re
from collections.abc import Sequence

from personafit.models.embeddings import Embedder
from personafit.stages.asking import steers
from personafit.stages.records import ExtractedAttribute, VerifierVerdict

NAME = "rule"
NEAR = 0.20  # cosine of statement and nearest sentence below which the words do not seem to support it
MOST_SENTENCES = 200  # of the turns behind one attribute
HEDGED = 0.6  # confidence below which a general statement on one turn is taken for a guess

_SENTENCE = re.compile(r"(?<=[.?!;。？！；])\s*|\n+")
_SUBJECT = re.compile(r"^\s*(?:the|this) user(?:'s|’s)?\b|^\s*(?:该|这位|此)?用户", re.IGNORECASE)
_FRAME = re.compile(r"^\s*(?:the|this) user(?:'s|’s)?\s+|^\s*(?:该|这位|此)?用户", re.IGNORECASE)
_DANGLING = re.compile(
    r"\b(?:this|that|these|those) (?!user\b)(?:topic|project|task|text|code|issue|problem|question|one|thing|book|story|file|matter|subject)s?\b"
    r"|\b(?:the (?:above|following|former|latter|aforementioned|said|given) \w+|as (?:mentioned|described|requested)(?: above)?|"
    r"in (?:this|the) conversation)\b|\b(?:likes|wants|needs|prefers|has|uses|owns|does|knows) (?:it|this|that|them)\b\W*$"
    r"|上述|上面提到|前面提到|这段对话|该任务|这个(?:项目|任务|问题|话题|文件|东西)|那个(?:项目|任务|问题|话题|文件|东西)",
    re.IGNORECASE,
)
_REQUEST = re.compile(
    r"^\W*(?:please\s+|pls\s+|hi,?\s+|hello,?\s+|hey,?\s+)*(?:(?:can|could|would|will) you\b|write\b|rewrite\b|translate\b|summari[sz]e\b|explain\b|"
    r"give me\b|make\b|create\b|generate\b|list\b|tell me\b|show me\b|help me\b|fix\b|convert\b|calculate\b|act as\b|what(?:'s| is| are)\b|"
    r"how (?:do|does|can|to|many|much)\b|which\b|why\b|is there\b|are there\b)"
    r"|^\W*(?:请|帮我|麻烦|给我|写|翻译|总结|解释|列出|生成|改写|计算|什么是|怎么|如何|为什么|哪|有没有)",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(
    r"\b(?:i|i'm|i’m|i've|i’ve|i'd|i'll|me|my|mine|myself|we|our|us)\b|我|咱|俺|本人", re.IGNORECASE
)
_GENERAL = re.compile(
    r"\b(?:always|never|usually|often|regularly|frequently|generally|typically|constantly|loves?|passionate|expert|avid|enthusiast|"
    r"obsessed|deeply|strongly|highly|all (?:kinds|sorts|types) of)\b|总是|从不|从来|一直|经常|通常|一向|热爱|精通|专家|酷爱|非常喜欢",
    re.IGNORECASE,
)
_OFTEN = re.compile(
    r"\b(?:always|never|every|each|usually|often|daily|weekly|monthly|all the time|again|love|hate|used to|since|for years|tend to|mostly|only|most|weekdays|weekends|evenings|mornings)\b"
    r"|总|从不|从来|每|一直|经常|常|通常|一向|天天|老是|又|爱|最|都",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]+|\d+")
_COMMON = frozenset(
    "about after also always another anything because been before being both could does doing done enough even every from have having "
    "here himself herself into just keep kind know like likes make makes many more most much need needs never often only other over "
    "people prefer prefers really same should some someone something sometimes such take than that their them then there these they "
    "thing things this those time user usually very want wants well were what when where which while will with without work works would "
    "year years your".split()
)


class RuleVerifier:
    """Judges by rules alone."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def verdicts(
        self, attributes: Sequence[tuple[ExtractedAttribute, Sequence[str]]]
    ) -> list[VerifierVerdict]:
        """One verdict for each attribute, from it and the user's turns it points to."""
        support = self._support(
            [(row, texts) for row, texts in attributes if texts and not overlap(row.text, texts)]
        )
        return [self._verdict(row, texts, support.get(row.id, 1.0)) for row, texts in attributes]

    def _verdict(self, row: ExtractedAttribute, texts: Sequence[str], support: float) -> VerifierVerdict:
        def verdict(label: str, mode: str, reason: str | None = None) -> VerifierVerdict:
            return VerifierVerdict.model_validate(
                {
                    "attribute": row.id,
                    "label": label,
                    "mode": mode,
                    "by": "rule",
                    "verifier": NAME,
                    "reason": reason,
                }
            )

        if not texts:
            return verdict("rejected", "missing-evidence", "None of the turns it points to is the user's.")
        if any(steers(text) for text in texts):
            return verdict(
                "rejected",
                "missing-evidence",
                "A turn it rests on tells the reader what to write about the user.",
            )
        if not _SUBJECT.search(row.text) or _DANGLING.search(row.text):
            return verdict(
                "unsure",
                "not-standalone",
                "It does not say who or what it is about without the conversation.",
            )
        if all(_REQUEST.search(text) and not _FIRST_PERSON.search(text) for text in texts):
            return verdict("unsure", "task-context", "The turns are requests that say nothing of the user.")
        if support < NEAR:
            return verdict("unsure", "missing-evidence", "The turns have hardly anything in common with it.")
        general = _GENERAL.search(row.text) and not any(_OFTEN.search(text) for text in texts)
        if len(texts) == 1 and (general or row.confidence < HEDGED):
            why = "says so generally" if general else "is a guess by the extractor's own confidence"
            return verdict("unsure", "over-generalised", f"One turn is all there is, and it {why}.")
        return verdict("accepted", "none")

    def _support(self, doubtful: Sequence[tuple[ExtractedAttribute, Sequence[str]]]) -> dict[str, float]:
        """For attributes that share no word with their turns, the cosine with the sentence nearest to them, frame apart."""
        compared = {
            row.id: (_FRAME.sub("", row.text), [*_sentences(texts)[:MOST_SENTENCES], *texts])
            for row, texts in doubtful
        }
        wanted = sorted({text for statement, said in compared.values() for text in (statement, *said)})
        vectors = dict(zip(wanted, self._embedder.embed(wanted), strict=True))
        return {
            name: max(float(vectors[text] @ vectors[statement]) for text in said)
            for name, (statement, said) in compared.items()
        }


def _sentences(texts: Sequence[str]) -> list[str]:
    return [part for text in texts for part in _SENTENCE.split(text) if part.strip()]


def overlap(statement: str, texts: Sequence[str]) -> set[str]:
    """Content words, or pairs of Chinese characters, that a statement shares with the turns; endings do not count."""
    said: set[str] = set()
    for text in texts:
        said |= _marks(text)
    return _marks(_FRAME.sub("", statement)) & said


def _marks(text: str) -> set[str]:
    marks: set[str] = set()
    for word in _WORD.findall(text.lower()):
        if word[0] > "⺀":
            marks |= {word[place : place + 2] for place in range(len(word) - 1)}
        elif (len(word) > 3 and word not in _COMMON) or word.isdigit():
            marks.add(word[:5])
    return marks
