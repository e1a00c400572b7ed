"""One answer as numbers: how it is written, how it meets the question, how it takes up the person.

Every feature is a function of one person, one question and one answer. How often a text occurs elsewhere, the
tier and the other answer are deliberately not inputs.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from operator import add, mul

from personafit.raters.fitted.profiles import (
    FIELD_GROUPS,
    MATCH_LENGTHS,
    PersonProfile,
    latin_words,
    matchable,
    neighbours,
)

_SENTENCE_ENDS = re.compile(r"[。！？!?\n；;]+")
_BULLETS = re.compile(r"^\s*[-*•]\s", re.MULTILINE)
_NUMBERED = re.compile(r"^\s*\**\d+[.、)）]", re.MULTILINE)
_LATIN_LETTERS = re.compile(r"[A-Za-z]+")
_DIGITS = re.compile(r"\d")
_EDGE = 60  # characters that count as the opening or the closing of an answer
_NOTHING: frozenset[str] = frozenset()


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


PHRASES: Mapping[str, tuple[str, ...]] = {
    "by_your_profile": ("根据你", "根据您", "结合你", "结合您", "考虑到你", "考虑到您", "鉴于你", "鉴于您"),
    "your_likes": _words("你喜欢 您喜欢 你对 您对 你热爱 您热爱 的兴趣 偏好 你平时 您平时 你常 您常"),
    "moreover": ("此外", "另外", "同时", "还可以", "不妨"),
    "advice": ("建议", "推荐", "可以尝试"),
    "examples": ("比如", "例如", "像是"),
    "way_of_life": ("风格", "习惯", "生活方式", "个性"),
    "good_wishes": ("希望", "祝你", "祝您", "相信", "一定会"),
    "offers_more": ("需要我", "如果你需要", "如果需要", "告诉我", "随时"),
    "both_and": ("既", "又能", "不仅", "还能"),
    "first_next": ("首先", "其次", "最后"),
    "feelings": ("理解", "感受", "感到", "情绪"),
    "likening": ("就像", "如同", "仿佛", "像"),
    "generic": ("以下是", "以下", "几个", "一些", "步骤", "方面"),
}

# Cues in a question that make a field group matter to it.
QUESTION_CUES: Mapping[str, tuple[str, ...]] = {
    "food": _words("吃 食 餐 菜 饭 厨 烹 喝 饮 酒 茶 咖啡 早餐 晚餐 沙拉 蛋糕 味 聚会"),
    "leisure_travel": _words("旅 游 去 玩 天 假期 计划 城市 住 酒店 景 行程 岛 公园"),
    "fitness": _words("运动 健身 锻炼 减 训练 跑 健康 身体 睡 体重 肌 瑜伽"),
    "study_work": _words("工作 职 学习 考试 公司 写 时间 效率 任务 简历 面试 课 项目 英语"),
    "shopping": _words("买 购 礼物 衣 穿 时尚 推荐 鞋 装 预算"),
    "social": _words("朋友 妻 丈夫 孩子 家人 女友 男友 同事 关系 约会 妈 爸 人"),
    "entertainment": _words("电影 音乐 书 歌 游戏 看 娱乐 小说 节目 艺术"),
    "content": _words("了解 学 研究 历史 科学 书 看"),
    "outings": _words("车 周末 出门 公园 户外 活动"),
    "values": _words("感 觉得 意义 人生 心理 压力 情绪 焦虑 为什么"),
    "career": _words("工作 职 辞 薪 事业 创业 老板"),
    "business_trips": _words("出差 会议 商务 旅行"),
}


def answer_features(profile: PersonProfile, question: str, answer: str) -> dict[str, float]:
    """All features of one answer by name: always the same names in the same order."""
    features = _style(answer)
    features.update(_address(profile.name, answer))
    features.update(_match(profile, question, answer))
    return features


def _style(answer: str) -> dict[str, float]:
    length = len(answer)
    sentences = [part for part in _SENTENCE_ENDS.split(answer) if part.strip()]
    paragraphs = sum(1 for line in answer.split("\n") if line.strip())
    numbered, bullets = len(_NUMBERED.findall(answer)), len(_BULLETS.findall(answer))
    latin = _LATIN_LETTERS.findall(answer)
    pauses = answer.count("，") + answer.count("、")
    exclamations = answer.count("！") + answer.count("!")
    features: dict[str, float] = {
        "log_length": math.log1p(length),
        "length": length / 100,
        "sentences": math.log1p(len(sentences)),
        "sentence_length": length / max(1, len(sentences)) / 10,
        "first_sentence_length": math.log1p(len(sentences[0])) if sentences else 0.0,
        "paragraphs": float(paragraphs),
        "one_paragraph": float(paragraphs <= 1),
        "bold": answer.count("**") / 2,
        "bold_used": float("**" in answer),
        "numbered": float(numbered),
        "bullets": float(bullets),
        "list_used": float(numbered + bullets > 0),
        "exclamations": float(exclamations),
        "ends_with_exclamation": float(answer.rstrip().endswith(("！", "!"))),
        "questions": float(answer.count("？") + answer.count("?")),
        "quotes": answer.count("“") + answer.count("「") + answer.count('"') / 2,
        "titles": float(answer.count("《")),
        "digits": len(_DIGITS.findall(answer)) / 10,
        "brackets": float(answer.count("（") + answer.count("(")),
        "dashes": float(answer.count("——")),
        "colons": float(answer.count("：")),
        "pauses": pauses / 10,
        "pause_rate": pauses / max(1, length) * 10,
        "semicolons": float(answer.count("；")),
        "latin_words": float(len(latin)),
        "latin_share": sum(map(len, latin)) / max(1, length),
        "first_person": float(answer.count("我")),
    }
    for kind, words in PHRASES.items():
        features[f"phrase_{kind}"] = float(sum(map(answer.count, words)))
    return features


def _address(name: str, answer: str) -> dict[str, float]:
    plain, polite = answer.count("你"), answer.count("您")
    second = plain + polite
    first_at = min((at for at in (answer.find("你"), answer.find("您")) if at >= 0), default=len(answer))
    return {
        "second_person_plain": float(plain),
        "second_person_polite": float(polite),
        "polite_used": float(polite > 0),
        "second_person": float(second),
        "log_second_person": math.log1p(second),
        "second_person_rate": second / max(1, len(answer)) * 100,
        "second_person_used": float(second > 0),
        "second_person_first_at": first_at / max(1, len(answer)),
        "name_used": float(bool(name) and name in answer),
        "name_in_opening": float(bool(name) and name in answer[:20]),
    }


@dataclass(frozen=True)
class _Asked:
    """What of a question every answer to it is compared with."""

    grams: Mapping[int, frozenset[str]]
    relevance: tuple[float, ...]


@lru_cache(maxsize=4096)
def _asked(question: str) -> _Asked:
    cues = [1.0 + 2 * sum(cue in question for cue in QUESTION_CUES.get(group, ())) for group in FIELD_GROUPS]
    return _Asked(
        grams={length: frozenset(matchable(question, length)) for length in MATCH_LENGTHS},
        relevance=tuple(cue / sum(cues) for cue in cues),
    )


def _match(profile: PersonProfile, question: str, answer: str) -> dict[str, float]:
    text = answer.lower()
    asked = _asked(question)
    pairs, distinct = neighbours(text)
    grams = {2: distinct.union(latin_words(text)), 3: frozenset(map(add, pairs, text[2:]))}
    features: dict[str, float] = {"variety": len(distinct) / max(1, len(pairs))}
    shared: dict[int, frozenset[str]] = {}
    for length, found in grams.items():
        from_question = found & asked.grams[length]
        shared[length] = (found & profile.by_length[length]) - from_question
        count = len(shared[length])
        features[f"shared{length}"] = float(count)
        features[f"log_shared{length}"] = math.log1p(count)
        features[f"shared_rate{length}"] = count / max(1, len(found))
        features[f"log_own{length}"] = math.log1p(len(found) - count - len(from_question))
        features[f"question_share{length}"] = len(from_question) / max(1, len(asked.grams[length]))
    features["shared_in_opening"] = float(len(shared[2].intersection(pairs[:_EDGE])))
    features["shared_in_closing"] = float(len(shared[2].intersection(pairs[-_EDGE:])))
    features.update(_by_field(profile, asked.relevance, shared))
    return features


def _by_field(
    profile: PersonProfile, relevance: tuple[float, ...], shared: Mapping[int, frozenset[str]]
) -> dict[str, float]:
    """Which fields are taken up, and whether they are the fields the question is about."""
    pairs, triples = (
        [len(shared[length] & profile.by_group[length].get(group, _NOTHING)) for group in FIELD_GROUPS]
        for length in MATCH_LENGTHS
    )
    logs, logs3 = [math.log1p(count) for count in pairs], [math.log1p(count) for count in triples]
    foremost = max(relevance)
    about = [log for log, weight in zip(logs, relevance, strict=True) if weight == foremost]
    strongest, second = sorted(pairs, reverse=True)[:2]
    features = {f"field_{group}": value for group, value in zip(FIELD_GROUPS, logs, strict=True)}
    features |= {
        "fields_touched": float(sum([count >= 2 for count in pairs])),
        "fields_used": float(sum([count >= 4 for count in pairs])),
        "fields_used3": float(sum([count >= 2 for count in triples])),
        "strongest_field": math.log1p(strongest),
        "second_field": math.log1p(second),
        "concentration": strongest / max(1, sum(pairs)),
        "strongest_field3": math.log1p(max(triples)),
        "field_logs": sum(logs),
        "field_logs3": sum(logs3),
        "relevant_logs": sum(map(mul, relevance, logs)),
        "relevant_logs3": sum(map(mul, relevance, logs3)),
        "most_relevant_fields": sum(about) / len(about),
    }
    return features
