"""Capacity: slots of nodes, SKUs, quotas, claims, and the scheduler that turns a placement request into claims."""
