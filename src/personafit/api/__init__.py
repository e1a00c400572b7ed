"""The public functions of `import personafit`, on which the command line is built: evaluating, reading runs, comparing them."""
