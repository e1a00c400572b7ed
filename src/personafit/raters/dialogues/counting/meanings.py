"""Other ways to say a value, values that need company to be meant, and what people call attributes and domains.

These lists are ours and finite: what they do not know is not found, which the validation shows as recall.
"""

import re
from functools import lru_cache

from personafit.raters.dialogues.counting.words import stems

SAME = (
    ("non-stop", "nonstop", "direct flight", "direct connection", "direct"),
    ("vegetarian", "meat-free", "veggie"),
    ("vegan", "plant-based"),
    ("science-fiction", "science fiction", "sci-fi", "sci fi", "scifi"),
    ("e-book", "ebook"),
    ("audiobook", "audio book"),
    ("gasoline", "petrol"),
    ("autumn", "fall"),
    ("budget", "budget-friendly", "inexpensive", "cheap", "affordable", "low-cost"),
    ("upscale", "high-end", "pricey", "expensive"),
    ("mid-range", "moderate", "moderately priced", "mid-priced"),
    ("luxury", "luxurious"),
    ("free breakfast", "breakfast included", "breakfast is included", "complimentary breakfast"),
    ("WiFi", "wi-fi", "wireless internet"),
    ("power outlet", "power socket"),
    ("pet-friendly", "pet-friendly policies", "dog-friendly", "welcomes dogs", "pets welcome", "allows pets"),
    ("RPG", "role-playing", "role-playing game"),
    ("every day", "everyday", "daily"),
    ("weekdays", "Monday to Friday", "Monday through Friday", "working days"),
    ("beachfront", "on the beach", "seafront", "by the sea"),
    ("outdoor seating", "outdoor tables", "seats outside", "tables outside", "sit outside"),
    ("city center", "centre of town", "town centre", "downtown"),
    ("alone", "solo", "on your own", "by yourself"),
    ("single player", "single-player", "by yourself"),
    ("half an hour", "30 minutes", "30-minute", "half-hour"),
    ("an hour", "one hour", "60 minutes", "hour-long"),
    ("1 day before", "the day before", "a day before", "24 hours before"),
    ("15 minutes before", "quarter of an hour before"),
    ("e-mail", "email"),
    ("casual", "informal", "relaxed"),
    ("concise", "short and to the point", "brief"),
    ("female", "woman"),
    ("local co-op", "couch co-op", "local multiplayer"),
    ("animation", "animated"),
    ("romance", "romantic"),
    ("comedy shows", "comedy show", "stand-up"),
    ("spa and wellness", "spa", "wellness"),
    ("family", "families"),
    ("couple", "the two of you"),
    ("hip-hop", "hip hop", "rap"),
    ("quiet", "peaceful", "calm"),
    ("nut allergy", "nut allergies", "nut-free", "allergic to nuts"),
    ("dairy-free", "lactose-free", "without dairy"),
    ("gluten-free", "without gluten"),
    ("paperback", "printed copy", "printed copies"),
    ("children", "children's", "kids"),
    ("standard class", "second class"),
    ("Nintendo Switch", "Switch"),
)

