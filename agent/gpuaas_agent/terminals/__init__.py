"""Shells for people far away: the agent logs in to the allocation as they would, and carries the bytes over the platform.

It is an SSH session like any other on this host: what ends those ends these, and no process of a tenant is the agent's child.
"""
