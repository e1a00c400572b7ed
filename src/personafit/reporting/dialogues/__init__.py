"""What runs of dialogues say."""
