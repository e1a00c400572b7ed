"""How fast reward models score and train on one GPU, against the way it is usually done: `python -m speed.gpu`."""
