"""What extraction is worth and where errors flow: sources read, figures worked out, tables and pages made."""
