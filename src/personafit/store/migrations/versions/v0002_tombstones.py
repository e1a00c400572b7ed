"""Tombstones: who was forgotten, as a hash, so that nobody comes back unnoticed."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "tombstones",
        sa.Column("person", sa.Text, primary_key=True),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("counts", sa.Text, nullable=False),
    )
