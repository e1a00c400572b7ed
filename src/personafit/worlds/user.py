"""The simulated user, who answers what is asked and nothing else; and the card for a model that plays the user."""

from collections.abc import Collection
from dataclasses import dataclass

from personafit._hashing import draw
from personafit.people import render_facets
from personafit.worlds.ontology import BUDGET, NEEDS, texts
from personafit.worlds.people import Fact
from personafit.worlds.requests import Request
from personafit.worlds.tools import MOST_TEXT

QUESTION_MARKS = ("?", "？")


@dataclass(frozen=True, slots=True)
class UserReply:
    """What the user says, and whether they end the conversation."""

    text: str
    ends: bool = False


def is_question(text: str) -> bool:
    """Return whether a message to the user asks something."""
    return any(mark in text[:MOST_TEXT] for mark in QUESTION_MARKS)


def topics_asked(request: Request, text: str) -> list[str]:
    """Return the keys of the topics of a question, such as `meals.spice`; if it names a domain, only that domain's."""
    text, language = text[:MOST_TEXT], request.language
    domains = [request.domains[goal.domain] for goal in request.goals]
    if len(domains) > 1:
        lowered = text.casefold()
        domains = [each for each in domains if each.label[language].casefold() in lowered] or domains
    return [f"{domain.id}.{topic}" for domain in domains for topic in domain.asked_in(text, language)]


def reply(request: Request, text: str, question: bool, done: bool) -> UserReply:
    """Return the template user's reply to a message; `question`: it asks something; `done`: everything requested exists."""
    wordings = texts()[request.language]["user"]
    keys = topics_asked(request, text) if question else []
    if not keys:
        ends = done or not question
        options = wordings["thanks" if ends else "open"]
        return UserReply(options[draw(request.id, among=len(options))], ends)
    answers = [_answer(request, key) for key in keys]
    if len(keys) > 1:
        answers = [
            wordings["several"].format(topic=_topic(request, key), answer=answer)
            for key, answer in zip(keys, answers, strict=True)
        ]
    return UserReply("\n".join(answers))


def _answer(request: Request, key: str) -> str:
    wordings, resident = texts()[request.language]["user"], request.resident
    if fact := resident.tastes.facts.get(key):
        said = resident.say(fact, wordings)
        return said[:1].upper() + said[1:]
    topic = key.rpartition(".")[2]
    options = wordings[{BUDGET: "no_budget", NEEDS: "no_need"}.get(topic, "nothing")]
    return str(options[draw(resident.id, key, among=len(options))])


def _topic(request: Request, key: str) -> str:
    """Return the name of a topic, with its domain if the request is about two."""
    domain, _, name = key.rpartition(".")
    label = request.domains[domain].topics[name].label[request.language]
    if len(request.goals) == 1:
        return label
    return f"{request.domains[domain].label[request.language]}, {label}"


def fact_in(request: Request, key: str, answer: str) -> Fact | None:
    """Return the fact about a topic that the template user's answer tells, by the sentence in which they tell it."""
    fact, wordings = request.resident.tastes.facts.get(key), texts()[request.language]["user"]
    return fact if fact and request.resident.say(fact, wordings).casefold() in answer.casefold() else None


def card(request: Request) -> str:
    """Return the instructions for a model that plays the user: who they are, what they asked for, what is true of them."""
    words, language, resident = texts()[request.language], request.language, request.resident
    lines = [render_facets(resident.about), words["card"]["said"].format(text=request.text)]
    for fact in resident.facts:
        if any(goal.domain == fact.domain for goal in request.goals):
            domain = request.domains[fact.domain]
            label, topic = domain.label[language], domain.topics[fact.topic].label[language]
            said = resident.say(fact, words["profile"])
            lines.append(words["card"]["fact"].format(domain=label, topic=topic, said=said))
    return "\n".join([*lines, words["card"]["rest"]])


def user_errors(
    request: Request, now: Collection[str], before: Collection[str], text: str
) -> tuple[int, int]:
    """Count the topics that a reply of the user tells without being asked, and those on which it is wrong.

    `now` and `before` are the keys of what was asked just now and earlier. True statements about these are removed from the text first,
    since a word in them may be a value of another topic.
    """
    language, lowered, true = request.language, text[:MOST_TEXT].casefold(), dict[str, set[str]]()
    topics = {
        f"{goal.domain}.{name}": topic
        for goal in request.goals
        for name, topic in request.domains[goal.domain].choices.items()
    }
    liked = {key: set(fact.values) for key, fact in request.resident.tastes.facts.items()}
    for key in topics.keys() & {*now, *before}:
        true[key] = liked.get(key, set()) & topics[key].find(lowered, language)
    labels = {topics[key].show(value, language).casefold() for key in true for value in true[key]}
    for label in sorted(labels, key=len, reverse=True):
        lowered = lowered.replace(label, " ")
    said = {key: topic.find(lowered, language) for key, topic in topics.items()}
    contradicted = sum(bool(said[key]) for key in now if key in true and not true[key])
    volunteered = sum(bool(said[key] & liked.get(key, set())) for key in said.keys() - true.keys())
    return volunteered, contradicted
