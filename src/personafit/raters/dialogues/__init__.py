"""What can be counted in dialogues without a judge."""
