"""Drivers provision and release allocations on this host. Each shape has one driver."""
