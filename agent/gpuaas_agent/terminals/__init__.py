"""Remote shells: the agent logs in to the allocation by SSH and forwards the bytes over the platform.

A terminal is an SSH session like any other on this host: revocation ends it too, and no tenant process is the agent's child.
"""
