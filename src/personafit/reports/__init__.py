"""Numbers, tables, plots and the report."""
