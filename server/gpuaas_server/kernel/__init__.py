"""Holds what every noun is built on: ids, errors, settings, clock, database, HTTP conventions. It knows no noun."""
