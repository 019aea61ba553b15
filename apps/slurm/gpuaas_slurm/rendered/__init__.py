"""Texts of configuration files and units, made from typed values. Pure: the same values give the same text."""
