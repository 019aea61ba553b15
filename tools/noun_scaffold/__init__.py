"""Writes a new noun: its names, the files of the template, and what it adds to other files. tools/new-noun calls it."""
