"""The tables of human studies, in the same database as everything that is judged.

Answers are not here: they are asks and judgments like any model's. Here is what a study needs besides: its pages, who takes part,
who is to see which page in which arrangement, what was said in chats, and a trail of what was done by whom.
"""

from sqlalchemy import BigInteger, Column, Float, Index, Integer, PrimaryKeyConstraint, Table, Text

from personafit.store.tables import metadata

studies = Table(
    "studies",
    metadata,
    Column("name", Text, primary_key=True),
    Column("dataset", Text, nullable=False),  # whose items it asks about
    Column("form", Text, nullable=False),
    Column("config", Text, nullable=False),
    Column("state", Text, nullable=False),  # open, paused or closed
    Column("created", Float, nullable=False),
)

study_pages = Table(
    "study_pages",
    metadata,
    Column("study", Text, nullable=False),
    Column("id", Text, nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("role", Text, nullable=False),  # item, practice, gold or attention
    Column("person", Text, nullable=False),
    Column("body", Text, nullable=False),
    PrimaryKeyConstraint("study", "id"),
)

study_raters = Table(
    "study_raters",
    metadata,
    Column("study", Text, nullable=False),
    Column("seat", Integer, nullable=False),
    Column("rater", Text, nullable=False),  # fingerprint, as in judgments
    Column("code", Text, nullable=False),  # what researchers call them
    Column("external", Text),  # who they are elsewhere; erased with them, never exported
    Column("state", Text, nullable=False),  # free, active, paused, excluded, done or erased
    Column("reason", Text),
    Column("progress", Text, nullable=False),  # consent, comprehension check, language, warnings
    Column("joined", Float),
    Column("seen", Float),
    Column("finished", Float),
    PrimaryKeyConstraint("study", "seat"),
    Index("study_raters_by_rater", "rater"),
)

study_plan = Table(
    "study_plan",
    metadata,
    Column("study", Text, nullable=False),
    Column("seat", Integer, nullable=False),
    Column("position", BigInteger, nullable=False),  # place among the seat's pages
    Column("page", Text, nullable=False),
    Column("arrangement", Text, nullable=False),  # in which order its parts are shown
    Column("shown", Float),
    Column("done", Float),
    PrimaryKeyConstraint("study", "seat", "position"),
    Index("study_plan_by_page", "study", "page"),
)

study_chats = Table(
    "study_chats",
    metadata,
    Column("study", Text, nullable=False),
    Column("seat", Integer, nullable=False),
    Column("page", Text, nullable=False),
    Column("turn", Integer, nullable=False),
    Column("role", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("key", Text, nullable=False),  # the sender's own id of the message: one that comes twice is one
    Column("at", Float, nullable=False),
    PrimaryKeyConstraint("study", "seat", "page", "turn"),
)

study_events = Table(
    "study_events",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("study", Text, nullable=False),
    Column("at", Float, nullable=False),
    Column("who", Text, nullable=False),
    Column("what", Text, nullable=False),
    Column("detail", Text),
    Index("study_events_by_study", "study", "at"),
)

label_settings = Table(
    "label_settings",
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
)
