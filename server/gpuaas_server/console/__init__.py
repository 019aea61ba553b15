"""The built console (console/ of this repository) as files over HTTP. It is a client like any other: nothing here knows
what it shows, and nothing of the platform is asked for it.
"""
