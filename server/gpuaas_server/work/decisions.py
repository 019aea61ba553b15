"""Decisions that several nouns share."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Wait:
    """There is nothing to do before this time, unless somebody wakes us. None: nothing more is to come."""

    until: datetime | None = None
