"""One name for one thing: what a rater was shown is its `context`, and the product that holds it `context_id`."""

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Renaming changes the description of the table and no row, on SQLite and on PostgreSQL.
    op.execute("ALTER TABLE asks RENAME COLUMN context TO context_id")
    op.execute("ALTER TABLE asks RENAME COLUMN view TO context")
