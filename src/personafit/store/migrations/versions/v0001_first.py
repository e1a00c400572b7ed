"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def _text(name: str, nullable: bool = False) -> "sa.Column[str]":
    return sa.Column(name, sa.Text, nullable=nullable)


def _whole(name: str) -> "sa.Column[int]":
    return sa.Column(name, sa.Integer, nullable=False)


def _real(name: str, nullable: bool = False) -> "sa.Column[float]":
    return sa.Column(name, sa.Float, nullable=nullable)


def upgrade() -> None:
    op.create_table(
        "datasets",
        sa.Column("id", sa.Text, primary_key=True),
        _text("benchmark"),
        _text("info"),
        _whole("complete"),
    )
    op.create_table(
        "people",
        _text("dataset"),
        _text("id"),
        _text("version"),
        _text("language"),
        _text("body"),
        sa.PrimaryKeyConstraint("dataset", "id"),
    )
    op.create_table(
        "products",
        sa.Column("id", sa.Text, primary_key=True),
        _text("kind"),
        _text("text"),
        _text("maker", nullable=True),
        _text("given", nullable=True),
        _text("about", nullable=True),
        _text("parents"),
        _text("status"),
        _real("cost"),
        _whole("sample"),
    )
    op.create_table(
        "items",
        _text("dataset"),
        _text("id"),
        sa.Column("position", sa.BigInteger, nullable=False),
        _text("kind"),
        _text("person"),
        _text("prompt"),
        _text("products"),
        _text("grp"),
        _text("slices"),
        _text("hash"),
        sa.PrimaryKeyConstraint("dataset", "id"),
    )
    op.create_index("items_by_person", "items", ["dataset", "person", "position"])
    op.create_table(
        "raters",
        sa.Column("fingerprint", sa.Text, primary_key=True),
        _text("name"),
        _text("kind"),
        _text("settings"),
    )
    op.create_table(
        "runs",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("name", sa.Text, nullable=False, unique=True),
        _text("dataset"),
        _text("config"),
        sa.Column("planned", sa.BigInteger, nullable=False),
        _real("started"),
        _real("touched"),
        _real("finished", nullable=True),
    )
    op.create_table(
        "run_jobs",
        _whole("run"),
        _text("job"),
        sa.PrimaryKeyConstraint("run", "job"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "asks",
        _text("id"),
        _text("job"),
        _whole("generation"),
        _text("item"),
        _text("question"),
        _text("rater"),
        _text("view"),
        _text("context", nullable=True),
        _text("order"),
        _whole("sample"),
        _text("status"),
        _text("reply", nullable=True),
        _text("reasoning", nullable=True),
        _text("detail", nullable=True),
        _whole("tokens_in"),
        _whole("tokens_out"),
        _whole("tokens_reasoning"),
        _real("cost"),
        _real("seconds"),
        _whole("attempts"),
        _real("at"),
        sa.PrimaryKeyConstraint("job", "id"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "judgments",
        _text("ask"),
        _text("item"),
        _text("question"),
        _text("rater"),
        _text("target"),
        _whole("parse"),
        _text("status"),
        _text("label", nullable=True),
        _real("value", nullable=True),
        _text("extra", nullable=True),
        sa.PrimaryKeyConstraint("ask", "item", "target", "parse"),
        sqlite_with_rowid=False,
    )
