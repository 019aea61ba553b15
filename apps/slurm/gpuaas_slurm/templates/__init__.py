"""Renders configuration files and units from typed values. Pure: the same values give the same text."""
