"""Best of N: from several answers to one person's question, the one that a rater finds to fit best."""
