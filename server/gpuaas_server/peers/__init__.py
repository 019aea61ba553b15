"""Peers: how the api processes of one platform reach each other, when two streams that belong together met elsewhere.

A process proves with the master key that it belongs to the platform. Nothing that passes is kept.
"""
