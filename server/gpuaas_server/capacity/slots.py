"""The states of a slot. They are not in tables.py: that loads a library which only migrations need."""

SLOT_STATUSES = ("discovered", "available", "claimed", "cleaning", "cleanup_blocked", "disabled")
OUT_OF_USE = ("discovered", "cleanup_blocked", "disabled")
