"""Results, tables, figures and the report."""
