"""What `import personafit` offers, and what the command line is made of: evaluating, reading runs, comparing them."""
