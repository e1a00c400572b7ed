"""Human studies: pages, raters, plans, chats, the trail, and the settings of the labelling app."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "studies",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("dataset", sa.Text, nullable=False),
        sa.Column("form", sa.Text, nullable=False),
        sa.Column("config", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("created", sa.Float, nullable=False),
    )
    op.create_table(
        "study_pages",
        sa.Column("study", sa.Text, nullable=False),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("position", sa.BigInteger, nullable=False),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("person", sa.Text, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("study", "id"),
    )
    op.create_table(
        "study_raters",
        sa.Column("study", sa.Text, nullable=False),
        sa.Column("seat", sa.Integer, nullable=False),
        sa.Column("rater", sa.Text, nullable=False),
        sa.Column("code", sa.Text, nullable=False),
        sa.Column("external", sa.Text),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("reason", sa.Text),
        sa.Column("progress", sa.Text, nullable=False),
        sa.Column("joined", sa.Float),
        sa.Column("seen", sa.Float),
        sa.Column("finished", sa.Float),
        sa.PrimaryKeyConstraint("study", "seat"),
    )
    op.create_index("study_raters_by_rater", "study_raters", ["rater"])
    op.create_table(
        "study_plan",
        sa.Column("study", sa.Text, nullable=False),
        sa.Column("seat", sa.Integer, nullable=False),
        sa.Column("position", sa.BigInteger, nullable=False),
        sa.Column("page", sa.Text, nullable=False),
        sa.Column("arrangement", sa.Text, nullable=False),
        sa.Column("shown", sa.Float),
        sa.Column("done", sa.Float),
        sa.PrimaryKeyConstraint("study", "seat", "position"),
    )
    op.create_index("study_plan_by_page", "study_plan", ["study", "page"])
    op.create_table(
        "study_chats",
        sa.Column("study", sa.Text, nullable=False),
        sa.Column("seat", sa.Integer, nullable=False),
        sa.Column("page", sa.Text, nullable=False),
        sa.Column("turn", sa.Integer, nullable=False),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("study", "seat", "page", "turn"),
    )
    op.create_table(
        "study_events",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True
        ),
        sa.Column("study", sa.Text, nullable=False),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("what", sa.Text, nullable=False),
        sa.Column("detail", sa.Text),
    )
    op.create_index("study_events_by_study", "study_events", ["study", "at"])
    op.create_table(
        "label_settings",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
    )