# Common words that are a value only beside one of these; the words of the attribute's own name always count as company.
COMPANY = {
    "first": "class cabin fare",
    "business": "class cabin fare",
    "single": "room bed",
    "double": "room bed",
    "standard": "class quality room theater screen ticket",
    "free": "admission entry ticket event charge",
    "live": "watch match game stream broadcast coverage it",
    "line": "app message",
    "world": "music",
    "text": "message",
    "direct": "flight connection route train non-stop",
    "table": "seat coach reserve aisle window train at",
    "local": "provider business shop practice independent",
    "chain": "provider national",
    "house": "music",
    "country": "music song",
    "high": "risk",
    "low": "risk",
    "medium": "risk spice heat spicy",
    "hot": "spicy curry chili make properly dish keep food sauce vegan it",
    "new": "copy copies buy",
    "short": "book novel story read",
    "long": "book novel story read",
    "dollar": "rental company",
    "fall": "in the season",
    "expensive": "quite rather very fairly",
    "brief": "message note",
    "office": "supplies product",
    "action": "film movie game genre",
    "history": "book genre film biography popular",
    "family": "trip holiday break friends for of",
    "center": "row seat",
    "reality": "show tv series genre",
    "war": "film movie drama genre",
    "independent": "film movie cinema genre",
    "epic": "film movie genre",
    "dance": "music track genre playlist",
    "physical": "book copy edition",
    "city": "break trip destination type",
    "standing": "room ticket area place",
    "premium": "car vehicle",
    "mobile": "game play phone",
    "friendly": "tone style message wording voice",
    "warm": "tone style message wording",
    "detailed": "tone style message wording",
    "professional": "tone style message wording",
    "polite": "tone style message wording",
    "neutral": "tone style message wording",
    "playful": "tone style message wording",
    "occasionally": "read reads play plays travel travels",
    "switch": "nintendo my have on own console",
}

CUES = {
    "cuisine": "cuisine|food|kind of restaurant|type of restaurant|in the mood for",
    "food": "food|cuisine",
    "dietary": "dietary|diet|allerg|restriction|requirement|intoleran|忌口",
    "diet": "dietary|diet|allerg|restriction|requirement|intoleran|忌口",
    "allergy": "allerg",
    "price": "budget|price|spend|how much",
    "budget": "budget|price|spend|how much",
    "ambiance": "ambiance|ambience|atmosphere",
    "seat": "seat|sit",
    "seating": "seat|sit",
    "class": "class|cabin",
    "layover": "layover|stopover|connection|non-stop|direct",
    "time": "what time|which time|time of day|preferred time|best time|when|几点|什么时候",
    "frequency": "how often|frequen",
    "genre": "genre|kind of music|kind of book|kind of film|kind of movie|sort of film|sort of music|type of music|type of book|type of film|type of movie|kinds of|sorts of|sort of book",
    "format": "format",
    "author": "author|writer",
    "artist": "artist|musician|singer",
    "actor": "actor|director",
    "director": "director",
    "band": "band",
    "album": "album",
    "platform": "platform|service|console|subscrib|where do you (?:listen|watch)|play on",
    "app": "app",
    "amenity": "amenit|facilit|on board|anything else you need",
    "feature": "feature|extra|equipment",
    "location": "area|location|where would you like to stay|where do you want to stay|neighbo|part of town|in town|be in the",
    "star": "star",
    "room": "room",
    "sound": "sound|tone",
    "recurring": "recurring|repeat|which days|every day|what days",
    "wake": "what time|when",
    "notification": "remind|notif|in advance|how (?:early|long before|far)",
    "reminder": "remind|notif|in advance",
    "timezone": "time ?zone",
    "provider": "provider|company",
    "gender": "gender|female|male",
    "duration": "how long|how many days|how many weeks|duration|for how|几天|多久",
    "length": "how long|how many days|duration|几天|多久",
    "group": "how many (?:people|of you|will)|group|who (?:is|will be) (?:coming|travel)|travel(?:l)?ing with",
    "season": "season|time of year|when (?:would|do) you (?:like|want) to (?:go|travel)",
    "destination": "destination|where (?:would|do) you (?:like|want) to (?:go|travel)",
    "car": "type of car|kind of car|size of car|what car|which car",
    "fuel": "fuel",
    "brand": "brand",
    "company": "compan|alone or",
    "sport": "sport",
    "team": "team|club",
    "viewing": "watch live|highlights|how do you (?:like to )?watch",
    "category": "categor|kind of product|type of product",
    "style": "style|tone",
    "contact": "contact|who is|whom",
    "event": "(?:kinds?|types?|sorts?) of events?|(?:what|which) events?",
    "days": "which days?|what days?|weekdays or weekends",
    "sector": "sector|industr",
    "news": "news|sources",
    "risk": "risk",
    "spice": "spic|how hot|辣",
    "ingredient": "ingredient|don't like|do not like|dislike",
    "cook": "how much time|how long",
    "activity": "activit|sport|exercise",
    "session": "how long|session",
    "train": "which train|what train",
    "transport": "transport|how (?:would|do) you (?:like|want) to (?:get|travel)|怎么去",
    "lodge": "lodging|accommodation|where (?:would|do) you (?:like|want) to stay|stay in|住",
    "multiplayer": "alone or with|multiplayer|single player|with others|co-op",
    "game": "which game|what game",
    "theater": "theater|theatre|cinema",
    "playlist": "playlist",
    "quality": "quality",
    "source": "where (?:do|would) you (?:get|buy|borrow)|source|library",
    "payment": "pay",
    "condition": "condition|second-hand or|new or",
    "pace": "pace",
    "material": "material",
    "vocal": "vocal|instrumental",
}

