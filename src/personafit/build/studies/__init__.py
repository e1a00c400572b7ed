"""The room of the two studies: which answer is best, and how clearly of two one is the better."""
