"""Detect whether an answer names an attribute of the person it was written for."""

from personafit.raters.characters import HAN, han_pairs
from personafit.raters.text import content_stems, distinct_sentences, pattern

NAMING_VERSION = "1"  # of `names_attribute`; raise it with any change of what that returns

# Phrases that turn a sentence about a subject into one about the reader.
_ASCRIBES = pattern("ascribing", "ascribes")
_HAN_ASCRIBES = pattern("ascribing", "han_ascribes")
_FEWEST_HAN = 2


def names_attribute(attribute: str, prompt: str, generic: str, personalized: str) -> bool:
    """Return whether the personalized answer names the attribute and the generic one does not.

    An answer names an attribute when one of its sentences, which the generic answer does not have, addresses the reader (since you,
    as a, given your, for somebody who, 您) and shares a content word with the attribute that the question does not use. The rule's
    accuracy is measured in docs/measurements/responses.md. An answer that only acts on an attribute does not name it.
    """
    known = distinct_sentences(generic)
    own = [one for one in distinct_sentences(personalized) if one not in known]
    if HAN.search(attribute):
        wanted = han_pairs(attribute) - han_pairs(prompt) - han_pairs("用户喜欢的时候自己")
        spoken = [one for one in own if _HAN_ASCRIBES.search(one)]
        return any(len(wanted & han_pairs(one)) >= _FEWEST_HAN for one in spoken)
    wanted = content_stems(attribute) - content_stems(prompt)
    earlier = {stem for one in known if _ASCRIBES.search(one) for stem in content_stems(one)}
    return any(wanted & content_stems(one) - earlier for one in own if _ASCRIBES.search(one))
