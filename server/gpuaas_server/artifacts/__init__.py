"""Artifacts: what a project publishes, whom it is trusted by, and how far it is promoted."""
