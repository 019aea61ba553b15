"""The node agent: it pulls signed tasks for one host, runs them, and reports with evidence."""

__version__ = "0.1.0"
