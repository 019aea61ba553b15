"""These tests have people in them: see tests_support/people.py."""

from tests_support.people_fixtures import clock, world

__all__ = ["clock", "world"]
