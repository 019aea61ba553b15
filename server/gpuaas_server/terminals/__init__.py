"""Terminals: a shell inside an allocation, in a browser or a command, over the API.

The agent comes to us, as always: it opens the stream, we join it with the person's. What is typed and shown passes through
and is never kept; that there was a terminal, whose, from where, for how long and how much, is.
"""
