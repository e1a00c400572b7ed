"""The tables of the store, for SQLite and PostgreSQL alike.

Texts are stored once, as products; asks and judgments are append-only. Any change here needs a migration in
`migrations/versions`: a test compares the two.
"""

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
)

metadata = MetaData()

datasets = Table(
    "datasets",
    metadata,
    Column("id", Text, primary_key=True),  # benchmark name and data hash
    Column("benchmark", Text, nullable=False),
    Column("info", Text, nullable=False),
    Column("complete", Integer, nullable=False),  # 1 once all its rows are stored
)

people = Table(
    "people",
    metadata,
    Column("dataset", Text, nullable=False),
    Column("id", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("language", Text, nullable=False),
    Column("body", Text, nullable=False),
    PrimaryKeyConstraint("dataset", "id"),
)

products = Table(
    "products",
    metadata,
    Column("id", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("maker", Text),
    Column("given", Text),
    Column("about", Text),
    Column("parents", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("cost", Float, nullable=False),
    Column("sample", Integer, nullable=False),
)

items = Table(
    "items",
    metadata,
    Column("dataset", Text, nullable=False),
    Column("id", Text, nullable=False),
    Column("position", BigInteger, nullable=False),  # place in the source
    Column("kind", Text, nullable=False),
    Column("person", Text, nullable=False),
    Column("prompt", Text, nullable=False),
    Column("products", Text, nullable=False),
    Column("grp", Text, nullable=False),
    Column("slices", Text, nullable=False),
    Column("hash", Text, nullable=False),
    PrimaryKeyConstraint("dataset", "id"),
    Index("items_by_person", "dataset", "person", "position"),
)

raters = Table(
    "raters",
    metadata,
    Column("fingerprint", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("settings", Text, nullable=False),
)

runs = Table(
    "runs",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("name", Text, nullable=False, unique=True),
    Column("dataset", Text, nullable=False),
    Column("config", Text, nullable=False),
    Column("planned", BigInteger, nullable=False),
    Column("started", Float, nullable=False),
    Column("touched", Float, nullable=False),
    Column("finished", Float),
)

run_jobs = Table(
    "run_jobs",
    metadata,
    Column("run", Integer, nullable=False),
    Column("job", Text, nullable=False),
    PrimaryKeyConstraint("run", "job"),
    sqlite_with_rowid=False,
)

asks = Table(
    "asks",
    metadata,
    Column("id", Text, nullable=False),
    Column("job", Text, nullable=False),
    Column("generation", Integer, nullable=False),
    Column("item", Text, nullable=False),
    Column("question", Text, nullable=False),
    Column("rater", Text, nullable=False),
    Column("context", Text, nullable=False),
    Column("context_id", Text),
    Column("order", Text, nullable=False),
    Column("sample", Integer, nullable=False),
    Column("status", Text, nullable=False),
    Column("reply", Text),
    Column("reasoning", Text),
    Column("detail", Text),
    Column("tokens_in", Integer, nullable=False),
    Column("tokens_out", Integer, nullable=False),
    Column("tokens_reasoning", Integer, nullable=False),
    Column("cost", Float, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("at", Float, nullable=False),
    PrimaryKeyConstraint("job", "id"),
    sqlite_with_rowid=False,
)

judgments = Table(
    "judgments",
    metadata,
    Column("ask", Text, nullable=False),
    Column("item", Text, nullable=False),
    Column("question", Text, nullable=False),
    Column("rater", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("parse", Integer, nullable=False),
    Column("status", Text, nullable=False),
    Column("label", Text),
    Column("value", Float),
    Column("extra", Text),
    PrimaryKeyConstraint("ask", "item", "target", "parse"),
    sqlite_with_rowid=False,
)

tombstones = Table(
    "tombstones",
    metadata,
    Column("person", Text, primary_key=True),  # hash of the id of a person who was forgotten
    Column("at", Float, nullable=False),
    Column("counts", Text, nullable=False),  # rows removed, by table
)


studies = Table(
    "studies",
    metadata,
    Column("name", Text, primary_key=True),
    Column("dataset", Text, nullable=False),  # data set of the items it asks about
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
    Column("code", Text, nullable=False),  # pseudonym shown to researchers
    Column("external", Text),  # id elsewhere, as at a recruiting platform; erased with them, never exported
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
    Column("arrangement", Text, nullable=False),  # order in which its parts are shown
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
    Column("key", Text, nullable=False),  # message id set by the sender, for deduplication
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
