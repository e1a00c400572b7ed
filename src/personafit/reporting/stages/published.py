"""What the paper says of extraction, for comparison; published, not measured here."""

SOURCE = "arXiv 2606.06614, Figure 2 and Table 1; three raters an attribute, majority; MiniLM embeddings"
# People's verdicts on attributes from conversations of real users (WildChat) and of simulated ones, as read off the figure.
ACCEPTANCE = {
    "published: human": {"accepted": 0.58, "unsure": 0.39, "rejected": 0.03},
    "published: synthetic": {"accepted": 0.80, "unsure": 0.20, "rejected": 0.01},
}
FAILURES = {
    "over-generalised": 0.539,
    "missing-evidence": 0.203,
    "task-context": 0.161,
    "not-standalone": 0.060,
}
