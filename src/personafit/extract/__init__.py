"""From conversations to a person: read, prepare, extract, merge, verify, refine, match, answer."""