# A domain's name, or a word of it, to what shows that a sentence is about it.
DOMAINS = {
    "flights": "flight fly plane airline departure airport",
    "train": "train rail coach carriage",
    "buses": "bus coach",
    "hotels": "hotel room stay",
    "dining": "dinner restaurant lunch food dish eat taverna",
    "restaurants": "dinner restaurant lunch food dish eat",
    "meals": "dinner lunch dish cook recipe meal",
    "books": "book read novel",
    "films": "film movie watch",
    "movies": "film movie cinema",
    "media": "series show watch stream",
    "music": "music song playlist album",
    "games": "game play",
    "cars": "car rental drive",
    "calendar": "calendar reminder appointment schedule",
    "alarm": "alarm wake",
    "messaging": "message text write",
    "sports": "match sport team",
    "shopping": "buy shop product",
    "travel": "trip travel holiday destination",
    "events": "event ticket concert show",
    "services": "appointment provider service",
    "finance": "invest market stock portfolio",
    "fitness": "training workout session exercise",
    "learning": "learn lesson study course",
}

# Names that are common words too: meant as names only when written with a capital.
NAMES = frozenset(
    "line budget dollar mini smart enterprise dodge genesis western slack discord audible showtime twitch thrifty ford jaguar".split()
)

AVOIDED = ("dislik", "avoid", "blocked", "hate", "exclud", "limit")


@lru_cache(maxsize=1)
def _groups() -> dict[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    found: dict[tuple[str, ...], tuple[tuple[str, ...], ...]] = {}
    for group in SAME:
        forms = tuple(dict.fromkeys(stems(way) for way in group))
        for form in forms:
            found[form] = tuple(dict.fromkeys((*found.get(form, ()), *forms)))
    return found


@lru_cache(maxsize=8192)
def ways_to_say(value: str) -> tuple[tuple[str, ...], ...]:
    """The value's own words first, then the other ways to say it."""
    form = stems(value)
    if not form:
        return ()
    bare = stems(re.sub(r"\s*\([^)]*\)", "", value))  # without a remark in brackets
    # "The Great Gatsby" is found without its article; one word that is left would be found everywhere.
    short = (bare[1:],) if len(bare) > 2 and bare[0] in ("the", "a", "an") else ()
    return tuple(dict.fromkeys((form, *filter(None, (bare, *short)), *_groups().get(form, ()))))


@lru_cache(maxsize=1024)
def company_of(form: tuple[str, ...]) -> frozenset[str] | None:
    """The words a common word needs beside it to be meant as a value; None for words that need none."""
    if len(form) != 1:
        return None
    for word, company in COMPANY.items():
        if stems(word) == form:
            return frozenset(stems(company))
    return None


@lru_cache(maxsize=256)
def domain_words(domain: str) -> frozenset[str]:
    """The words that show that a sentence is about a domain."""
    named = stems(domain)
    known = [stems(words) for name, words in DOMAINS.items() if stems(name)[0] in named]
    return frozenset(named).union(*known)
