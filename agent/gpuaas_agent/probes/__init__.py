"""Probes of members: whether an app answers on this host or in a slice of it.

The platform names the probes in a task; the agent runs them and reports what changes.
"""
