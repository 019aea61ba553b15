"""Sample items: a named thing of a project."""
