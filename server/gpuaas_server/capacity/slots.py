"""The states of a slot. Not beside the tables: those load a library that nobody needs but who migrates."""

SLOT_STATUSES = ("discovered", "available", "claimed", "cleaning", "cleanup_blocked", "disabled")
OUT_OF_USE = ("discovered", "cleanup_blocked", "disabled")
