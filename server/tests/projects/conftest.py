"""The world of tests/identity, here too."""

from ..identity.conftest import clock, world

__all__ = ["clock", "world"]
