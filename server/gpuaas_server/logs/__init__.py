"""Logs: the lines that an instance's members write to their hosts' journals, read or followed through the API.

The host's agent brings the lines to the process that waits for them. They pass through memory and are never stored.
"""
