"""The two voting studies: which answer is best, and how clearly one of two is better."""
