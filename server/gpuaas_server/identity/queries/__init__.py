"""All SQL of the identity room, one file for each kind of row."""
