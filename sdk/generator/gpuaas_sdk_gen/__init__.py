"""Writes the typed client from a contract: the models, one method an operation, and both awaited and plain."""
