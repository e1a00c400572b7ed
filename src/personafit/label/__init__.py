"""The web app for human studies: people's answers land in the same table as every model's."""
