"""Training of persona-conditioned reward models; what a person's pairs share is computed once."""
