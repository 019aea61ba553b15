"""Terminals: a shell inside an allocation, in a browser or a command, over the API.

The host's agent opens the stream, as always, and we join it with the person's stream. What is typed and shown passes through
and is never stored. The record says who opened a terminal, from where, for how long, and how many bytes passed.
"""
