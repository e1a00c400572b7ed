"""What is asked about a draft: its words, other words for it, and a verdict on it."""

from personafit.factory.asking import Generation, Target, Unfit, chosen
from personafit.factory.prompts import PromptTemplate
from personafit.factory.questions.config import QuestionsSection
from personafit.factory.questions.drawing import QuestionDraft
from personafit.factory.questions.leaks import leaks
from personafit.factory.questions.prompts import CHECK, CHECKED, question_reader
from personafit.factory.questions.scenarios import categories

NAMED = 3  # things given away that are named


def first_ask(draft: QuestionDraft, prompt: PromptTemplate, section: QuestionsSection) -> Target:
    """A question from features, a scenario and an example."""
    language, example, scenario = draft.language, draft.example, draft.scenario
    shown = next(one for one in categories()[example.category].scenarios if one.name == example.scenario)
    return Target(
        draft.key,
        prompt,
        language,
        {
            "example": example.text,
            "example_features": "\n".join(f"- {text}" for text in example.features),
            "example_scenario": shown.title(language),
            "features": draft.known,
            "scenario": scenario.title(language),
            "category": categories()[scenario.category].title(language),
        },
        kind="question",
        read=question_reader(language, section.shortest, section.longest, example.text),
        about=draft.member.person.id,
        parents=(draft.member.person.id, example.id),
        max_tokens=120,
    )


def second_ask(draft: QuestionDraft, prompt: PromptTemplate, section: QuestionsSection) -> Target:
    """The same in other words, which must not give anything away."""
    plain = question_reader(draft.language, section.shortest, section.longest)
    text, person = draft.text, draft.member.person

    def read(reply: str) -> str:
        said = plain(reply)
        if leak := next(leaks(said, person), None):
            raise Unfit(f"it still says '{leak}'", f"仍然说出了“{leak}”")
        if said == text:
            raise Unfit("nothing was changed", "没有任何改动")
        return said

    return Target(
        f"{draft.key}/{prompt.name.rpartition('.')[2]}",
        prompt,
        draft.language,
        {
            "question": text,
            "leaks": told(draft) or "; ".join(known for _, known in draft.features),
            "scenario": draft.scenario.title(draft.language),
        },
        kind="question",
        read=read,
        about=person.id,
        parents=(draft.product,),
        max_tokens=120,
    )


def check(draft: QuestionDraft, pass_name: str) -> Target:
    """A verdict on how it strikes one."""
    return Target(
        f"{draft.key}/{pass_name}",
        CHECK,
        draft.language,
        {
            "features": draft.known,
            "scenario": draft.scenario.title(draft.language),
            "question": draft.text,
        },
        kind="verdict",
        read=chosen(CHECKED),
        letters=CHECKED,
        about=draft.member.person.id,
        parents=(draft.product,),
        max_tokens=8,
        temperature=0.0,
    )


def told(draft: QuestionDraft) -> str:
    """What its words give away."""
    return "; ".join(list(dict.fromkeys(leaks(draft.text, draft.member.person)))[:NAMED])


def took(draft: QuestionDraft, answer: Generation) -> bool:
    """Take in what a model said; false where it said nothing of use."""
    if answer.text is None or answer.product is None or answer.maker is None:
        return False
    draft.text, draft.product, draft.maker = answer.text, answer.product, answer.maker
    draft.parents = list(answer.target.parents)
    return True
