"""A model looks over drawn preferences and exchanges what sits badly, with a reason; the shares of values decide how far.

Exchanges are applied in the order of people. One that a rule forbids or that would move a value off its share is not
done and is recorded, so that a model that likes the same for everybody changes next to nothing.
"""

import json
from collections.abc import Iterator, Mapping
from functools import partial

import orjson

from personafit.factory.asking import Target, Unfit
from personafit.factory.tasks.balance import ValueBalancer
from personafit.factory.tasks.drawing import is_allowed
from personafit.factory.tasks.ontology import Domain, Ontology
from personafit.factory.tasks.profile import Profile
from personafit.factory.tasks.prompts import REFINE
from personafit.people import render_facets

MOST = 2  # exchanges in one domain
LONGEST_REASON = 300


def refinements(profile: Profile, ontology: Ontology, parent: str) -> Iterator[Target]:
    """An ask for each domain the person cares about."""
    for name in profile.domains:
        domain = ontology.domains[name]
        lines = []
        for attribute, values in profile.of(name).items():
            one, language = domain.attributes[attribute], profile.language
            drawn = ", ".join(one.said(value, language) for value in values)
            free = [one.said(value, language) for value in exchangeable(profile, name, domain, attribute)]
            lines.append(f"- {attribute}: {drawn} ({' | '.join(free) or '-'})")
        yield Target(
            f"{profile.id}/{name}/refine",
            REFINE,
            profile.language,
            {
                "person": render_facets(profile.facets),
                "domain": domain.zh if profile.language == "zh" else name,
                "drawn": "\n".join(lines),
                "most": MOST,
            },
            kind="verdict",
            read=partial(_read, profile=profile, name=name, domain=domain),
            about=profile.id,
            parents=(parent,),
            max_tokens=400,
        )


def exchangeable(profile: Profile, name: str, domain: Domain, attribute: str) -> list[str]:
    """The values a person could have in place of what was drawn; of several the first is the one to go."""
    barred = domain.barred_for(frozenset(profile.tags))
    rest = [
        f"{other}: {value}"
        for other, values in profile.of(name).items()
        for value in values
        if (other, value) != (attribute, profile.of(name)[attribute][0])
    ]
    return [
        value
        for value in domain.attributes[attribute].values
        if value not in profile.of(name)[attribute]
        and is_allowed(domain, f"{attribute}: {value}", rest, barred)
    ]


def apply_changes(
    profile: Profile,
    name: str,
    text: str,
    ontology: Ontology,
    balances: Mapping[str, ValueBalancer],
    slack: float,
) -> Iterator[str]:
    """Do the exchanges of one reply that may be done; a sentence for each that may not."""
    domain = ontology.domains[name]
    for change in orjson.loads(text):
        attribute, value = change["attribute"], change["value"]
        path, values = f"{name}.{attribute}", profile.preferences[f"{name}.{attribute}"]
        if value not in exchangeable(profile, name, domain, attribute):
            yield f"{path}: {value} goes with nothing else the person has by now"
        elif not balances[path].change(values[0], value, slack):
            yield f"{path}: {value} would take it, or {values[0]}, off its share"
        else:
            profile.preferences[path] = [value, *values[1:]]
            profile.reasons[path] = change["reason"]


def _read(reply: str, profile: Profile, name: str, domain: Domain) -> str:
    """The exchanges of a reply in the ontology's words, as JSON."""
    bare = reply.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip()
    try:
        changes = json.loads(bare)["changes"]
        assert isinstance(changes, list)
    except (ValueError, KeyError, TypeError, AssertionError, RecursionError) as error:
        raise Unfit(
            'it must be one JSON object with a list "changes"', "必须是一个带有 changes 列表的 JSON 对象"
        ) from error
    if len(changes) > MOST:
        raise Unfit(
            f"it has {len(changes)} changes, and at most {MOST} are wanted",
            f"改了{len(changes)}处，最多只能改{MOST}处",
        )
    found: list[dict[str, str]] = []
    for change in changes:
        fields = change if isinstance(change, dict) else {}
        attribute, said = (str(fields.get(field)) for field in ("attribute", "value"))
        reason = fields.get("reason")
        if attribute not in domain.attributes or attribute in [one["attribute"] for one in found]:
            raise Unfit(
                f"attribute must be one of {', '.join(domain.attributes)}, each at most once",
                f"attribute 必须是 {'、'.join(domain.attributes)} 之一，各最多一次",
            )
        known = {
            domain.attributes[attribute].said(value, profile.language): value
            for value in exchangeable(profile, name, domain, attribute)
        }
        if said not in known:
            raise Unfit(
                f"value of {attribute} must be one of {', '.join(known)}",
                f"{attribute} 的 value 必须是 {'、'.join(known)} 之一",
            )
        if not isinstance(reason, str) or not 3 <= len(reason.strip()) <= LONGEST_REASON:
            raise Unfit(
                "every change needs a reason of one short sentence", "每处修改都要有一句简短的 reason"
            )
        found.append({"attribute": attribute, "value": known[said], "reason": reason.strip()})
    return json.dumps(found, ensure_ascii=False)
