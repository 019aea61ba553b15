"""All SQL of identity, one file for each kind of row."""
