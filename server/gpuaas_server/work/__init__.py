"""Durable work: leases over SKIP LOCKED with fencing tokens, the worker loop, and the outbox relay.

The only lease, heartbeat and release SQL of the platform is in `leases.py`.
"""
