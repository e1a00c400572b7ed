"""The room where questions are answered: with what bears on them, with little, with nothing, and then better or worse."""
